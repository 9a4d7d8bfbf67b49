"""Each parser on real files made here; they run in this process, isolation is tested elsewhere."""

import gc
import json
from functools import cache
from importlib.metadata import PackageNotFoundError
from io import BytesIO
from time import process_time, thread_time
from types import SimpleNamespace

import pytest

from rag_assets import config
from rag_assets.documents.elements.element import LINE_END, Image, from_json
from rag_assets.documents.elements.sections import with_sections
from rag_assets.documents.parsers import description, preflight
from rag_assets.documents.parsers.by_media_type import parsers_of, pdf_parser
from rag_assets.documents.parsers.description import ParseError, Parser, ParserUnavailableError
from rag_assets.documents.parsers.engines import pdfium
from rag_assets.documents.parsers.engines import pymupdf as pymupdf_parser
from rag_assets.documents.parsers.engines.page_view import PageView
from rag_assets.documents.parsers.ocr import rapidocr, tesseract
from rag_assets.documents.parsers.office import docling_office, spreadsheet
from rag_assets.documents.parsers.preflight import Inspection
from rag_assets.documents.parsers.tables import Word
from rag_assets.documents.parsers.text import markdown
from rag_assets.media.media_types import DOCX, HTML, MARKDOWN, PDF, PLAIN, SUFFIXES, XLSX
from rag_assets.workers.pool import _environment
from rag_assets_testing.documents import making
from rag_assets_testing.documents.making import SENTENCE, pdf, scan, without_pages

BODY = f"<p>{SENTENCE * 4}</p>"
EQUATION = (
    '<m:oMathPara xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:oMath>'
    "<m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f>"
    "</m:oMath></m:oMathPara>"
)


@cache
def parsed(parser, path, *pages):
    """What a worker sends."""
    return json.dumps(parser.parse(str(path), list(pages) or None))


def read(parser, path, *pages, slides=False):
    """Elements as they arrive from a worker."""
    values = json.loads(parsed(parser, path, *pages))
    return with_sections(from_json(values), slides=slides)


def of(elements, kind):
    return [element for element in elements if element.type == kind]


# --- text


def read_markdown(tmp_path, source):
    path = tmp_path / "file.md"
    path.write_text(source, "utf-8")
    return read(markdown, path)


def test_markdown_blocks_keep_their_kind_and_their_source(tmp_path):
    elements = read_markdown(
        tmp_path,
        "# The *plate* `S355`\n\nFirst line,\nsecond line.\n\n## Table\n\n"
        "| Steel | MPa |\n|---|---|\n| S355 | 355 |\n\n"
        "- one\n  - two\n- three\n\n```python\n# not a heading\nx = 1\n```\n\n$$\na^2\n$$\n",
    )
    assert [(element.type, element.text) for element in elements] == [
        ("heading", "The plate S355"),
        ("text", "First line,\nsecond line."),
        ("heading", "Table"),
        ("table", "| Steel | MPa |\n|---|---|\n| S355 | 355 |"),
        ("list", "- one\n  - two\n- three"),
        ("code", "# not a heading\nx = 1"),
        ("formula", "$$\na^2\n$$"),
    ]
    assert elements[3].cells == (("Steel", "MPa"), ("S355", "355"))
    assert elements[3].section_path == ("The plate S355", "Table")


def test_markdown_headings_underlined_and_repeated(tmp_path):
    elements = read_markdown(tmp_path, "Title\n=====\n\nPart\n----\n\ntext\n\n## Part ##\n\nmore\n")
    assert [(element.text, element.level) for element in of(elements, "heading")] == [
        ("Title", 1),
        ("Part", 2),
        ("Part", 2),
    ]


def test_front_matter_is_no_heading_and_comments_are_no_text(tmp_path):
    elements = read_markdown(tmp_path, "---\ntitle: Steel\n---\n\n<!-- hidden -->\n\ntext\n")
    assert [(element.type, element.text) for element in elements] == [
        ("text", "title: Steel"),
        ("text", "text"),
    ]


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("---\n\n# Title\n\n---\n\ntext\n", ["heading", "text"]),
        ("---\n---\n# Title\n\n---\n\ntext\n", ["heading", "text"]),
        ("---\r\nlang: sv\r\n---\r\n# Title\r\n", ["text", "heading"]),
    ],
)
def test_a_rule_on_the_first_line_is_no_front_matter(tmp_path, source, kinds):
    assert [element.type for element in read_markdown(tmp_path, source)] == kinds


def test_targets_of_links_and_footnotes_are_kept(tmp_path):
    source = (
        "As tested[^1] by [SSAB].\n\n[^1]: https://example.com/test\n[SSAB]: https://ssab.com\n"
    )
    assert (
        "\n\n".join(element.text for element in read_markdown(tmp_path, source)) == source.strip()
    )


def test_tags_in_a_markdown_heading_are_no_words(tmp_path):
    (heading,) = read_markdown(tmp_path, '## <a name="scope"></a>Scope of `S355`\n')
    assert heading.text == "Scope of S355"


def test_an_indented_list_keeps_its_depth(tmp_path):
    (found,) = read_markdown(tmp_path, "  - one\n  - two\n    - three\n")
    assert found.text == "- one\n- two\n  - three"


def figures(elements):
    return [(figure.text, figure.link) for figure in of(elements, "figure")]


@pytest.mark.parametrize(
    ("source", "kept", "shown"),
    [
        ("![A crack](figures/a%20b.png)", None, [("A crack", "figures/a b.png")]),
        ('See ![A](a.png) and\n![B](../b.png "t").', "all", [("A", "a.png"), ("B", "../b.png")]),
        (
            "![A](a.png) ![B][plot]\n\n[plot]: b.png",
            "[plot]: b.png",
            [("A", "a.png"), ("B", "b.png")],
        ),
        ("- one\n\n  ![A](a.png)\n- two", "all", [("A", "a.png")]),
        ("> ![A](a.png)", "all", [("A", "a.png")]),
        ("| a | b |\n|---|---|\n| ![A](a.png) | 2 |", "all", [("A", "a.png")]),
        ("<p align=center>\n<IMG alt='A' src='a.png'>\n</p>", "all", [("A", "a.png")]),
        ("Text <img src=a.png> goes on.", "all", [("", "a.png")]),
        ("[![A](a.png)](https://example.com)", "all", [("A", "a.png")]),
        ("![A](https://example.com/a.png)", "all", []),
        ("![A](//host/a.png) ![B](/b.png) ![C](#c)", "all", []),
        ("`![A](a.png)` is how it is written", "all", []),
        ("    ![A](a.png)", "![A](a.png)", []),
        ("![A](a.png) ![B](https://example.com/b.png)", "all", [("A", "a.png")]),
    ],
)
def test_pictures_beside_a_markdown_file_are_figures(tmp_path, source, kept, shown):
    elements = read_markdown(tmp_path, source)
    assert figures(elements) == shown
    texts = [element.text for element in elements if element.type != "figure"]
    assert texts == ([] if kept is None else [source if kept == "all" else kept])


def test_a_picture_inside_markdown_is_a_figure_and_no_text(tmp_path):
    link = "data:image/png;base64,iVBORw0KGgo="
    source = f"Before ![A]({link}) after.\n\n![B][b]\n\n[b]: <{link}>"
    elements = read_markdown(tmp_path, source)
    assert [(element.type, element.text) for element in elements] == [
        ("text", "Before ![A](data:image/png) after."),
        ("figure", "A"),
        ("figure", "B"),
        ("text", "[b]: <data:image/png>"),
    ]
    assert figures(elements) == [("A", link), ("B", link)]


@pytest.mark.parametrize("suffix", [".md", ".txt"])
def test_the_bytes_of_a_file_inside_a_text_are_no_text(tmp_path, suffix):
    held = "AAEAAAAO" * 5_000
    path = tmp_path / f"file{suffix}"
    path.write_text(
        f"Before [the font](data:font/woff2;base64,{held}) after.\n\n"
        f"    background: url(data:image/png;base64,{held});\n\n"
        "Short: data:text/plain,hello"
    )
    texts = [element.text for element in read(markdown, path)]
    assert texts == [
        "Before [the font](data:font/woff2) after.",
        "background: url(data:image/png);",
        "Short: data:text/plain,hello",
    ]


@pytest.mark.parametrize(
    ("source", "kind", "problem"),
    [
        ("| Note |\n|---|\n| Wear gloves. |", "text", "2 x 1 cells"),
        ("| Steel | MPa |\n|---|---|", "text", "1 x 2 cells"),
        ("| a | | | |\n|---|---|---|---|\n| | | | |", "text", "1 of 8 cells are filled"),
        ("| a | |\n|---|---|\n| b | |\n| c | |\n| d | e |", "table", "1 of 4 fill two cells"),
    ],
)
def test_a_markdown_table_is_held_against_what_makes_a_table(tmp_path, source, kind, problem):
    (found,) = read_markdown(tmp_path, source)
    assert (found.type, found.text) == (kind, source)
    assert problem in found.problem


TABLE = """<table>
  <tr><th rowspan=2>Steel</th><th colspan=2>Strength (&Omega;)</th></tr>
  <tr><th>Yield</th><th>Tensile</th></tr>

  <tr><td>S355</td><td>355</td>

<td>

510 <img src=a.png alt=A> ![B](b.png)

</td></tr>
</table>"""


def test_a_table_of_html_in_markdown_is_a_table(tmp_path):
    source = f"# Ä\n\nBefore.\n\n<div>\n{TABLE}\n</div>\n\nAfter.\n\n{TABLE}"
    elements = read_markdown(tmp_path, source)
    kinds = ["table", "figure", "figure"]
    assert [item.type for item in elements] == ["heading", "text", *kinds, "text", *kinds]
    for table in of(elements, "table"):
        assert table.cells[:2] == (("Steel", "Strength (Ω)", ""), ("", "Yield", "Tensile"))
        assert table.cells[2][:2] == ("S355", "355")
        assert table.cells[2][2].startswith("510")
        assert set(table.spans) == {(0, 0, 2, 1), (0, 1, 1, 2)}
        assert table.section_path == ("Ä",)
    assert figures(elements) == [("A", "a.png"), ("B", "b.png")] * 2


ROWS = "<tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr>"


@pytest.mark.parametrize(
    "source",
    [
        f"<table>{ROWS}",
        f"<TABLE>{ROWS}\n\nwords\n\n</p>",
        f"{ROWS}</table>",
        "<table><tr><td>a</td></tr></table>",
        f"- <table>{ROWS}</table>",
        f"```html\n<table>{ROWS}</table>\n```",
        f"`<table>{ROWS}</table>`",
        "<table>" * 9 + ROWS + "</table>" * 9,
        f"<tablet>{ROWS}</tablet>",
    ],
)
def test_what_is_no_whole_table_of_html_stays_as_it_is_written(tmp_path, source):
    elements = read_markdown(tmp_path, source)
    assert not of(elements, "table")
    fences = source.removeprefix("```html\n").removesuffix("\n```")
    assert "\n\n".join(item.text for item in elements) == fences


def test_a_table_that_is_never_closed_does_not_spoil_another(tmp_path):
    nested = f"<table>\n<tr><td>x</td><td><table>{ROWS}</table></td></tr>{ROWS}\n</table>"
    first, second = read_markdown(tmp_path, f"<table>\n<tr><td>open\n\n{nested}")
    assert (first.type, first.text) == ("text", "<table>\n<tr><td>open")
    assert second.cells == (("x", "a b c d"), ("a", "b"), ("c", "d"))


def test_broken_html_in_markdown_loses_no_text(tmp_path):
    elements = read_markdown(tmp_path, "<div><img src=a.png alt=A> <![ broken\n\nAfter.")
    assert [item.text for item in elements] == [
        "<div><img src=a.png alt=A> <![ broken",
        "A",
        "After.",
    ]


def seconds(work, size):
    """The least CPU time of three calls of `work(size)`, in seconds.

    Without the collector of garbage and other threads: what else this process holds and does
    is no part of the work.
    """
    gc.collect()
    gc.disable()
    try:
        took = []
        for _ in range(3):
            started = thread_time()
            work(size)
            took.append(thread_time() - started)
        return min(took)
    finally:
        gc.enable()


@pytest.mark.parametrize("unit", ["<", "<!--", "<table>", "<table>\n\n", "</table><div\n", "<img "])
def test_the_time_that_broken_html_takes_grows_with_its_size_alone(unit):
    def work(size):
        source = f"<div><img src=a.png>{unit * (size // len(unit))}".encode()
        assert list(markdown.elements(source, MARKDOWN))

    assert seconds(work, 320_000) < 24 * seconds(work, 40_000)


def test_the_time_that_markdown_takes_grows_with_its_size_alone():
    def work(blocks):
        source = b"# Heading\n\nA paragraph.\n\n" * blocks
        assert sum(1 for _ in markdown.elements(source, MARKDOWN)) == 2 * blocks

    assert seconds(work, 16_000) < 24 * seconds(work, 2_000)


def test_a_broken_byte_spoils_itself_alone(tmp_path):
    path = tmp_path / "file.txt"
    path.write_bytes("Hållfasthet vid ".encode() + b"\xff" + " och värme".encode())
    assert [element.text for element in read(markdown, path)] == [
        "Hållfasthet vid \ufffd och värme"
    ]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]
)
def test_text_is_read_in_the_usual_encodings(tmp_path, encoding):
    path = tmp_path / "file.txt"
    path.write_bytes("Hållfasthet vid 20 °C\r\n\r\nAndra stycket\r\n".encode(encoding))
    assert [element.text for element in read(markdown, path)] == [
        "Hållfasthet vid 20 °C",
        "Andra stycket",
    ]


def test_a_form_feed_and_a_vertical_tab_part_words(tmp_path):
    (tmp_path / "a.txt").write_text("one page\fanother\vline")
    (element,) = read(markdown, tmp_path / "a.txt")
    assert element.text.split() == ["one", "page", "another", "line"]


# --- PDF


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Two pages with numbered headings, a list, an exponent and a ruled table."""
    import pymupdf

    path = pdf(
        tmp_path_factory.mktemp("report") / "report.pdf",
        [
            f'<h1 style="font-size:20pt">1 Scope</h1>{BODY}'
            f'<h2 style="font-size:15pt">1.1 Samples</h2>{BODY}'
            "<ul><li>first item</li><li>second item</li></ul>",
            f'<h2 style="font-size:15pt">1.2 Results</h2>{BODY}'
            "<p>The rate was 10<sup>-3</sup> for each cycle.</p>"
            f'<h1 style="font-size:20pt">2 Conclusions</h1>{BODY}',
        ],
    )
    document = pymupdf.open(path)
    page = document[0]
    rows = [("Steel", "Yield strength", "Elongation"), ("S355", "355 MPa", "22 %")]
    rows += [("S690", "690 MPa", "14 %"), ("S960", "960 MPa", "10 %")]
    for down, row in enumerate(rows):
        for across, cell in enumerate(row):
            x, y = 70 + 140 * across, 520 + 24 * down
            page.draw_rect((x, y, x + 140, y + 24))
            page.insert_text((x + 6, y + 16), cell, fontsize=11)
    document.saveIncr()
    return path


def test_pymupdf_finds_headings_paragraphs_and_lists(report):
    elements = read(pymupdf_parser, report)
    assert [(item.text, item.level, item.page) for item in of(elements, "heading")] == [
        ("1 Scope", 1, 1),
        ("1.1 Samples", 2, 1),
        ("1.2 Results", 2, 2),
        ("2 Conclusions", 1, 2),
    ]
    words = " ".join(item.text for item in elements)
    assert "first item" in words
    assert "second item" in words
    assert SENTENCE.strip() in of(elements, "text")[0].text
    assert "10^-3" in words
    last = elements[-1]
    assert last.section_path == ("2 Conclusions",)
    assert all(0 <= item.box[0] < item.box[2] <= 595 for item in elements)


def test_pymupdf_keeps_words_in_another_type_apart_and_letters_together(tmp_path):
    typed = "an efficiency <i>k</i> of the current <i>I</i> in amperes, its m<i>in</i>imum"
    path = pdf(tmp_path / "file.pdf", [f"<p>{SENTENCE * 3}</p><p>{typed}, and no more.</p>"])

    words = " ".join(item.text for item in read(pymupdf_parser, path))

    assert "an efficiency k of the current I in amperes, its minimum, and" in words


def test_pymupdf_gives_tables_as_cells_and_markdown(report):
    (table,) = of(read(pymupdf_parser, report, 1), "table")
    assert table.cells[0] == ("Steel", "Yield strength", "Elongation")
    assert table.cells[2] == ("S690", "690 MPa", "14 %")
    assert "| S355 | 355 MPa | 22 % |" in table.text
    assert table.page == 1


def test_pymupdf_keeps_the_picture_of_a_figure(tmp_path):
    elements = read(pymupdf_parser, making.report(tmp_path / "report.pdf"))
    (figure,) = of(elements, "figure")
    assert (figure.page, figure.image.media_type) == (2, "image/png")
    assert figure.image.width == pytest.approx((figure.box[2] - figure.box[0] + 4) * 2, abs=3)
    (table,) = of(elements, "table")
    assert table.cells == making.STEELS
    assert table.problem is None


def test_pymupdf_finds_everything_on_a_turned_and_cropped_page(tmp_path):
    import pymupdf

    document = pymupdf.open()
    page = document.new_page()
    for place, word in enumerate(("Relevant", "Structured", "Hardness")):
        page.insert_text((220 + 80 * place, 100 + 200 * place), word, rotate=270, fontsize=20)
    page.set_cropbox(pymupdf.Rect(180, 50, 480, 800))
    page.set_rotation(270)
    document.save(tmp_path / "turned.pdf")
    elements = read(pymupdf_parser, tmp_path / "turned.pdf")
    words = " ".join(item.text for item in elements)
    assert sorted(words.replace("- ", "").split()) == ["Hardness", "Relevant", "Structured"]
    with PageView(str(tmp_path / "turned.pdf")) as view:
        for item in elements:
            shown = " ".join(word.text for word in view.words_in(1, item.box))
            assert shown
            assert shown in item.text


def test_pymupdf_keeps_a_formula_as_text_and_picture():
    box = SimpleNamespace(
        boxclass="formula", x0=60, y0=100, x1=200, y1=120, textlines=[line("E", "=", "mc²")]
    )
    page = SimpleNamespace(page_number=1, boxes=[box], fulltext=[])
    picture = Image.of(b"png", media_type="image/png", width=2, height=1)
    view = SimpleNamespace(picture=lambda number, place: picture)
    (formula,) = pymupdf_parser._elements(page, view, [])
    assert (formula.type, formula.text, formula.image) == ("formula", "E = mc²", picture)


def test_pymupdf_keeps_the_words_of_a_table_without_a_grid():
    words = [
        Word(text_, (60.0 + 100 * across, y, 90.0 + 100 * across, y + 10))
        for y, row in ((100.0, ("Steel", "MPa")), (120.0, ("S355", "355")))
        for across, text_ in enumerate(row)
    ]
    table = {"extract": None, "cells": None}
    box = SimpleNamespace(boxclass="table", x0=50, y0=95, x1=300, y1=135, table=table)
    page = SimpleNamespace(page_number=1, boxes=[SimpleNamespace(**vars(box), textlines=None)])
    page.fulltext = []
    (found,) = pymupdf_parser._elements(page, SimpleNamespace(), words)
    assert found.cells == (("Steel", "MPa"), ("S355", "355"))


def test_what_draws_the_pages_is_part_of_the_version():
    engines = ("pymupdf", "docling", "marker", "pdfium")
    drawing = [pdf_parser(config.ParserSettings(engine=engine)) for engine in engines]
    drawing += [rapidocr.PARSER, tesseract.parser(command="tesseract", languages=["en"])]
    assert all("pypdfium2 " in parser.version for parser in drawing)


@pytest.fixture
def form(tmp_path):
    """A form with labels and fields beside them."""
    import pymupdf

    document = pymupdf.open()
    page = document.new_page(width=595, height=842)
    page.insert_textbox((72, 72, 520, 160), SENTENCE * 4, fontsize=11)

    def field(top, label, kind, value, **settings):
        page.insert_text((72, top), label, fontsize=11)
        made = pymupdf.Widget()
        made.field_type = getattr(pymupdf, f"PDF_WIDGET_TYPE_{kind}")
        width = 14 if kind == "CHECKBOX" else 160
        made.field_name, made.rect = label, pymupdf.Rect(200, top - 14, 200 + width, top + 6)
        for name, setting in settings.items():
            setattr(made, name, setting)
        made.field_value = value
        page.add_widget(made)

    field(200, "Load test passed:", "CHECKBOX", True)
    field(260, "Brake test passed:", "CHECKBOX", False)
    field(320, "Verdict:", "COMBOBOX", "rejected", choice_values=["approved", "rejected"])
    field(380, "Serial number:", "TEXT", "KX-4471-B")
    document.save(tmp_path / "form.pdf")
    return tmp_path / "form.pdf"


def test_pymupdf_reads_ticks_and_chosen_values_of_a_form_beside_their_labels(form):
    words = " ".join(element.text for element in read(pymupdf_parser, form))

    assert "Load test passed: [x]" in words
    assert "Brake test passed: [ ]" in words
    assert "Verdict: rejected" in words
    assert "Serial number: KX-4471-B" in words


def test_pymupdf_reads_lines_from_the_right_in_their_order(tmp_path):
    lines = ["המשאבה מספקת 40 ליטר לדקה", "הלחץ הוא 3 bar בפעולה"]
    body = "".join(f'<p dir="rtl" lang="he">{line}</p>' for line in lines)
    pdf(tmp_path / "a.pdf", [f"<p>{SENTENCE}</p>{body}"])
    words = " ".join(element.text for element in read(pymupdf_parser, tmp_path / "a.pdf"))

    assert all(line in words for line in lines)


@pytest.mark.parametrize("parser", [pymupdf_parser, pdfium])
def test_page_ranges_together_give_what_the_whole_gives(report, parser):
    parts = [*read(parser, report, 1), *read(parser, report, 2)]
    assert with_sections(parts) == read(parser, report)


def test_pymupdf_loses_no_line_of_the_text_layer(report):
    found = "".join(item.text for item in read(pymupdf_parser, report))
    plain = "".join(item.text for item in read(pdfium, report))
    letters = sorted(filter(str.isalnum, plain))
    assert sorted(filter(str.isalnum, found)) == letters


@pytest.mark.parametrize("parser", [pymupdf_parser, pdfium])
def test_a_scan_gives_no_text(tmp_path, parser):
    assert not any(item.text for item in read(parser, scan(tmp_path / "scan.pdf")))


def line(*texts, x=0.0, y=0.0, flags=0):
    spans = []
    for position, content in enumerate(texts):
        left = x + 50 * position
        spans.append(
            {"text": content, "size": 10.0, "flags": flags, "bbox": (left, y, left + 40, y + 10)}
        )
    return {"bbox": (x, y, x + 50 * len(texts), y + 10), "spans": spans}


def test_a_hyphen_at_the_end_of_a_line_waits_for_the_whole_document():
    lines = [line("the mate-"), line("rial of pro\u00ad"), line("cess 2-"), line("10")]
    assert pymupdf_parser._prose(lines) == f"the mate{LINE_END}rial of process 2- 10"


def test_code_keeps_its_lines_and_its_indentation():
    lines = [line("if x:", flags=8), line("y = 1", x=32.0, flags=8)]
    assert all(map(pymupdf_parser._is_code, lines))
    assert pymupdf_parser._code(lines) == "if x:\n    y = 1"


def test_both_say_where_text_stands_even_on_a_turned_page(tmp_path):
    import pymupdf

    path = pdf(tmp_path / "turned.pdf", [f"<p>{SENTENCE * 3}</p>", f"<p>{SENTENCE * 3}</p>"])
    document = pymupdf.open(path)
    document[1].set_rotation(90)
    document.saveIncr()
    for page in (1, 2):
        plain, laid_out = (
            [*zip(*(item.box for item in read(parser, path, page)), strict=True)]
            for parser in (pdfium, pymupdf_parser)
        )
        for edge, outermost in enumerate((min, min, max, max)):
            assert outermost(plain[edge]) == pytest.approx(outermost(laid_out[edge]), abs=2.0)


def test_pdfium_splits_paragraphs_and_joins_their_lines(report):
    texts = [item.text for item in read(pdfium, report, 1)]
    assert texts[:2] == ["1 Scope", (SENTENCE * 4).strip()]


# --- Office and HTML


def test_docx_has_headings_lists_tables_and_equations(tmp_path):
    import docx
    from docx.oxml import parse_xml

    document = docx.Document()
    document.add_heading("Specification", 0)
    document.add_heading("Scope", 1)
    paragraph = document.add_paragraph("Plates of ")
    paragraph.add_run("S355").bold = True
    paragraph.add_run(", rolled.")
    document.add_paragraph()._p.append(parse_xml(EQUATION))
    document.add_paragraph("first", style="List Bullet")
    document.add_paragraph("second", style="List Bullet")
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Steel", "MPa"
    table.cell(1, 0).text, table.cell(1, 1).text = "S355", "355"
    document.add_heading("Limits", 2)
    document.add_paragraph("The end.")
    document.sections[0].header.paragraphs[0].text = "Confidential"
    path = tmp_path / "file.docx"
    document.save(path)

    elements = read(docling_office, path)
    assert [(item.type, item.text) for item in elements] == [
        ("page_header", "Confidential"),
        ("title", "Specification"),
        ("heading", "Scope"),
        ("text", "Plates of S355, rolled."),
        ("formula", "$$\\frac{a}{b}$$"),
        ("list", "- first\n- second"),
        ("table", "| Steel | MPa |\n| --- | --- |\n| S355 | 355 |"),
        ("heading", "Limits"),
        ("text", "The end."),
    ]
    assert elements[6].cells == (("Steel", "MPa"), ("S355", "355"))
    assert elements[8].section_path == ("Specification", "Scope", "Limits")
    assert {item.page for item in elements} == {None}


def test_words_on_two_lines_of_a_slide_are_two_words(tmp_path):
    import pptx

    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text = "Tensile\vtest"
    table = slide.shapes.add_table(2, 2, 0, 0, 3_000_000, 3_000_000).table
    for place, words in enumerate(("Yield\vstrength", "Unit", "355\v360", "MPa")):
        table.cell(place // 2, place % 2).text = words
    slide.notes_slide.notes_text_frame.text = "Said\valoud"
    slides.save(tmp_path / "a.pptx")
    texts = "\n".join(element.text for element in read(docling_office, tmp_path / "a.pptx"))
    assert {"Tensile", "Yield", "strength", "355", "360", "Said", "aloud"} <= set(texts.split())


def test_pptx_has_a_page_for_each_slide(tmp_path):
    import pptx

    slides = pptx.Presentation()
    for title in ("First", "Second"):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "one\ntwo"
        slide.notes_slide.notes_text_frame.text = f"Say {title}"
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    slide.shapes.add_textbox(0, 0, 1_000_000, 1_000_000).text_frame.text = "No title"
    path = tmp_path / "file.pptx"
    slides.save(path)

    elements = read(docling_office, path, slides=True)
    assert [(item.page, item.type, item.text) for item in elements] == [
        (1, "heading", "First"),
        (1, "list", "- one\n- two"),
        (1, "text", "Say First"),
        (2, "heading", "Second"),
        (2, "list", "- one\n- two"),
        (2, "text", "Say Second"),
        (3, "text", "No title"),
    ]
    assert elements[1].section_path == ("First",)
    assert elements[6].section_path == ()
    assert elements[0].box[2] <= 720


@pytest.fixture
def square():
    from PIL import Image as Picture

    file = BytesIO()
    Picture.new("RGBA", (40, 30), (255, 0, 0, 128)).save(file, "PNG")
    return file


def test_pictures_and_wide_cells_of_a_docx_are_kept(tmp_path, square):
    import docx

    document = docx.Document()
    document.add_picture(square)
    table = document.add_table(2, 2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "Steels"
    table.cell(1, 0).text, table.cell(1, 1).text = "S355", "355"
    document.save(tmp_path / "file.docx")
    figure, found = read(docling_office, tmp_path / "file.docx")
    assert (figure.type, figure.image.width, figure.image.height) == ("figure", 40, 30)
    assert found.cells == (("Steels", ""), ("S355", "355"))
    assert found.spans == ((0, 0, 1, 2),)


def test_captions_of_a_docx_are_captions(tmp_path, square):
    import docx

    document = docx.Document()
    document.add_paragraph("Table 1: Steels", style="Caption")
    document.add_table(2, 2).cell(0, 0).text = "S355"
    document.add_paragraph("Body.")
    document.add_picture(square)
    caption = document.add_paragraph("Figure 1: A ", style="Caption")
    caption.add_run("crack").italic = True
    document.add_paragraph("Figure 1 shows a crack.")
    document.save(tmp_path / "file.docx")
    elements = read(docling_office, tmp_path / "file.docx")
    assert [(element.type, element.text) for element in elements if not element.cells] == [
        ("caption", "Table 1: Steels"),
        ("text", "S355"),
        ("text", "Body."),
        ("figure", ""),
        ("caption", "Figure 1: A crack"),
        ("text", "Figure 1 shows a crack."),
    ]


def test_tables_and_pictures_in_a_cell_of_a_docx_follow_the_table(tmp_path, square):
    import docx

    document = docx.Document()
    outer = document.add_table(2, 2)
    outer.cell(0, 0).text, outer.cell(0, 1).text = "Test", "Result"
    inner = outer.cell(1, 0).add_table(2, 2)
    for place, text_ in enumerate(("Steel", "MPa", "S355", "355")):
        inner.cell(place // 2, place % 2).text = text_
    outer.cell(1, 1).paragraphs[0].add_run("as drawn").add_picture(square)
    document.save(tmp_path / "file.docx")
    table, nested, figure = read(docling_office, tmp_path / "file.docx")
    assert table.cells == (("Test", "Result"), ("", "as drawn"))
    assert nested.cells == (("Steel", "MPa"), ("S355", "355"))
    assert figure.image.width == 40


def test_a_nested_table_whose_words_the_cell_says_is_not_doubled(tmp_path):
    path = tmp_path / "file.html"
    path.write_text(
        "<h1>A</h1><table><tr><th>a</th><th>b</th></tr><tr><td>c</td><td>"
        "<table><tr><td>n1</td><td>n2</td></tr><tr><td>n3</td><td>n4</td></tr></table>"
        "</td></tr></table>"
    )
    _, table = read(docling_office, path)
    assert table.cells == (("a", "b"), ("c", "n1 n2 n3 n4"))


def test_pictures_of_a_table_within_a_table_are_kept(tmp_path):
    inner = "<table><tr><td>a <img src=a.png alt=A></td></tr><tr><td>b</td></tr></table>"
    source = f"<table><tr><td>{inner}</td><td><p>c</p><img src=c.png alt=C></td></tr></table>"
    elements = web_page(tmp_path, f"<h1>Title</h1>{source}")
    assert figures(elements) == [("A", "a.png"), ("C", "c.png")]


def test_headers_of_a_docx_come_first_with_their_tables_and_footnotes_are_text(tmp_path):
    import docx

    document = docx.Document()
    document.add_paragraph("Plates are rolled.")
    section = document.sections[0]
    table = section.header.add_table(1, 2, docx.shared.Inches(6))
    table.cell(0, 0).text, table.cell(0, 1).text = "Test ID: 4711", "Revision: B"
    section.footer.paragraphs[0].text = "Confidential"
    document.save(tmp_path / "file.docx")
    making.add_footnote(tmp_path / "file.docx", "Rolled at 900 °C.")
    assert [(item.type, item.text) for item in read(docling_office, tmp_path / "file.docx")] == [
        ("page_header", "Test ID: 4711 | Revision: B"),
        ("text", "Plates are rolled."),
        ("page_footer", "Confidential"),
        ("footnote", "Rolled at 900 °C."),
    ]


def test_what_is_set_above_or_below_the_line_stays_with_its_word(tmp_path):
    import docx

    document = docx.Document()
    paragraph = document.add_paragraph("a rate of 10")
    paragraph.add_run("-3").font.superscript = True
    paragraph.add_run(" in H")
    paragraph.add_run("2").font.subscript = True
    paragraph.add_run("O and CO")
    paragraph.add_run("2").font.subscript = True
    paragraph.add_run(" gas")
    table = document.add_table(2, 2)
    for place, text_ in enumerate(("Steel", "Rate", "S355", "10")):
        table.cell(place // 2, place % 2).text = text_
    table.cell(1, 1).paragraphs[0].add_run("-3").font.superscript = True
    document.save(tmp_path / "file.docx")
    text_, found = read(docling_office, tmp_path / "file.docx")
    assert text_.text == "a rate of 10^-3 in H2O and CO2 gas"
    assert found.cells[1] == ("S355", "10^-3")


def test_a_word_stays_whole_where_its_letters_look_different(tmp_path):
    import docx

    parts = (
        ("split 12", False), ("3", True), ("45 M", False), ("12", True), ("x1.75 -", False),
        ("5", True), (" kPa 1", False), (",", True), ("25 (", False), ("bold", True),
        (") caf", False), ("é", True),
    )  # fmt: skip
    document = docx.Document()
    table = document.add_table(2, 2)
    for paragraph in (document.add_paragraph(), table.cell(1, 1).paragraphs[0]):
        for part, is_bold in parts:
            paragraph.add_run(part).bold = is_bold
    for cell in (table.cell(0, 0), table.cell(0, 1), table.cell(1, 0)):
        cell.text = "cell"
    document.save(tmp_path / "file.docx")
    line = "".join(f"<b>{part}</b>" if is_bold else part for part, is_bold in parts)
    rows = f"<tr><td>cell</td><td>cell</td></tr><tr><td>cell</td><td>{line}</td></tr>"
    page = tmp_path / "file.html"
    page.write_text(
        f"<table>{rows}</table><p>{line}</p>"
        "<p><i>L</i><sub>10</sub>h <span>on</span><span>e</span></p>"
        "<div><span>Mass</span><span>25 kg</span></div>"
    )
    whole = "split 12345 M12x1.75 -5 kPa 1,25 (bold) café"
    for file, others in ((tmp_path / "file.docx", []), (page, ["L10h one", "Mass 25 kg"])):
        found, *texts = read(docling_office, file)
        assert found.cells[1][1] == whole
        assert [item.text for item in texts] == [whole, *others]


def test_tabs_of_a_web_page_are_read_and_signs_of_links_are_not(tmp_path):
    page = tmp_path / "file.html"
    page.write_text(
        "<h1>Pump<a href='#pump'>\u00b6</a></h1><div role='tabpanel'><p>On Linux.</p></div>"
        "<div role='tabpanel' hidden='true'><p>On Windows.</p></div><p hidden>Nothing.</p>"
    )
    assert [item.text for item in read(docling_office, page)] == [
        "Pump",
        "On Linux.",
        "On Windows.",
    ]


def test_the_mark_of_a_footnote_is_no_digit_of_the_number_before_it(tmp_path):
    import docx
    import pptx

    document = docx.Document()
    document.add_paragraph("load 25").add_run("1)").font.superscript = True
    document.save(tmp_path / "file.docx")
    page = tmp_path / "file.html"
    page.write_text("<p>load 25<sup>1)</sup></p>")
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text_frame.text = "load 25"
    run = slide.shapes.title.text_frame.paragraphs[0].add_run()
    run.text, run.font._element.attrib["baseline"] = "1)", "30000"
    slides.save(tmp_path / "file.pptx")
    pdf(tmp_path / "file.pdf", [page.read_text()])
    files = (tmp_path / "file.docx", page, tmp_path / "file.pptx")
    found = [
        *(read(docling_office, file) for file in files),
        read(pymupdf_parser, tmp_path / "file.pdf", 1),
    ]
    assert [each[0].text for each in found] == ["load 25 1)"] * 4


def test_exponents_of_headings_and_slides_are_kept(tmp_path):
    import docx
    import pptx

    page = tmp_path / "file.html"
    page.write_text("<h1>10<sup>3</sup> cycles of CO<sub>2</sub></h1><p>Text.</p>")
    document = docx.Document()
    heading = document.add_heading("10", 1)
    heading.add_run("-3").font.superscript = True
    heading.add_run(" mm")
    document.save(tmp_path / "file.docx")
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    for shape in (slide.shapes.title, slide.placeholders[1]):
        shape.text_frame.text = "10"
        run = shape.text_frame.paragraphs[0].add_run()
        run.text, run.font._element.attrib["baseline"] = "6", "30000"
    slides.save(tmp_path / "file.pptx")
    assert read(docling_office, page)[0].text == "10^3 cycles of CO2"
    assert read(docling_office, tmp_path / "file.docx")[0].text == "10^-3 mm"
    assert [item.text for item in read(docling_office, tmp_path / "file.pptx")] == [
        "10^6",
        "- 10^6",
    ]


def test_a_chart_is_a_table_and_a_picture_on_a_slide_a_figure(tmp_path, square):
    import pptx
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    data = CategoryChartData()
    data.categories = ["S355", "S690"]
    data.add_series("Cracks", (1, 2))
    side = Inches(2)
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, side, side, side, side, data)
    slide.shapes.add_picture(square, 0, 0)
    slides.save(tmp_path / "file.pptx")
    elements = read(docling_office, tmp_path / "file.pptx", slides=True)
    (chart,) = of(elements, "table")
    assert chart.cells == (("", "Cracks"), ("S355", "1"), ("S690", "2"))
    assert chart.box == pytest.approx((144, 144, 288, 288))
    (figure,) = of(elements, "figure")
    assert (figure.page, figure.image.width) == (1, 40)


def web_page(tmp_path, source):
    path = tmp_path / "file.html"
    path.write_text(source, "utf-8")
    parsed.cache_clear()
    return read(docling_office, path)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("<img src='figures/a%20b.png' alt='A crack'>", ("A crack", "figures/a b.png")),
        ("<img src=' ./a.png?v=2#top '>", ("", "./a.png")),
        ("<p>See <a href='b.png'><img src='../a.png' alt=A></a>.</p>", ("A", "../a.png")),
        ("<ul><li>one <img src=a.png alt=A></li></ul>", ("A", "a.png")),
        ("<table><tr><th>a<th>b<tr><td><img src=a.png alt=A><td>c</table>", ("A", "a.png")),
        ("<h2>Cracks <img src=a.png alt=A></h2>", ("A", "a.png")),
        (
            "<picture><source srcset=a.webp><img src=a.png srcset='b.png 2x'></picture>",
            ("", "a.png"),
        ),
        ("<base href='figures/page.html'><img src=a.png alt=A>", ("A", "figures/a.png")),
        ("<base href='https://x.invalid/'><img src=a.png alt=A>", ("A", None)),
        ("<base href='/root/'><img src=a.png alt=A>", ("A", None)),
        ("<img src='https://x.invalid/a.png' alt=A>", ("A", None)),
        ("<img src='//x.invalid/a.png' alt=A>", ("A", None)),
        ("<img src='/a.png' alt=A>", ("A", None)),
        ("<img src='file:///a.png' alt=A>", ("A", None)),
        ("<img src='http://[' alt=A>", ("A", None)),
        ("<img alt=A>", ("A", None)),
        ("<img src='DATA:image/png;base64,AAAA' alt=A>", ("A", "data:image/png;base64,AAAA")),
    ],
)
def test_pictures_beside_a_web_page_are_figures(tmp_path, source, shown):
    elements = web_page(tmp_path, f"<h1>Title</h1><p>Text.</p>{source}")
    assert figures(elements) == [shown]


@pytest.mark.parametrize(
    ("alt", "caption", "said"),
    [
        ("A micrograph", "Figure 1: A <b>crack</b>", ["Figure 1: A crack\nA micrograph"]),
        ("a crack", "Figure 1: A crack.", ["Figure 1: A crack."]),
        ("Figure 10", "Figure 1", ["Figure 1\nFigure 10"]),
        ("", "Figure 1", ["Figure 1"]),
        ("A\n micrograph", "", ["A micrograph"]),
        ("left'><img src=b.png alt='right", "Pair", ["Pair\nleft", "Pair\nright"]),
    ],
)
def test_a_figure_of_a_web_page_says_its_caption_and_what_else_its_picture_is_said_to_show(
    tmp_path, alt, caption, said
):
    source = f"<figure><img src=a.png alt='{alt}'><figcaption>{caption}</figcaption></figure>"
    assert [text_ for text_, _ in figures(web_page(tmp_path, f"<p>Text.</p>{source}"))] == said


def test_the_time_that_pictures_of_a_web_page_take_grows_with_their_number_alone(tmp_path):
    def work(count):
        assert len(figures(web_page(tmp_path, "<p>A</p>" + "<img src=a.png>" * count))) == count

    assert seconds(work, 4_000) < 24 * seconds(work, 500)


def test_the_footer_of_a_web_page_stays_below_it(tmp_path):
    page = tmp_path / "file.html"
    page.write_text("<h1>Title</h1><p>Body.</p><footer>Below</footer>")
    assert [(element.type, element.text) for element in read(docling_office, page)] == [
        ("title", "Title"),
        ("text", "Body."),
        ("page_footer", "Below"),
    ]


def test_html_has_structure_and_fetches_nothing(tmp_path):
    path = tmp_path / "file.html"
    path.write_text(
        "<html><head><title>Tab</title></head><body><p>Before the <b>first</b> heading</p>"
        "<h1>Alpha</h1><p>a_b &amp; <a href='http://x.invalid/y'>c</a></p><h2>Beta</h2>"
        "<ul><li>one<ul><li>two</li></ul></li></ul>"
        "<table><tr><th>A</th><th>B</th></tr><tr><td colspan=2>x|y</td></tr></table>"
        "<pre><code>x = 1\ny</code></pre><img src='http://x.invalid/p.png' alt='A picture'>"
        "<script>alert(1)</script></body></html>",
        "utf-8",
    )
    elements = [item for item in read(docling_office, path) if item.type != "page_header"]
    assert [(item.type, item.text) for item in elements] == [
        ("text", "Before the first heading"),
        ("title", "Alpha"),
        ("text", "a_b & c"),
        ("heading", "Beta"),
        ("list", "- one\n  - two"),
        ("table", "| A | B |\n| --- | --- |\n| x\\|y |  |"),
        ("code", "x = 1\ny"),
        ("figure", "A picture"),
    ]
    assert elements[4].section_path == ("Alpha", "Beta")


def test_a_damaged_docx_is_the_fault_of_the_file(tmp_path):
    path = tmp_path / "file.docx"
    path.write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(ParseError, match="damaged"):
        inspected(path, DOCX)
    with pytest.raises(ParseError, match="is a damaged Office file"):
        docling_office.parse(str(path), None)


# --- before parsing


def inspected(path, media_type):
    return Inspection.of(preflight.inspect(str(path), media_type, 5_000))


def test_preflight_counts_pages_and_names_oversized_ones(tmp_path):
    path = pdf(tmp_path / "plan.pdf", [BODY])
    import pymupdf

    document = pymupdf.open(path)
    document.new_page(width=14_000, height=14_000)
    document.saveIncr()
    found = inspected(path, PDF)
    assert (found.pages, found.oversized) == (2, [2])


def test_preflight_refuses_what_no_parser_can_read(tmp_path):
    good = pdf(tmp_path / "good.pdf", [BODY]).read_bytes()
    cases = {
        "garbage.pdf": b"\x93" * 5_000,
        "truncated.pdf": good[: len(good) // 2],
        "page.pdf": b"<!DOCTYPE html><html><body>no</body></html>",
        "empty.pdf": without_pages(tmp_path / "none.pdf").read_bytes(),
    }
    for name, content in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ParseError, match="not a readable PDF"):
            inspected(path, PDF)


def test_preflight_tells_passwords_apart(tmp_path):
    import pymupdf

    strong = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "o"}
    locked = pdf(tmp_path / "locked.pdf", [BODY], user_pw="secret", **strong)
    with pytest.raises(ParseError, match="password"):
        inspected(locked, PDF)
    restricted = pdf(tmp_path / "restricted.pdf", [BODY], user_pw="", **strong)
    assert inspected(restricted, PDF).pages == 1
    assert read(pymupdf_parser, restricted)


def test_preflight_estimates_text_by_its_size(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("word " * 1_000_000)
    found = inspected(path, PLAIN)
    assert (found.pages, found.work) == (0, 6)


CELLS = "<tr><td>12.5</td><td>355</td></tr>" * 20
TABLES = (
    f"<h2>Loads</h2><table><tr><th>MPa</th><th>N</th></tr>{CELLS}</table>\n\n<p>{SENTENCE}</p>\n"
)


def word_with(path, paragraphs):
    import docx

    document = docx.Document()
    for _ in range(paragraphs):
        document.add_paragraph(SENTENCE)
    document.save(path)


def workbook_with(path, rows):
    import openpyxl

    workbook = openpyxl.Workbook()
    for row in range(rows):
        workbook.active.append([f"v{row}.{column}" for column in range(9)])
    workbook.save(path)


@pytest.mark.parametrize(
    ("parser", "media_type", "write"),
    [
        (docling_office, HTML, lambda path: path.write_text(f"<html>{TABLES * 60}</html>")),
        (markdown, MARKDOWN, lambda path: path.write_text(TABLES * 60)),
        (docling_office, DOCX, lambda path: word_with(path, 400)),
        (spreadsheet, XLSX, lambda path: workbook_with(path, 2_000)),
        (markdown, PLAIN, lambda path: path.write_text(f"{SENTENCE}\n\n" * 9_000)),
    ],
)
def test_the_time_limit_follows_what_good_files_take(tmp_path, parser, media_type, write):
    """A page of six seconds for each page that there is, and some more for each file."""
    path = tmp_path / f"good{SUFFIXES[media_type]}"
    write(path)
    parser.parse(str(path), None)  # imports are given time of their own
    started = process_time()
    parser.parse(str(path), None)
    taken = process_time() - started
    settings = config.ParserSettings()
    pages = inspected(path, media_type).work
    assert taken * 6 < settings.seconds_per_task + pages * settings.seconds_per_page


def test_a_page_of_the_web_of_a_megabyte_is_given_less_than_two_minutes(tmp_path):
    path = tmp_path / "deep.html"
    path.write_text("<div>" * 90_000 + "deep" + "</div>" * 90_000)
    settings = config.ParserSettings()
    pages = inspected(path, HTML).work
    assert settings.seconds_per_task + pages * settings.seconds_per_page < 100


# --- availability


def test_every_parser_of_an_engine_is_described(monkeypatch):
    for engine in ("pymupdf", "docling", "pdfium"):
        parsers = parsers_of(config.ParserSettings(engine=engine), name="x")
        assert parsers[PDF].name == engine
        assert all(parser.version.startswith(f"{parser.name} r") for parser in parsers.values())


def test_an_absent_parser_is_an_error_with_the_remedy(monkeypatch):
    def version(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(description, "version_here", version)
    with pytest.raises(ParserUnavailableError) as caught:
        parsers_of(config.ParserSettings(engine="pymupdf"), name="main")
    assert "pip install 'rag-assets[pymupdf]'" in str(caught.value)
    assert "parsers.main.engine: pdfium" in str(caught.value)


def test_an_old_version_is_not_taken(monkeypatch):
    monkeypatch.setattr(description, "version_here", lambda _: "1.26.5")
    assert "too old" in str(pymupdf_parser.PARSER.missing())
    assert Parser("x", __name__, 1, None, "").missing() is None


def test_importing_the_parsers_loads_no_library():
    import subprocess
    import sys

    heavy = ["pymupdf", "pypdfium2", "docling", "markdown_it", "onnxruntime", "torch", "lancedb"]
    code = (
        "import sys, rag_assets.documents.elements.parse, rag_assets.documents.chunks.chunk\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=_environment(threads=1),
        check=True,
    )
    assert done.stdout.strip() == "[]"
