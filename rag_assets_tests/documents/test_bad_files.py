"""Bad files: each has a status, damaged ones too, and no worker is left behind."""

import random
import zipfile
from pathlib import Path

import pytest

from rag_assets.documents.parsers.description import ParseError
from rag_assets.documents.parsers.office import archives
from rag_assets_testing import effort
from rag_assets_testing.documents import bad_files

SLOW = {"deep.html"}
"""A minute of docling; the benchmark has it."""


def children():
    return {
        int(number)
        for file in Path("/proc/self/task").glob("*/children")
        for number in file.read_text().split()
    }


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    return folder, bad_files.write_all(folder, many_pages=30)


@pytest.mark.parametrize(
    ("engine", "suffixes"), [("pdfium", ".pdf .docx .html"), ("pymupdf", ".pdf")]
)
def test_each_bad_file_has_the_status_that_it_deserves(project, matrix, engine, suffixes):
    pytest.importorskip(engine if engine == "pymupdf" else "pypdfium2")
    project.settings["engine"] = engine
    project.execution["workers"] = 1
    folder, every = matrix
    expected = {
        name: words
        for name, words in every.items()
        if Path(name).suffix in suffixes.split() and name not in SLOW
    }
    for name in expected:
        project.write(name, (folder / name).read_bytes())
    project.list_files()
    before = children()
    report = project.parse()
    found = {failure.label: failure.reason for failure in report.failures}
    held = {row["document_id"] for row in project.elements()}
    for name, words in expected.items():
        if words and words != "*":
            assert words in found.get(name, "parsed"), name
        else:
            assert project.id_of(name) in held or (words and name in found), found.get(name)
    assert children() <= before


@effort.sweep(4)
def test_damaged_files_end_no_run(project, seed):
    by, count = random.Random(seed), 60 if effort.is_night() else 15
    project.execution["workers"] = 1
    seeds = bad_files.seeds(project.folder.parent / "seeds")
    for number in range(count):
        seed = seeds[number % len(seeds)]
        project.write(f"{number:03d}{seed.suffix}", bad_files.mutated(seed, by=by))
    project.list_files()
    before = children()
    report = project.parse()
    held = {row["document_id"] for row in project.elements()}
    failed = {failure.key for failure in report.failures}
    documents = {project.id_of(path.name) for path in project.folder.iterdir()}
    assert documents == held | failed
    assert children() <= before


def test_a_sound_office_file_is_looked_into(tmp_path):
    found = archives.inspected(str(bad_files.slides(tmp_path / "a.pptx")))
    assert found.slides == 2
    assert found.xml_bytes > 10_000


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused_in_every_encoding(tmp_path, encoding):
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", bad_files.ENTITIES.encode(encoding))
    with pytest.raises(ParseError, match=r"declares entities of its own in word/document\.xml"):
        archives.inspected(str(path))


def test_a_prolog_that_never_ends_is_refused(tmp_path):
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", "<!-- " + "x" * 100_000)
    with pytest.raises(ParseError, match="declares entities"):
        archives.inspected(str(path))


def test_the_whole_of_an_archive_counts_with_what_lies_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST_UNPACKED", 50_000)
    path = tmp_path / "a.docx"
    inner = tmp_path / "inner.xlsx"
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", "x" * 60_000)
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(inner, "word/embeddings/inner.xlsx")
    with pytest.raises(ParseError, match="unpacks to more"):
        archives.inspected(str(path))
