"""Two refreshes, a reader and a person who edits the config, all at the same time."""

import threading

from rag_assets.retrieval.search import open_index
from rag_assets_tests.faults import comparing, project
from rag_assets_tests.faults.hashing import HashEncoder, hashing
from rag_assets_tests.faults.kills import said_by, until, write_edition
from rag_assets_tests.faults.pipeline import refresh
from rag_assets_tests.faults.project import Project


def fresh(made: Project, name: str) -> comparing.Rows:
    with hashing():
        refresh(made.config_with(made.home / name))
    return comparing.contents(made.home / name)


def test_two_refreshes_at_once_do_the_work_of_one(tmp_path, runs):
    made = project.make(tmp_path, documents=6, rows=20)
    ledger = tmp_path / "ledger"
    both = [runs.start(tmp_path, ledger=ledger) for _ in range(2)]
    for process in both:
        process.join()

    assert [process.exitcode for process in both] == [0, 0], said_by(made)
    assert "is being refreshed by process" in said_by(made)
    embedded = comparing.written_down(ledger)
    assert sorted(embedded) == sorted(set(embedded))
    assert comparing.contents(tmp_path / "state") == fresh(made, "fresh")


def test_a_reader_sees_whole_commits_and_keeps_its_version(tmp_path, runs):
    made = project.make(tmp_path, documents=6, rows=20)
    write_edition(made, 1)
    first = fresh(made, "state")
    write_edition(made, 2)
    second = fresh(made, "fresh2")
    joint = made.config.tables_of("default").joint
    known = {row for rows in (first, second) for row in rows[joint]}
    pinned = open_index(made.store, made.config, "default", encoder=HashEncoder(None))
    before = [hit.text for hit in pinned.search("steel of edition 1")]
    seen: list[int] = []
    strange: list[str] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            index = open_index(made.store, made.config, "default", encoder=HashEncoder(None))
            rows = index.table.to_arrow()
            strange.extend(
                row["unit_id"]
                for row in rows.to_pylist()
                if (row["unit_id"], repr(row)) not in known
            )
            seen.append(len(index.search("steel tested")))

    reader = threading.Thread(target=read)
    reader.start()
    process = runs.start(tmp_path)
    process.join()
    ended.set()
    reader.join()

    assert process.exitcode == 0, said_by(made)
    assert seen
    assert all(seen)
    assert strange == []
    assert [hit.text for hit in pinned.search("steel of edition 1")] == before
    assert comparing.contents(tmp_path / "state") == second


def test_a_config_that_changes_mid_run_counts_from_the_next_run_on(tmp_path, runs):
    made = project.make(tmp_path, documents=6, rows=20)
    old = fresh(made, "old")
    process = runs.start(tmp_path)
    until(lambda: made.store.exists("document_files") or not process.is_alive())
    text = made.file.read_text()
    made.file.write_text(text.replace("size: 48", "size: 32") + "tables: {empty_cells: keep}\n")
    process.join()
    assert process.exitcode == 0, said_by(made)
    assert comparing.contents(tmp_path / "state") == old

    with hashing():
        reports = refresh(made.config)
    assert any(report.changed for report in reports)
    assert comparing.contents(tmp_path / "state") == fresh(made, "new")
