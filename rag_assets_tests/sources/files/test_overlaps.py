"""Tabular files among the documents are documents or rows, never both and never neither."""

from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rag_assets import schemas
from rag_assets.config import DocumentSource, TableSource
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets_testing.exported import tables as exported_tables
from rag_assets_tests.sources.conftest import settle


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "reports"
    path.mkdir()
    (path / "note.md").write_text("# A note")
    settle(path / "note.md", seconds=60)
    workbook(path / "steels.xlsx", "Plates", "Bars")
    workbook(path / "letter.xlsx", "Sheet")
    return path


def workbook(path: Path, *sheets: str) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
        for row in (("steel", "yield"), ("S355", 355), ("S690", 690)):
            sheet.append(row)
    book.save(path)
    settle(path, seconds=60)


def refreshed(store, folder: Path, *patterns: str):
    """The documents, the tables, and what failed."""
    tables = [TableSource(url=str(folder), tables=list(patterns))] if patterns else []
    documents = [DocumentSource(url=str(folder))]
    report = refresh_document_files(
        store, documents, tables=tables, allow_shrink=True, log=lambda _: None
    )
    for source in tables:
        refresh_exports(store, source, allow_shrink=True, log=lambda _: None)
    held = store.read(schemas.DOCUMENT_FILES_TABLE, columns=["uri"])["uri"].to_pylist()
    return sorted(held), [table for _, table in exported_tables(store)], report.failures


def test_a_workbook_that_a_table_source_takes_is_no_document(store, folder):
    documents, tables, failures = refreshed(store, folder, "steels*")
    assert documents == ["letter.xlsx", "note.md"]
    assert tables == ["steels.Bars", "steels.Plates"]
    assert not failures


@pytest.mark.parametrize("name", ["bolts.csv", "bolts.TSV", "bolts.parquet"])
def test_a_file_that_a_table_source_takes_is_no_document(store, folder, name):
    path = folder / name
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"bolt": ["M8"]}), path)
    else:
        path.write_text("bolt\nM8\n")
    settle(path, seconds=60)
    assert name in refreshed(store, folder, "steels*")[0]
    assert refreshed(store, folder, "bolts") == (
        ["letter.xlsx", "note.md", "steels.xlsx"],
        ["bolts"],
        [],
    )


def test_it_goes_with_its_rows_and_comes_back_as_a_document(store, folder):
    everything = ["letter.xlsx", "note.md", "steels.xlsx"]
    assert refreshed(store, folder)[0] == everything
    assert refreshed(store, folder, "steels*")[0] == everything[:2]
    assert refreshed(store, folder)[0] == everything
    (folder / "steels.xlsx").unlink()
    assert refreshed(store, folder, "steels*")[:2] == (everything[:2], [])


def test_a_workbook_that_is_taken_in_part_is_refused(store, folder):
    documents, tables, [failure] = refreshed(store, folder, "*.Bars")
    assert documents == ["letter.xlsx", "note.md"]
    assert tables == ["steels.Bars"]
    assert failure.label == "documents/steels.xlsx"
    assert failure.reason == (
        "steels.xlsx: some of its sheets are rows of the source tables, but not steels.Plates: "
        "let that source take all of them, or none"
    )


def test_tables_elsewhere_have_no_say(store, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    workbook(other / "steels.xlsx", "Plates")
    tables = [TableSource(url=str(other)), TableSource(name="gone", url=str(tmp_path / "gone"))]
    report = refresh_document_files(
        store,
        [DocumentSource(url=str(folder))],
        tables=tables,
        allow_shrink=False,
        log=lambda _: None,
    )
    assert (report.added, report.failed) == (3, 0)
