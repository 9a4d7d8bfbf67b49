"""Two refreshes, a reader and a person who edits the config, all at the same time."""

import threading

from rag_assets.retrieval.opening import open_index
from rag_assets_testing.faults import comparing
from rag_assets_testing.faults.hashing import HashEncoder, hashing
from rag_assets_testing.faults.kills import said_by, until
from rag_assets_testing.faults.pipeline import refresh


def test_two_refreshes_at_once_do_the_work_of_one(killing, runs):
    killing.turn_over()
    made, ledger = killing.project, killing.project.home / "ledger"
    ledger.unlink(missing_ok=True)
    both = [runs.start(made.home, ledger=ledger) for _ in range(2)]
    for process in both:
        process.join()

    assert [process.exitcode for process in both] == [0, 0], said_by(made)
    assert "waiting for process" in said_by(made)
    embedded = comparing.written_down(ledger)
    assert embedded
    assert sorted(embedded) == sorted(set(embedded))
    assert comparing.contents(made.home / "state") == killing.fresh


def test_a_reader_sees_whole_commits_and_keeps_its_version(killing, runs):
    made = killing.project
    joint = made.config.tables_of("default").joint
    known = set(comparing.contents(made.home / "state")[joint])
    pinned = open_index(made.store, made.config, "default", encoder=HashEncoder(None))
    before = [hit.text for hit in pinned.search("steel of edition")]
    killing.turn_over()
    known.update(killing.fresh[joint])
    seen: list[int] = []
    strange: list[str] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.wait(0.05):
            index = open_index(made.store, made.config, "default", encoder=HashEncoder(None))
            table = made.store.read(joint)
            rows = table.select(sorted(table.column_names)).to_pylist()
            found = [row["unit_id"] for row in rows if (row["unit_id"], repr(row)) not in known]
            strange.extend(found)
            seen.append(len(index.search("steel tested")))

    reader = threading.Thread(target=read)
    reader.start()
    process = runs.start(made.home)
    process.join()
    ended.set()
    reader.join()

    assert process.exitcode == 0, said_by(made)
    assert seen
    assert all(seen)
    assert strange == []
    assert [hit.text for hit in pinned.search("steel of edition")] == before
    assert comparing.contents(made.home / "state") == killing.fresh


def test_a_config_that_changes_mid_run_counts_from_the_next_run_on(killing, runs):
    killing.turn_over()
    made = killing.project
    text = made.file.read_text()
    process = runs.start(made.home)
    until(lambda: not made.store.completion("document_files") or not process.is_alive())
    made.file.write_text(text.replace("size: 48", "size: 32") + "tables: {empty_cells: keep}\n")
    process.join()
    assert process.exitcode == 0, said_by(made)
    assert comparing.contents(made.home / "state") == killing.fresh

    with hashing():
        reports = refresh(made.config)
        refresh(made.config_with(made.home / "other"))
    tables = comparing.tables_of(made.config)
    made.file.write_text(text)
    assert any(report.added for report in reports)
    ours, fresh = (
        comparing.contents(made.home / name, tables=tables) for name in ("state", "other")
    )
    assert ours == fresh
