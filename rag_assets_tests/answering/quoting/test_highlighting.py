"""The passage of a unit that fits a question best, and what stands around it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.quoting.highlighting import passages_of
from rag_assets.citations.kinds import Cell, Span
from rag_assets_tests.answering.found import LastIsNearest, cells_of, document, row

SPRING = document(
    "springs",
    "Springs\n\nA spring stores energy. Its stiffness is 12 N/mm at room temperature. "
    "It was painted red.",
    pages=(4,),
)
PUMP = document(
    "pump",
    "Pump P4\n\n| Quantity | Value | Unit |\n| --- | --- | --- |\n| Flow | 12 | l/s |\n"
    "| NPSH required | 2.6 | m |\n| Weight | 40 | kg |\n\nIt is painted red.",
)


def passages(question, *hits, rows=None, much=0.0):
    """What is marked where words alone decide, unless the last text is nearer by `much`."""
    return passages_of(question, hits, rows=rows or {}, encoder=LastIsNearest(much))


def test_the_sentence_that_fits_is_cited_and_its_neighbours_stand_beside_it():
    [found] = passages("What is the stiffness at room temperature?", SPRING)
    [citation] = found.citations
    assert found.text == "Its stiffness is 12 N/mm at room temperature."
    assert found.compared == "verbatim"
    assert isinstance(citation, Span)
    assert SPRING.text[citation.start : citation.end] == citation.text == found.text
    assert (citation.uri, citation.pages) == ("springs.md", (4,))
    assert (found.before, found.after) == ("A spring stores energy. ", " It was painted red.")


def test_lines_that_only_say_where_a_unit_stands_are_no_passage():
    text = "Cab sheet 2024 > 3 Zinc\nTable 1\n\n| Zone | Mass |\n| --- | --- |\n| A | 50 |"
    hit = replace(document("NHS", text, title="Cab_sheet_2024.pdf"), section="3 Zinc")
    [found] = passages("What zinc has the cab sheet?", hit)
    assert (found.text, found.before, found.after) == ("Zone: A; Mass: 50", "", "")
    [bare] = passages("zinc", replace(hit, text="3 Zinc"))
    assert bare.text == "3 Zinc"


def test_what_says_no_more_than_the_question_is_not_marked():
    text = "Default\n\nThe time when a borrower fails to repay a loan.\n\nIt is rare."
    [found] = passages("What is a default?", document("loans", text))
    assert found.text != "Default"


def test_the_encoder_speaks_where_no_word_does():
    [found] = passages("What colour?", SPRING, much=1.0)
    assert found.text == "It was painted red."


def test_a_row_of_a_table_keeps_its_header_its_unit_and_all_its_cells():
    [found] = passages("What NPSH does P4 need?", PUMP)
    assert found.text == "Quantity: NPSH required; Value: 2.6; Unit: m"
    header, own = found.citations
    assert isinstance(header, Span)
    assert isinstance(own, Span)
    assert header.text == "| Quantity | Value | Unit |"
    assert own.text == "| NPSH required | 2.6 | m |"
    assert found.before == "Flow | 12 | l/s\n"
    assert found.after == "\nWeight | 40 | kg\nIt is painted red."


def test_a_row_of_a_database_is_one_passage_with_all_its_cells():
    beam = cells_of("beam", {"Section": "HEA 100", "Mass per metre (kg/m)": 16.7, "Mill": "North"})
    [found] = passages("mass", row("beam"), rows={"beam": beam})
    assert found.text == "Section: HEA 100; Mass per metre: 16.7 kg/m; Mill: North"
    assert found.before == "Beams\n"
    assert [(each.heading, each.unit) for each in found.citations if isinstance(each, Cell)] == [
        ("Section", None),
        ("Mass per metre", "kg/m"),
        ("Mill", None),
    ]


def test_of_a_long_row_what_is_asked_for_comes_first():
    cells = {"Name": "Tm", **{f"Column {n}": "a" * 40 for n in range(20)}, "Radius (pm)": 175}
    [found] = passages("What radius?", row("tm"), rows={"tm": cells_of("tm", cells)})
    assert found.text.startswith("Radius: 175 pm; Name: Tm; Column 0: ")
    assert len(found.citations) == 22
    assert found.citations[0].heading == "Radius"


def test_digits_stand_as_the_source_has_them():
    ean = cells_of("ean", {"EAN": 7310865004703, "Tracking": 1498392753700442115})
    [found] = passages("ean", row("ean"), rows={"ean": ean})
    assert found.text == "EAN: 7310865004703; Tracking: 1498392753700442115"


def test_a_row_without_cells_is_shown_by_its_text():
    [found] = passages("mass", row("beam", text="HEA 100 has a mass of 16.7 kg/m"))
    assert found.text == "HEA 100 has a mass of 16.7 kg/m"


def test_each_hit_has_a_passage_in_the_order_of_the_hits():
    beam = cells_of("beam", {"Section": "HEA 100"})
    hits = [row("beam"), SPRING, PUMP]
    found = passages("How heavy is the pump?", *hits, rows={"beam": beam})
    assert [each.citations[0].unit_id for each in found] == ["beam", "springs", "pump"]
    assert passages("How heavy is the pump?") == ()


@given(
    st.lists(st.text(alphabet="ab .|\n-:1", min_size=1, max_size=60), min_size=1, max_size=4),
    st.text(alphabet="ab ?1", max_size=20),
)
def test_every_citation_is_exact(texts, question):
    hits = [document(f"unit {n}", text, rank=n) for n, text in enumerate(texts, start=1)]
    for hit, passage in zip(hits, passages(question, *hits), strict=True):
        for citation in passage.citations:
            assert isinstance(citation, Span)
            assert hit.text[citation.start : citation.end] == citation.text
