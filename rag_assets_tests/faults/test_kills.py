"""kill -9 of a refresh, of an index build, of worker processes, and in the middle of a commit."""

import itertools
import os
import shutil
import signal
from pathlib import Path

import pyarrow as pa
import pytest

from rag_assets.store import Store
from rag_assets.store.table_locations import remove_folder
from rag_assets.workers import pool
from rag_assets_testing import effort
from rag_assets_testing.documents import making
from rag_assets_testing.faults import built, comparing, project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.kills import said_by, until
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project

ROWS = pa.table({"key": ["a", "b"]})
MOST_TRIES = 5


@effort.sweep(6)
def test_killed_refreshes_and_index_builds_lose_and_double_nothing(killing, seed):
    killing.random.seed(seed)
    killing.kill_a_refresh(times=2)
    killing.kill_an_index_build()
    for _ in range(MOST_TRIES):
        if not killing.tally.kills:  # each run had ended before its moment came
            killing.kill_a_refresh()

    tally = killing.tally
    assert (tally.lost, tally.doubled, tally.embedded_again) == ([], [], [])
    assert tally.forgotten == []
    assert tally.kills, said_by(killing.project)


def test_a_table_whose_first_commit_was_killed_is_made_again(tmp_path):
    store = Store(tmp_path)
    (store.root / "lance" / "words.lance" / "_versions").mkdir(parents=True)
    (store.root / "lance" / "words.lance" / "_versions" / "1.manifest#1").touch()

    assert not store.exists("words")
    assert store.names() == []
    store.append("words", ROWS, schema=ROWS.schema)
    assert store.count("words") == 2


def test_a_table_whose_removal_was_killed_is_whole_or_gone(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.append("words", ROWS, schema=ROWS.schema)

    def half_removed(folder: Path) -> None:
        if folder.exists():
            shutil.rmtree(folder / "data")
            raise KeyboardInterrupt

    monkeypatch.setattr("rag_assets.store.table_locations.remove_folder", half_removed)
    with pytest.raises(KeyboardInterrupt):
        store.drop("words")
    monkeypatch.setattr("rag_assets.store.table_locations.remove_folder", remove_folder)

    assert not store.exists("words")
    store.append("words", ROWS, schema=ROWS.schema)
    store.drop("words")
    assert list((store.root / "lance").glob("*words*")) == [], (
        "what the killed removal left is gone too"
    )
    assert list((store.root / "lance").glob(".words*")) == []


def test_a_damaged_record_of_a_pass_only_costs_another_pass(tmp_path):
    made = built.small(tmp_path)
    records = ("completed/*.json", "exports/*/*.json", "indexes/*.json", "looks/*.parquet")
    with hashing():
        undisturbed = comparing.contents(made.config.state_dir)
        damages = itertools.cycle([b"", b"[1]", b"\xff\x00\xfe"])
        for kind in records:
            for path in made.config.state_dir.glob(kind):
                path.write_bytes(next(damages))
        reports = refresh(made.config)
        assert not any(report.touched or report.failed for report in reports)
    assert comparing.contents(made.config.state_dir) == undisturbed


def test_killed_workers_are_named_and_their_documents_are_parsed_by_the_next_refresh(
    tmp_path, monkeypatch
):
    made = with_pdfs(tmp_path, count=2)
    give, given = pool._WorkerProcess.give, []

    def give_and_kill(worker, task):
        give(worker, task)
        given.append(task.key)
        if task.key == given[0]:
            os.kill(worker.process.pid, signal.SIGKILL)

    with hashing():
        with monkeypatch.context() as fire:
            fire.setattr(pool._WorkerProcess, "give", give_and_kill)
            reports = {report.target: report for report in refresh(made.config)}
        report = reports[made.config.tables_of("default").elements]
        failures = report.failures
        assert (len(failures), report.added) == (1, report.contents - 1), "the others are parsed"
        assert {failure.kind for failure in failures} == {"environment"}
        assert all("SIGKILL" in item.reason and "next refresh" in item.reason for item in failures)

        assert not any(report.failed for report in refresh(made.config))
    chunks = made.store.read(made.config.tables_of("default").chunks, columns=["uri"])
    assert set(chunks["uri"].to_pylist()) >= {"0.pdf", "1.pdf"}


def test_no_worker_outlives_a_killed_refresh(tmp_path, runs):
    made = with_pdfs(tmp_path, count=8)
    process = runs.start(made.home)
    workers: list[int] = []

    def is_parsing() -> bool:
        workers[:] = children_of(process.pid)
        return bool(workers) or not process.is_alive()

    until(is_parsing)
    assert workers, said_by(made)
    process.kill()
    process.join()
    until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers), seconds=20)


def with_pdfs(home: Path, *, count: int) -> Project:
    """A project whose documents are parsed in processes of their own."""
    made = project.make(home, documents=1, rows=2)
    for number in range(count):
        making.pdf(made.documents / f"{number}.pdf", [f"Page one of {number}", "Page two"])
        project.age(made.documents / f"{number}.pdf")
    return made


def children_of(process: int) -> list[int]:
    """Processes that `process` started and that have their own program running."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            program = (path / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == process and b"rag_assets.workers" in program:
            found.append(int(path.name))
    return found
