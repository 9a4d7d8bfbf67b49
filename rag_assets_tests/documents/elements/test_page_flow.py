"""Tables that run on to the next page keep their header; captions at an edge are captions."""

import pytest

from rag_assets.documents.elements.element import Element
from rag_assets.documents.elements.page_flow import with_page_flow
from rag_assets.documents.parsers.tables import table_of

HEADER = ("Grade", "Yield MPa", "Tensile MPa")


def part(page, *rows, left=70.0, width=330.0, spans=()):
    return table_of(rows, page=page, box=(left, 70, left + width, 700), spans=spans)


def grades(first, last):
    return [(f"S{number}", str(number), str(number + 130)) for number in range(first, last)]


def headers_of(elements):
    return [element.cells[0] for element in with_page_flow(elements) if element.type == "table"]


def test_each_part_of_a_table_has_its_header():
    footer = Element("page_footer", "Page 1", page=1)
    running = Element("page_header", "Company report", page=2)
    parts = [part(1, HEADER, *grades(1, 9)), part(2, *grades(9, 20)), part(3, *grades(20, 25))]
    first, _, _, second, third = with_page_flow([parts[0], footer, running, *parts[1:]])

    assert first == parts[0]
    assert second.cells == (HEADER, *grades(9, 20))
    assert second.text.startswith("| Grade | Yield MPa | Tensile MPa |\n| --- |")
    assert third.cells == (HEADER, *grades(20, 25))


def test_a_header_of_two_rows_comes_with_its_wide_cells():
    top, below = ("Grade", "Strength", ""), ("", "Yield", "Tensile")
    first = part(1, top, below, *grades(1, 9), spans=[(0, 1, 1, 2)])
    _, second = with_page_flow([first, part(2, *grades(9, 20), spans=[(1, 0, 1, 2)])])

    assert second.cells == (top, below, *grades(9, 20))
    assert second.spans == ((0, 1, 1, 2), (3, 0, 1, 2))


@pytest.mark.parametrize(
    "second",
    [
        part(2, HEADER, *grades(9, 20)),
        part(2, ("Steel", "Carbon", "Sulphur"), *grades(9, 20)),
        part(3, *grades(9, 20)),
        part(2, *grades(9, 20), left=300.0),
        part(2, *grades(9, 20), width=100.0),
        part(2, *(row[:2] for row in grades(9, 20))),
    ],
    ids=["header again", "own header", "later page", "elsewhere", "narrower", "fewer columns"],
)
def test_another_table_stays_as_it_is(second):
    assert with_page_flow([part(1, HEADER, *grades(1, 9)), second])[1] == second


def test_a_table_after_other_words_is_another_one():
    words = Element("text", "The grades of the second works follow.", page=2)

    assert headers_of([part(1, HEADER, *grades(1, 9)), words, part(2, *grades(9, 20))]) == [
        HEADER,
        ("S9", "9", "139"),
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Table 4: Strength of grades", "caption"),
        ("Tabell 2. Hållfasthet", "caption"),
        ("Company report 2026", "page_header"),
    ],
)
def test_a_caption_at_the_top_edge_is_no_page_header(text, kind):
    found = with_page_flow([Element("page_header", text, page=2), part(2, HEADER, *grades(1, 9))])

    assert found[0].type == kind
