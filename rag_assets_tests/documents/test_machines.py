"""Nothing that lies on a machine changes what is read: no program, and no variable of a library.

What a program of the machine reads is a choice of the config, and part of the recipe: Tesseract.
"""

import io
import os
import sys

import PIL.Image
import pytest

from rag_assets import config
from rag_assets.documents.elements.element import from_json
from rag_assets.documents.parsers import pictures, preflight
from rag_assets.documents.parsers.by_media_type import PDF_ENGINES, parsers_of, pdf_parser
from rag_assets.documents.parsers.ocr import rapidocr
from rag_assets.media.media_types import DOCX, HTML, MARKDOWN, PDF, PLAIN, PPTX, XLSX
from rag_assets.workers import Done, Failed, Pool, Task
from rag_assets_testing import effort
from rag_assets_testing.documents.making import SENTENCE, pdf, report
from rag_assets_tests.documents.parsers.test_as_shown import GRAPHIC, W, with_diagram
from rag_assets_tests.documents.parsers.test_ocr import scanned
from rag_assets_tests.documents.test_bad_pictures import (
    METAFILE,
    POSTSCRIPT,
    SMALL,
    slides,
    with_picture,
    word,
)

PROGRAMS = (
    *("soffice", "libreoffice", "lowriter", "unoconv", "abiword", "pandoc", "antiword", "catdoc"),
    *("gs", "convert", "magick", "inkscape", "rsvg-convert", "wmf2svg", "wmf2eps", "unemf", "dot"),
    *("pdftotext", "pdftoppm", "pdftocairo", "pdfinfo", "mutool", "qpdf", "djvutxt", "java"),
    *("tesseract", "ocrmypdf", "whereis", "ffmpeg", "ffprobe", "latex", "tectonic", "latexml"),
    *("docker", "nvidia-smi", "llama-server", "ollama", "chromium", "wkhtmltopdf", "node"),
)
STAND_IN = """\
#!{python}
import pathlib, shutil, sys
with open({started!r}, "a") as marks:
    print(*sys.argv, file=marks)
for word, following in zip(sys.argv, [*sys.argv[1:], ""]):
    if word == "--outdir":
        drawn = pathlib.Path(following, pathlib.Path(sys.argv[-1]).stem + ".pdf")
        shutil.copy({pdf!r}, drawn)
    if word.startswith("-sOutputFile="):
        shutil.copy({picture!r}, word.partition("=")[2])
"""
"""A program that leaves a mark, and draws as LibreOffice and Ghostscript do."""
LIMITS = {"DOCLINGCORE_MAX_TABLE_CELLS": "1"}
"""A variable of docling that cuts tables."""
AT_NIGHT = ("docling", "rapidocr")
"""Parsers of PDFs that load models."""
TABLE = "<table><tr><td>load</td><td>12 kN</td></tr><tr><td>span</td><td>3 m</td></tr></table>"


def with_drawings(path):
    """A Word file with a diagram, a drawing of Windows and one in PostScript."""
    import docx
    from docx.oxml import parse_xml

    document = docx.Document(word(path, METAFILE))
    other = io.BytesIO()
    PIL.Image.new("RGB", (40, 30), "blue").save(other, "PNG")
    document.add_picture(other)
    diagram = parse_xml(f'<w:drawing xmlns:w="{W}">{GRAPHIC}</w:drawing>')
    document.add_paragraph("The steps:").add_run()._r.append(diagram)
    document.save(path)
    with_diagram(path, "word/document.xml")
    return with_picture(path, "word/media/image2.png", POSTSCRIPT)


def workbook(path):
    from openpyxl import Workbook
    from openpyxl.drawing.image import Image

    book = Workbook()
    book.active.append(["load", "12 kN"])
    book.active.append(["span", "3 m"])
    book.active.add_image(Image(io.BytesIO(SMALL)), "D4")
    book.save(path)
    return with_picture(path, "xl/media/image1.png", POSTSCRIPT)


def page(path):
    path.write_text(f"<h1>Loads</h1>{TABLE}")
    return path


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """What reads each format, by every parser that runs here; those that load models at night."""
    folder = tmp_path_factory.mktemp("files")
    files = {
        PDF: report(folder / "report.pdf"),
        DOCX: with_drawings(folder / "windows.docx"),
        PPTX: slides(folder / "windows.pptx", METAFILE),
        XLSX: workbook(folder / "book.xlsx"),
        **{kind: page(folder / f"a{end}") for kind, end in TEXTS.items()},
    }
    scan = scanned(folder / "scan.pdf", pdf(folder / "line.pdf", [f"<p>{SENTENCE}</p>"]))
    settings = config.ParserSettings(engine="pdfium")
    of_kinds = parsers_of(settings, name="plain")
    readings = [(of_kinds[kind], path) for kind, path in files.items() if kind != PDF]
    readings.append((of_kinds[PPTX], slides(folder / "postscript.pptx", POSTSCRIPT)))
    engines = [pdf_parser(settings.model_copy(update={"engine": name})) for name in PDF_ENGINES]
    for parser in (*engines, rapidocr.PARSER):
        is_run = effort.is_night() or parser.name not in AT_NIGHT
        if is_run and parser.missing() is None:
            readings += [(parser, files[PDF]), (parser, scan)]
    found = [
        task(f"{parser.name} {path.name}", parser.function, path, pages=None, **parser.options)
        for parser, path in readings
    ]
    for kind, path in [*files.items(), (PDF, scan)]:
        name = f"inspect {path.name}"
        found.append(task(name, preflight.FUNCTION, path, media_type=kind, most_pages=9))
    for name, content in {"a.eps": POSTSCRIPT, "a.wmf": METAFILE, "a.png": SMALL}.items():
        (folder / name).write_bytes(content)
        found.append(task(name, pictures.FUNCTION, folder / name))
    return found


TEXTS = {HTML: ".html", MARKDOWN: ".md", PLAIN: ".txt"}


def task(key, function, path, **arguments):
    return Task(key, function, arguments, 120, file=path)


def outcomes(tasks, **environment):
    """What the tasks give in a worker of its own, which has looked for nothing yet."""
    with Pool(size=1, environment=environment) as pool:
        for each in tasks:
            pool.submit(each)
        return {each.key: outcome for each, outcome in pool.finished()}


@pytest.fixture(scope="module")
def alone(tasks):
    """What is read where there is no program to find."""
    return outcomes(tasks, PATH=os.devnull)


@pytest.fixture
def programs(tmp_path):
    """A folder of stand-ins for programs."""
    PIL.Image.new("RGB", (40, 30), "red").save(tmp_path / "drawn.ppm")
    script = STAND_IN.format(
        python=sys.executable,
        started=str(tmp_path / "started"),
        pdf=str(report(tmp_path / "drawn.pdf")),
        picture=str(tmp_path / "drawn.ppm"),
    )
    (tmp_path / "bin").mkdir()
    for name in PROGRAMS:
        (tmp_path / "bin" / name).write_text(script)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path / "bin"


def started(programs):
    """The command lines of the stand-ins that were started."""
    marks = programs.parent / "started"
    return marks.read_text().splitlines() if marks.exists() else []


def test_without_a_program_all_is_read_but_drawings(alone):
    failed = {key: outcome for key, outcome in alone.items() if isinstance(outcome, Failed)}
    assert {outcome.error for outcome in failed.values()} == {"ParseError"}
    assert failed.keys() == {"a.eps", "a.wmf"}
    outcome = alone["office windows.docx"]
    assert isinstance(outcome, Done)
    elements = from_json(outcome.value)
    assert {"The steps:", "Melt at 1600 °C", "The end."} < {element.text for element in elements}
    problems = [element.problem for element in elements if element.type == "figure"]
    assert problems == [f"its picture {pictures.UNKNOWN}"] * 2


@pytest.mark.sweep
def test_no_program_that_lies_on_the_machine_is_started_or_changes_what_is_read(
    tasks, alone, programs
):
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    found = outcomes(tasks, PATH=path, TESSDATA_PREFIX=str(programs), **LIMITS)

    assert started(programs) == []
    assert found == alone


@pytest.mark.nightly(guards=["rag_assets/documents/parsers/docling_alone.py"])
def test_no_variable_for_docling_changes_what_is_read(tasks, alone, programs, tmp_path):
    its_own = [each for each in tasks if each.key.startswith(("office", "docling", "text a.md"))]

    found = outcomes(
        its_own,
        DOCLING_LIBREOFFICE_CMD=str(programs / "soffice"),
        DOCLING_ARTIFACTS_PATH=str(tmp_path / "nothing"),
        **LIMITS,
    )

    assert len(found) >= 5
    assert started(programs) == []
    assert found == {key: alone[key] for key in found}
