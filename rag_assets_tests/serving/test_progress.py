"""Lines of progress speak of steps and sources as people do."""

import logging

import pytest

from rag_assets import config as configuration
from rag_assets.automation import BACKFILL_JOB, NIGHTLY_JOB
from rag_assets.config import Config
from rag_assets.definitions import definitions
from rag_assets.serving.progress import ProgressHandler, step_in_words, without_hashes, wording
from rag_assets_testing import small_project

SOURCES = {
    "documents": [{"name": "handbook", "url": "a"}, {"name": "offers", "url": "b"}],
    "tables": [{"name": "test-lab", "url": "c"}],
}


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("document_files", "Looking at the files of handbook, offers"),
        ("exports_test_lab", "Reading the tables of test-lab"),
        ("source_readable_test_lab", "Checking that test-lab can be read"),
        ("source_readable_document_files", "Checking that handbook, offers can be read"),
        ("chunk_vectors", "Embedding passages"),
        ("check_chunk_vectors", "Checking: chunk vectors"),
        ("something_else", "something else"),
    ],
)
def test_a_step_is_told_by_what_it_does(key, said):
    assert step_in_words(key, Config.model_validate({"sources": SOURCES})) == said


def test_every_step_of_a_refresh_has_words(tmp_path):
    config = configuration.load(small_project.make(tmp_path) / configuration.DEFAULT_FILE)
    graph = definitions(config)
    steps = {
        node.name
        for job in (NIGHTLY_JOB, BACKFILL_JOB)
        for node in graph.resolve_job_def(job).nodes
    }
    beginnings = tuple(wording().beginnings)

    assert len(steps) > 20
    assert [
        step for step in steps - wording().steps.keys() if not step.startswith(beginnings)
    ] == []


def test_no_line_has_the_hash_of_a_table():
    tables = Config().tables_of("default")
    names = [getattr(tables, name) for name in tables.__dataclass_fields__]
    said = without_hashes(f"{', '.join(names)} are built again: sources/documents__old is not")

    assert said == (
        "elements, accounts, families, descriptions, chunks, rows as text, passages, rows, "
        "passages and rows, unit links are built again: sources/documents__old is not"
    )


def test_a_message_of_a_step_stands_below_it_in_words():
    lines: list[str] = []
    handler = ProgressHandler(lines.append, Config())
    message = f"{Config().tables_of('default').documents}: 2 of 2 texts embedded"
    handler.emit(logging.LogRecord("", logging.INFO, "", 0, message, None, None))

    assert lines == ["  passages: 2 of 2 texts embedded"]
