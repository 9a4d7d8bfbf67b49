"""A unit is shown where it stands, whatever the format of its document."""

import json

import docx
import pptx
import pytest

from rag_assets import config as configuration
from rag_assets.answering.evidence_cards import excerpt_of
from rag_assets.documents.chunks.document_texts import texts_of
from rag_assets.operations.explain.explaining import find_unit
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh

SAID = "The seal is replaced each year. "
"""Stands in all documents again and again, so that a search for it finds the wrong place."""
NAMES = ("seals.md", "seals.html", "seals.txt", "seals.docx", "seals.pptx")


@built_once
def of_all_formats(home):
    made = project.make(home, documents=1, rows=4)
    text = made.file.read_text()
    text = text.replace("size: 48, overlap: 0", "size: 48, overlap: 12")
    made.file.write_text(f"{text}execution: {{parsing: in_process}}\n")
    parts = [f"Pump {number} has {number + 2} seals. {SAID * 6}" for number in range(4)]
    made.write("seals.txt", "\n\n".join(parts))
    made.write("seals.md", "# Seals\n\n" + "\n\n".join(f"## Part\n\n{part}" for part in parts))
    body = "".join(f"<h2>Part</h2><p>{part}</p>" for part in parts)
    table = (
        "<table><tr><th>Seal</th><th>Bar</th></tr><tr><td>S&lt;1&gt;</td><td>16</td></tr></table>"
    )
    made.write("seals.html", f"<html><body><h1>Seals</h1>{body}{table}</body></html>")
    document, slides = docx.Document(), pptx.Presentation()
    for part in parts:
        document.add_paragraph(part)
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = "Part", part
    document.save(made.documents / "seals.docx")
    slides.save(made.documents / "seals.pptx")
    for name in ("seals.docx", "seals.pptx"):
        project.age(made.documents / name)
    with hashing():
        refresh(made.config)
    return made


@pytest.fixture
def made(tmp_path, monkeypatch):
    found = of_all_formats(tmp_path / "project")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(found.file))
    return found


def units(made, where):
    joint = made.config.tables_of("default").joint
    return made.store.read(joint, where=where).sort_by("index").to_pylist()


@pytest.mark.parametrize("name", NAMES)
def test_a_passage_and_what_stands_around_it_is_the_text_of_the_document(made, name):
    chunks = units(made, f"uri = '{name}'")
    tables = made.config.tables_of("default")
    [owner] = {each["document_id"] for each in chunks}
    text = texts_of(made.store, elements=tables.elements, descriptions=None, documents=[owner])
    whole = text[owner]
    assert len(chunks) > 3

    for chunk in chunks:
        found = find_unit(made.store, made.config, unit_id=chunk["unit_id"])
        excerpt = excerpt_of(made.store, found.complete_set, found.row)

        start, end = chunk["char_start"], chunk["char_end"]
        assert excerpt.passage == whole[start:end]
        assert "".join(whole[:start].split()).endswith("".join(excerpt.before.split()))
        assert "".join(whole[end:].split()).startswith("".join(excerpt.after.split()))
        assert bool(excerpt.before) == (start > 0)
        assert bool(excerpt.after) == (end < len(whole))


def test_it_is_printed_with_the_passage_marked(made, capsys):
    second = units(made, "uri = 'seals.docx'")[1]
    assert cli.main(["show", second["unit_id"][:8]]) == OK

    head, *lines = capsys.readouterr().out.splitlines()
    said = " ".join("\n".join(lines).split())
    assert head.startswith("seals.docx")
    _, passage, _ = said.split("**")
    assert passage == " ".join(second["text"].split())


def test_a_search_shows_the_id_that_the_commands_take_and_no_score(made, capsys):
    assert cli.main(["search", "seals of pump 2", "--top-k", "1"]) == OK
    head = capsys.readouterr().out.splitlines()[0]
    assert "score" not in head
    start = head.rpartition("[")[2].removesuffix("]")

    for options in ([], ["--lineage"]):
        assert cli.main(["show", start, *options]) == OK
        assert "seals." in capsys.readouterr().out.splitlines()[0]


def test_it_is_written_as_a_web_page_in_which_all_words_are_escaped(made, capsys, tmp_path):
    [table] = units(made, "type = 'table'")
    file = tmp_path / "hit.html"
    assert cli.main(["show", table["unit_id"], "--out", str(file)]) == OK

    page = file.read_text("utf-8")
    before, passage = page.partition("</mark>")[0].split('<mark class="light">')
    assert "S&lt;1&gt;" in passage
    assert SAID in before
    assert str(file) in capsys.readouterr().out


def test_the_row_of_a_table_is_shown_with_its_cells(made, capsys):
    [row] = units(made, "`table` = 'tests' AND row_key = '2'")
    assert cli.main(["show", row["unit_id"][:8], "--json"]) == OK

    record = json.loads(capsys.readouterr().out)
    assert record["passage"] == "name: steel 2\nload: 0.5\ngrade: 2"
    assert record["place"] == "laboratory/tests, row 2"


def test_a_table_is_printed_in_words(made, capsys):
    [table] = units(made, "type = 'table'")
    assert cli.main(["show", table["unit_id"]]) == OK
    assert capsys.readouterr().out.endswith("\nSeal: S<1>; Bar: 16\n")


@pytest.mark.parametrize(
    ("where", "options", "said"),
    [
        ("uri = 'seals.md'", ["--out", "page.png"], "`--out FILE.html` shows its text"),
        ("`table` = 'tests'", ["--out", "page.png"], "has no page: give --out FILE.html"),
        ("uri = 'seals.md'", ["--page", "1"], "with --out FILE.png"),
    ],
)
def test_what_has_no_picture_says_what_can_be_shown(made, capsys, where, options, said):
    unit = units(made, where)[0]["unit_id"]
    assert cli.main(["show", unit, *options]) == FAILED
    assert said in capsys.readouterr().err


def test_a_start_that_no_id_has_is_refused_alike(made, capsys):
    said = []
    for options in ([], ["--lineage"]):
        assert cli.main(["show", "00000000", *options]) == FAILED
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    assert "no unit of variant default has an id that begins with 00000000" in said[0]
