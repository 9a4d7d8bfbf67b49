"""Pages without a text layer: found page by page, read in order, with what is known of each."""

import csv
import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from rag_assets import config
from rag_assets.documents.elements.element import from_json
from rag_assets.documents.elements.line_ends import with_line_ends
from rag_assets.documents.parsers import by_media_type, preflight
from rag_assets.documents.parsers.ocr import scanned_pages, tesseract
from rag_assets.documents.parsers.preflight import Inspection
from rag_assets.media.encodings import letters_of
from rag_assets.media.media_types import PDF
from rag_assets_testing.documents.making import SENTENCE, pdf

ENGLISH = (
    "<p>The declared unit of the material is one kilogram, and the factor is given for each of the "
    "properties that are listed below.</p><p>A piece is a whole that can be counted.</p>"
)
SWEDISH = (
    "<p>Den deklarerade enheten för materialet är ett kilogram, och faktorn anges för var och en "
    "av de egenskaper som står nedan.</p><p>Ett stycke är en helhet som kan räknas.</p>"
)
STAND_IN = """\
#!{python}
import sys
if "--version" in sys.argv:
    sys.exit(print("tesseract 5.3.0\\n leptonica-1.82.0"))
if "--list-langs" in sys.argv:
    sys.exit(print('List of available languages in "/usr/share/tessdata/" (2):\\neng\\nswe'))
*_, languages, _, dots, table = sys.argv[1:]
head = sys.stdin.buffer.read(15)
if not {{*languages.split("+")}} <= {{"eng", "swe"}}:
    sys.exit("Failed loading language 'xxx'\\nTesseract couldn't load any languages!")
assert head.startswith(b"P6\\n1653 2339\\n"), head
assert (dots, table) == ("200", "tsv"), sys.argv
sys.stdout.write(open({table!r}, encoding="utf-8").read())
"""
"""What Tesseract 5.3 said of `two_columns`, scanned; like it, the program takes PPM from stdin."""
RECORDED = Path(__file__).parent / "recorded" / "tesseract.tsv"
TESSERACT = os.environ.get("RAG_ASSETS_TESSERACT") or shutil.which("tesseract")


def two_columns(path):
    import pymupdf

    document = pymupdf.open()
    page = document.new_page()
    page.insert_htmlbox((60, 40, 540, 80), "<h2>Material properties / Materialegenskaper</h2>")
    page.insert_htmlbox((60, 100, 285, 780), ENGLISH + ENGLISH.replace("kilogram", "metre") * 2)
    page.insert_htmlbox((310, 100, 540, 780), SWEDISH + SWEDISH.replace("kilogram", "meter") * 2)
    document.save(path)
    return path


def scanned(path, source, *, turned=0.0, pages=None):
    """`source` with its pages (all, or those named) replaced by pictures of them."""
    import pymupdf

    document, original = pymupdf.open(), pymupdf.open(source)
    for number, page in enumerate(original, 1):
        if pages and number not in pages:
            document.insert_pdf(original, from_page=number - 1, to_page=number - 1)
            continue
        picture = page.get_pixmap(matrix=pymupdf.Matrix(150 / 72, 150 / 72).prerotate(turned))
        copy = document.new_page()
        copy.insert_image(copy.rect, pixmap=picture)
    document.save(path)
    return path


def line(text, x0, y0, x1, *, height=20.0, slope=0.0):
    return scanned_pages.Line(text, (x0, y0, x1, y0 + height), 0.9, slope)


def read(lines):
    page = scanned_pages.Page(1, None, scale=2.0)
    return [element.text for element in scanned_pages.elements(lines, page)]


def test_lines_become_paragraphs_with_boxes_in_points():
    lines = [
        line("The plate was loa-", 100, 100, 500),
        line("ded twice.", 100, 130, 300),
        line("Then it broke.", 100, 220, 400),
    ]
    found = [*scanned_pages.elements(lines, scanned_pages.Page(7, None, scale=2.0))]
    first, second = with_line_ends(found)
    assert (first.text, second.text) == ("The plate was loaded twice.", "Then it broke.")
    assert (first.page, first.box) == (7, (50, 50, 250, 75))
    assert first.confidence == pytest.approx(0.9)


def test_an_indent_begins_a_paragraph():
    lines = [
        line("One goes on", 100, 100, 500),
        line("to here.", 100, 130, 300),
        line("Two begins.", 140, 160, 500),
        line("And ends.", 100, 190, 500),
    ]
    assert read(lines) == ["One goes on to here.", "Two begins. And ends."]


@pytest.mark.parametrize("slope", [0.0, 0.02, -0.02])
def test_columns_are_read_one_after_the_other_also_on_a_turned_page(slope):
    def placed(text, x0, y0, x1):
        return line(text, x0, y0 + slope * (x0 + x1) / 2, x1, slope=slope)

    lines = [placed("A title that goes across both of the columns", 100, 50, 900)]
    for row in range(6):
        lines.append(placed(f"left {row}", 100, 100 + 30 * row, 450))
        lines.append(placed(f"right {row}", 550, 100 + 30 * row, 900))
    words = " ".join(read(lines))
    left = " ".join(f"left {row}" for row in range(6))
    right = " ".join(f"right {row}" for row in range(6))
    assert words == f"A title that goes across both of the columns {left} {right}"


def test_cells_of_a_table_are_read_row_by_row():
    lines = [
        line(f"{column}{row}", 100 + 200 * column, 100 + 30 * row, 140 + 200 * column)
        for row in range(6)
        for column in range(4)
    ]
    assert "00 10 20 30" in " ".join(read(lines))


def test_pages_that_show_something_and_have_no_text_are_found(tmp_path):
    import pymupdf

    source = pdf(tmp_path / "a.pdf", [f"<p>{SENTENCE}</p>", "<p>Seen.</p>", "<p>x</p>"])
    path = scanned(tmp_path / "b.pdf", source, pages=[2])
    document = pymupdf.open(path)
    document.new_page()
    document.saveIncr()
    found = Inspection.of(preflight.inspect(str(path), PDF, 100))
    assert found.scanned == [2]
    assert found.pages == 4
    assert found.letters[0] == letters_of(SENTENCE)
    assert found.letters[3] == 0, "a blank page is no scan"


def test_mixed_documents_are_read_page_by_page(project):
    project.settings["ocr"] = "rapidocr"
    source = pdf(project.folder.parent / "source.pdf", [f"<p>{SENTENCE}</p>", f"<p>{SENTENCE}</p>"])
    scanned(project.folder / "mixed.pdf", source, pages=[2])
    project.list_files()
    report = project.parse()
    first, second = project.elements("mixed.pdf")
    assert (report.failed, report.pages) == (0, 2)
    assert first["text"] == second["text"] == SENTENCE.strip()
    assert (first["page"], first["engine"], first["confidence"]) == (1, "pdfium", None)
    assert (second["page"], second["engine"]) == (2, "rapidocr")
    assert second["confidence"] > 0.9
    x0, y0, x1, y1 = second["box"]
    assert 50 < x0 < x1 < 560
    assert 50 < y0 < y1 < 150


def test_a_scan_of_two_languages_is_read_column_by_column(project):
    project.settings["ocr"] = "rapidocr"
    source = two_columns(project.folder.parent / "source.pdf")
    scanned(project.folder / "scan.pdf", source, turned=0.6)
    project.list_files()
    project.parse()
    elements = project.elements("scan.pdf")
    text = " ".join(element["text"] for element in elements)
    assert text.index("can be counted") < text.index("Den deklarerade enheten")
    languages = {element["text"][:7]: element["language"] for element in elements}
    assert (languages["The dec"], languages["Den dek"]) == ("en", "sv")


def test_an_absent_engine_names_the_pages_and_the_remedy(project):
    project.settings |= {"ocr": "tesseract", "tesseract": "no_such_program"}
    source = pdf(project.folder.parent / "source.pdf", [f"<p>{SENTENCE}</p>"] * 2)
    scanned(project.folder / "mixed.pdf", source, pages=[2])
    project.list_files()
    (failure,) = project.parse().failures
    assert failure.kind == "input"
    assert failure.reason.startswith("mixed.pdf: page 2: no text layer, and tesseract cannot be")
    assert "apt install tesseract-ocr" in failure.reason
    assert len(project.elements("mixed.pdf")) == 1


def test_another_engine_reads_only_the_scans_again(project):
    project.settings |= {"ocr": "tesseract", "tesseract": "no_such_program"}
    source = pdf(project.folder / "plain.pdf", [f"<p>{SENTENCE}</p>"])
    scanned(project.folder / "scan.pdf", source)
    project.list_files()
    project.parse()
    before = project.elements("plain.pdf")
    project.settings["ocr"] = "rapidocr"
    report = project.parse()
    assert (report.contents, report.failed) == (1, 0)
    assert project.elements("scan.pdf")[0]["engine"] == "rapidocr"
    after = project.elements("plain.pdf")
    assert [row["row_fingerprint"] for row in after] == [row["row_fingerprint"] for row in before]
    assert project.parse().contents == 0


@pytest.fixture
def stand_in(tmp_path):
    """A program that answers as Tesseract did."""
    program = tmp_path / "stand_in_tesseract"
    program.write_text(STAND_IN.format(python=sys.executable, table=str(RECORDED)))
    program.chmod(0o755)
    return str(program)


def test_what_tesseract_says_of_itself_is_understood(stand_in):
    parser = tesseract.parser(command=stand_in, languages=["en", "sv"])
    assert parser.missing() is None
    said, drawn_by = parser.version.split(" pypdfium2 ")
    assert said == "tesseract r2 tesseract 5.3.0 eng+swe"
    assert drawn_by == version("pypdfium2")
    finnish = tesseract.parser(command=stand_in, languages=["en", "fi"])
    assert finnish.missing() == "it has no data of the language fin"


def test_the_table_of_tesseract_becomes_paragraphs_column_by_column(tmp_path, stand_in):
    path = scanned(tmp_path / "scan.pdf", two_columns(tmp_path / "source.pdf"))
    elements = from_json(tesseract.parse(str(path), None, command=stand_in, languages=["en", "sv"]))
    title, first, *_ = elements
    assert title.text == "Material properties / Materialegenskaper"
    assert title.box == pytest.approx((61.2, 57.6, 414.4, 75.2), abs=0.1)
    assert first.text.startswith("The declared unit of the material is one kilogram, and")
    text = " ".join(element.text for element in elements)
    assert text.index("can be counted") < text.index("Den deklarerade enheten för materialet")
    with RECORDED.open(encoding="utf-8") as table:
        rows = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        words = [row for row in rows if row["text"]]
    assert sorted(text.split()) == sorted(row["text"] for row in words)
    of_title = [(float(row["conf"]), len(row["text"])) for row in words[:4]]
    mean = sum(conf * letters for conf, letters in of_title) / sum(n for _, n in of_title)
    assert title.confidence == pytest.approx(mean / 100, abs=1e-4)


def test_tesseract_that_fails_is_quoted(tmp_path, stand_in):
    path = scanned(tmp_path / "scan.pdf", pdf(tmp_path / "source.pdf", ["<p>Seen.</p>"]))
    with pytest.raises(RuntimeError, match=r"ended with 1: Failed loading language 'xxx' Tess"):
        tesseract.parse(str(path), None, command=stand_in, languages=["xxx"])


@pytest.fixture(params=["recorded", "installed"])
def program(request, stand_in):
    """What Tesseract answered once, and the program itself where there is one."""
    if request.param == "recorded":
        return stand_in
    if not TESSERACT:
        pytest.skip("there is no tesseract: name it in RAG_ASSETS_TESSERACT")
    return TESSERACT


def test_tesseract_reads_columns_one_after_the_other(tmp_path, program):
    path = scanned(tmp_path / "scan.pdf", two_columns(tmp_path / "source.pdf"))
    parser = tesseract.parser(command=program, languages=["en"])
    assert parser.missing() is None
    elements = from_json(tesseract.parse(str(path), None, **parser.options))
    text = " ".join(element.text for element in elements)
    assert "The declared unit of the material is one kilogram" in text
    assert text.index("can be counted") < text.index("Den deklarerade")
    assert all(element.confidence > 0.5 for element in elements)


def test_what_follows_an_engine_with_an_interpreter_of_its_own_runs_in_this_one(tmp_path):
    settings = config.ParserSettings(
        engine="marker", python=tmp_path / "python", fallback=["pymupdf", "pdfium"]
    )
    found = by_media_type.chain_of(settings, name="main").fallback
    assert [(parser.name, parser.python) for parser in found] == [
        ("pymupdf", None),
        ("pdfium", None),
    ]


def test_the_languages_and_the_program_are_part_of_what_names_the_chain(project):
    def version(**settings):
        project.settings |= settings
        return by_media_type.chain_of(project.config.parsers["plain"], name="plain").version

    versions = [version(ocr="none"), version(ocr="rapidocr"), version(ocr="tesseract")]
    assert len(set(versions)) == 3
