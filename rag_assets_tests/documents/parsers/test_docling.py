"""The engine docling: on real files without weights, and on documents as its weights give them."""

import time

import pytest
from docling_core.types.doc import (
    BoundingBox,
    CoordOrigin,
    DocItemLabel,
    DoclingDocument,
    ProvenanceItem,
    Size,
    TableCell,
    TableData,
)

from rag_assets import config
from rag_assets.documents.elements.element import from_json
from rag_assets.documents.elements.sections import with_sections
from rag_assets.documents.parsers.by_media_type import pdf_parser, unavailable
from rag_assets.documents.parsers.engines import docling
from rag_assets.documents.parsers.engines.page_view import PageView
from rag_assets_testing.documents.making import SENTENCE, STEELS, report, scan


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return report(tmp_path_factory.mktemp("docling") / "report.pdf")


@pytest.fixture(scope="module")
def elements(path):
    return with_sections(from_json(docling.parse(str(path), None)))


def of(elements, kind):
    return [element for element in elements if element.type == kind]


def test_headings_have_levels_and_pages(elements):
    assert [(item.text, item.page) for item in of(elements, "heading")] == [
        ("Bending of Plates", 1),
        ("1 Samples", 1),
        ("2 Results", 2),
        ("2.1 Cracks", 2),
    ]
    (caption,) = of(elements, "caption")
    assert caption.section_path[-2:] == ("2 Results", "2.1 Cracks")
    assert caption.text == "Figure 1: Crack length after each step"
    assert SENTENCE.strip() in of(elements, "text")[0].text


def test_a_table_without_rules_between_columns_has_cells(elements):
    (table,) = of(elements, "table")
    assert table.cells == STEELS
    assert table.problem is None


def test_a_figure_has_its_picture(elements):
    (figure,) = of(elements, "figure")
    assert figure.page == 2
    assert figure.image.width == pytest.approx((figure.box[2] - figure.box[0] + 4) * 2, abs=3)


def test_no_word_is_lost_or_doubled(path, elements):
    with PageView(str(path)) as view:
        plain = "".join(word.text for number in (1, 2) for word in view.words(number))
    found = "".join(item.text for item in elements)
    assert sorted(filter(str.isalnum, found)) == sorted(filter(str.isalnum, plain))


def test_pages_are_those_asked_for(path, elements):
    second = from_json(docling.parse(str(path), [2]))
    assert [item.text for item in second] == [item.text for item in elements if item.page == 2]
    assert list(docling._runs([1, 2, 5, 7, 8])) == [(1, 2), (5, 5), (7, 8)]


def test_a_scan_gives_no_text(tmp_path):
    assert not any(item.text for item in from_json(docling.parse(str(scan(tmp_path / "s")), None)))


def test_what_the_weights_give_is_kept(path):
    """Cells with spans as TableFormer gives them, LaTeX as the formula model writes it."""
    document = DoclingDocument(name="recorded")
    document.add_page(page_no=1, size=Size(width=595, height=842))

    origin = CoordOrigin.BOTTOMLEFT

    def place(top):
        corner = BoundingBox(l=60, t=842 - top, r=300, b=822 - top, coord_origin=origin)
        return ProvenanceItem(page_no=1, bbox=corner, charspan=(0, 0))

    document.add_title("Bending", prov=place(80))
    document.add_heading("Samples", prov=place(200))
    document.add_formula("a^2 + b^2", prov=place(230))
    document.add_formula("", orig="x", prov=place(240))
    cells = [
        cell("Steels", row=0, column=0, columns=2),
        cell("S355", row=1, column=0),
        cell("355", row=1, column=1),
    ]
    document.add_table(TableData(table_cells=cells, num_rows=2, num_cols=2), prov=place(500))
    document.add_code("x = 1", prov=place(300))
    document.add_text(DocItemLabel.PAGE_FOOTER, "7", prov=place(800))
    document = DoclingDocument.model_validate_json(document.model_dump_json())
    with PageView(str(path)) as view:
        found = list(docling.elements(document, view))
    kinds = ["title", "heading", "formula", "formula", "table", "code", "page_footer"]
    assert [item.type for item in found] == kinds
    latex, image = of(found, "formula")
    assert latex.text == "$$a^2 + b^2$$"
    assert latex.image is None
    assert image.image is not None
    (table,) = of(found, "table")
    assert table.cells == (("Steels", ""), ("S355", "355"))
    assert table.spans == ((0, 0, 1, 2),)
    assert found[0].box == pytest.approx((60, 80, 300, 100))


def test_a_paragraph_that_goes_on_is_on_both_pages_and_an_item_keeps_its_number(path):
    document = DoclingDocument(name="recorded")

    def place(page, span):
        corner = BoundingBox(l=60, t=80, r=300, b=100, coord_origin=CoordOrigin.TOPLEFT)
        return ProvenanceItem(page_no=page, bbox=corner, charspan=span)

    for page in (1, 2):
        document.add_page(page_no=page, size=Size(width=595, height=842))
    text = document.add_text(DocItemLabel.TEXT, "Of this material plates", prov=place(1, (0, 13)))
    text.prov.append(place(2, (14, 26)))  # "Of this mate-" goes on with "rial plates"
    document.add_list_item("Cut it", enumerated=True, marker="3.", prov=place(2, (0, 6)))
    with PageView(str(path)) as view:
        found = [(item.page, item.text) for item in docling.elements(document, view)]
    assert found == [(1, "Of this"), (2, "material plates"), (2, "3. Cut it")]


def cell(text, *, row, column, columns=1):
    return TableCell(
        text=text,
        col_span=columns,
        start_row_offset_idx=row,
        end_row_offset_idx=row + 1,
        start_col_offset_idx=column,
        end_col_offset_idx=column + columns,
    )


def test_absent_weights_are_named_at_once_with_the_remedy(tmp_path):
    started = time.monotonic()
    settings = config.ParserSettings(
        engine="docling", docling=config.Docling(artifacts_path=tmp_path, formulas=True)
    )
    reason = unavailable(settings, name="docling")
    assert time.monotonic() - started < 5
    assert "docling-tools models download" in reason
    (tmp_path / "docling-project--docling-layout-heron").mkdir()
    (tmp_path / "docling-project--docling-models").mkdir()
    assert "CodeFormula" in unavailable(settings, name="docling")
    (tmp_path / "docling-project--CodeFormulaV2").mkdir()
    assert unavailable(settings, name="docling") is None


def test_the_version_names_the_settings(tmp_path):
    plain = pdf_parser(config.ParserSettings(engine="docling"))
    weights = pdf_parser(
        config.ParserSettings(engine="docling", docling=config.Docling(artifacts_path=tmp_path))
    )
    assert plain.version.startswith("docling r4 docling-slim ")
    assert "rapid-layout 1.2" in plain.version
    assert plain.version != weights.version
