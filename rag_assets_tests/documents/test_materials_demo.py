"""Real documents: quoted evidence is found on the page that the questions name."""

import json
import os
import shutil
import unicodedata
from collections import defaultdict
from pathlib import Path

import pytest

from rag_assets_testing.documents.making import Project

DATA = Path(
    os.environ.get("RAG_ASSETS_SHARED_DATA") or Path(__file__).parents[2].parent / "shared" / "data"
)
DEMO = DATA / "materials_demo"
PAGED = ".pdf"
SCAN = "freefem_manual_scan.pdf"

pytestmark = pytest.mark.skipif(
    not DEMO.is_dir(), reason=f"there is no {DEMO}: point RAG_ASSETS_SHARED_DATA at the data"
)


def letters(text):
    """What the data set compares: letters and digits, since line breaks and ligatures differ."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The documents whose text is read as it lies in them, in the process."""
    return built(tmp_path_factory.mktemp("demo"), but=SCAN)


def built(folder: Path, *, but: str = "", **settings: str) -> Project:
    project = Project(folder, **settings)
    project.execution["parsing"] = "in_process"
    for path in [*DEMO.glob("docs/*.pdf"), *DEMO.glob("docs/**/*.md")]:
        if path.name == but:
            continue
        target = project.folder / path.relative_to(DEMO / "docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    project.list_files()
    project.parse()
    project.chunk()
    return project


@pytest.fixture(scope="module")
def evidence():
    """(uri, page, quoted text) of the questions on PDF and Markdown."""
    lines = (DEMO / "documents.jsonl").read_text("utf-8").splitlines()
    uris = {row["doc_id"]: row["path"].removeprefix("docs/") for row in map(json.loads, lines)}
    lines = (DEMO / "questions.jsonl").read_text("utf-8").splitlines()
    quotes = [
        (uris[quote["doc_id"]], quote.get("page"), letters(quote["text"]))
        for question in map(json.loads, lines)
        for quote in question.get("evidence") or []
        if quote.get("text")
    ]
    return [quote for quote in quotes if quote[0].endswith((".pdf", ".md"))]


def test_nothing_is_lost(demo):
    assert demo.parse().failures == []
    assert demo.parse().contents == 0
    accounts = {row["document_id"]: row for row in demo.accounts.rows()}
    assert sum(row["pages"] or 0 for row in accounts.values()) == sum(
        row["parsed"] for row in accounts.values() if row["pages"]
    )


@pytest.mark.nightly(guards=["rag_assets/documents/parsers/ocr"])
def test_the_scan_is_read(tmp_path, evidence):
    demo = built(tmp_path, ocr="rapidocr")
    assert demo.parse().failures == []
    accounts = {row["document_id"]: row for row in demo.accounts.rows()}
    scan = accounts[demo.id_of(SCAN)]
    assert (scan["scanned"], scan["lost_pages"], scan["language"]) == ("1-3", 0, "en")
    text = " ".join(row["text"] for row in demo.elements(SCAN))
    assert "The triangulation is created by a Delaunay-Voronoi method" in text
    found = on_its_page(demo, evidence)
    assert sum(found) >= 0.98 * len(found)


def test_the_bilingual_pages_are_read_column_by_column(tmp_path):
    pytest.importorskip("pymupdf")
    project = Project(tmp_path, engine="pymupdf")
    shutil.copy(DEMO / "docs" / "epd_material_properties_en_sv.pdf", project.folder)
    project.list_files()
    project.parse()
    for page in (1, 2):
        found = [
            row["language"]
            for row in project.elements()
            if row["page"] == page and row["language"] and row["type"] != "page_footer"
        ]
        assert found == sorted(found), "English, then Swedish"
        assert {"en", "sv"} == set(found)


def on_its_page(demo, evidence) -> list[bool]:
    pages = defaultdict(str)
    for row in demo.elements():
        pages[row["document_id"], row["page"]] += letters(row["text"])
    return [
        quote in pages[demo.id_of(uri), page if uri.endswith(PAGED) else None]
        for uri, page, quote in evidence
    ]


def test_evidence_is_on_its_page(demo, evidence):
    found = on_its_page(demo, evidence)
    assert len(found) > 100
    assert sum(found) >= 0.98 * len(found)


def test_evidence_is_whole_in_a_chunk_of_its_page(demo, evidence):
    chunks = defaultdict(list)
    for row in demo.chunks():
        chunks[row["document_id"]].append((row["pages"], letters(row["text"])))
    found = [
        any(
            quote in text and (page in pages or not uri.endswith(PAGED))
            for pages, text in chunks[demo.id_of(uri)]
        )
        for uri, page, quote in evidence
    ]
    assert sum(found) >= 0.9 * len(found)
