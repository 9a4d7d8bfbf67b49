"""What a clean-up removes, and above all what it leaves."""

import multiprocessing
import os
import signal
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from rag_assets.store import MissingTableError, Store
from rag_assets.store import clean_up as cleaning
from rag_assets.store.clean_up import clean_up, clean_up_all
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.search_indexes import COMMON_TEXT_INDEX
from rag_assets_testing import effort

SCHEMA = pa.schema(
    [
        pa.field("key", pa.string()),
        pa.field("text", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), 8)),
    ]
)
TABLE = "t"
ROWS = 500
NOW = timedelta(0)
LONG = timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def rows(edition: int, *, start: int = 0, count: int = ROWS) -> pa.Table:
    return pa.table(
        {
            "key": [f"{start + number}" for number in range(count)],
            "text": [f"steel edition{edition} number{number}" for number in range(count)],
            "vector": [[float(edition)] * 7 + [float(number)] for number in range(count)],
        },
        schema=SCHEMA,
    )


def write(store: Store, *, edition: int) -> int:
    """Let the table hold `edition`, as a refresh does; returns its version."""
    new = rows(edition)
    if store.exists(TABLE):
        store.replace(TABLE, new, group="key", groups=new["key"].to_pylist())
    else:
        store.append(TABLE, new, schema=SCHEMA)
    return store.version(TABLE)


def edition_of(store: Store, *, version: int | None = None) -> set[str]:
    texts = store.read(TABLE, columns=["text"], version=version)["text"].to_pylist()
    return {text.split()[1] for text in texts}


def versions(store: Store) -> list[int]:
    return [int(found["version"]) for found in store.open(TABLE).to_lance().versions()]


def size(store: Store) -> int:
    return sum(path.stat().st_size for path in (store.root / "lance").rglob("*") if path.is_file())


def cleaned(store: Store, *, older_than: timedelta = NOW) -> cleaning.Cleaned:
    return clean_up(store, TABLE, older_than=older_than, log=print)


def test_versions_that_nothing_needs_go_and_their_bytes_come_free(store):
    for edition in range(10):
        write(store, edition=edition)
    before = size(store)

    done = cleaned(store)

    assert (done.removed, done.kept, done.tagged) == (9, 1, 0)
    assert len(versions(store)) == 1
    assert before - size(store) == pytest.approx(done.bytes_freed, rel=0.1)
    assert size(store) < before / 4
    assert edition_of(store) == {"edition9"}
    assert cleaned(store).removed == 0


def test_a_tagged_version_survives_and_still_answers_queries(store):
    from lancedb.index import FTS
    from lancedb.query import MatchQuery

    write(store, edition=0)
    store.open(TABLE).create_index("text", config=FTS(), name=COMMON_TEXT_INDEX)
    pinned = store.version(TABLE)
    store.open(TABLE).tags.create("serving", pinned)
    for edition in range(1, 6):
        write(store, edition=edition)

    done = cleaned(store)

    assert (done.removed, done.kept, done.tagged) == (5, 2, 1)
    assert versions(store) == [pinned, store.version(TABLE)]
    held = store.open(TABLE, version=pinned)
    assert edition_of(store, version=pinned) == {"edition0"}
    found = held.search(MatchQuery("number7", "text"), query_type="fts").to_list()
    assert [hit["key"] for hit in found] == ["7"]
    near = held.search([0.0] * 7 + [3.0], vector_column_name="vector").limit(1).to_list()
    assert [hit["key"] for hit in near] == ["3"]

    store.open(TABLE).tags.delete("serving")
    assert cleaned(store).removed == 1
    assert versions(store) == [store.version(TABLE)]


def test_a_reader_keeps_its_version_however_long_ago_that_was_written(store):
    """What counts is when the version was replaced: its reader began before that."""
    write(store, edition=0)
    read = write(store, edition=1)
    reader = store.open(TABLE, version=read)
    time.sleep(1.5)
    write(store, edition=2)

    done = cleaned(store, older_than=timedelta(seconds=1))

    assert (done.removed, versions(store)[0]) == (1, read)
    assert reader.count_rows("text LIKE '%edition1%'") == ROWS
    near = reader.search([1.0] * 7 + [3.0], vector_column_name="vector").limit(1).to_list()
    assert near[0]["text"] == "steel edition1 number3"


def test_a_clock_that_was_set_back_makes_no_version_look_unused(store, monkeypatch):
    first, second = (write(store, edition=edition) for edition in range(2))
    dataset = store.open(TABLE).to_lance()
    by_number = {int(found["version"]): found for found in dataset.versions()}
    back = by_number[second] | {"timestamp": by_number[first]["timestamp"] - timedelta(days=30)}
    monkeypatch.setattr(type(dataset), "versions", lambda _: [by_number[first], back])

    assert cleaned(store, older_than=LONG).removed == 0
    assert edition_of(store, version=first) == {"edition0"}


def test_versions_of_a_clock_that_was_set_back_count_from_the_latest_time_before_them(
    store, monkeypatch
):
    written = [write(store, edition=edition) for edition in range(3)]
    dataset = store.open(TABLE).to_lance()
    by_number = {int(found["version"]): found for found in dataset.versions()}
    month = timedelta(days=30)
    set_back = [
        found | {"timestamp": found["timestamp"] - month * (number in written[1:])}
        for number, found in by_number.items()
    ]
    monkeypatch.setattr(type(dataset), "versions", lambda _: set_back)

    assert cleaned(store, older_than=LONG).removed == 0
    assert edition_of(store, version=written[1]) == {"edition1"}


def test_files_of_killed_writers_go_though_no_version_does(store):
    write(store, edition=0)
    data = store.root / "lance" / f"{TABLE}.lance" / "data"
    before = size(store)
    for left in (f"{'0' * 24}{'a' * 26}.lance", ".tmpAbC123"):
        (data / left).write_bytes(b"0" * 10_000)

    done = cleaned(store)

    assert (done.removed, done.bytes_freed) == (0, 20_000)
    assert size(store) == before
    assert edition_of(store) == {"edition0"}


def test_many_small_fragments_are_merged_and_few_are_left(store):
    for part in range(cleaning.SMALL_FRAGMENTS):
        store.append(TABLE, rows(0, start=100 * part, count=100), schema=SCHEMA)
    assert cleaned(store).merged == 0

    store.append(TABLE, rows(0, start=100_000, count=100), schema=SCHEMA)
    before = store.read(TABLE).sort_by("key")
    assert cleaned(store).merged == cleaning.SMALL_FRAGMENTS + 1
    assert len(store.open(TABLE).to_lance().get_fragments()) == 1
    assert store.read(TABLE).sort_by("key").equals(before)


def test_what_deletions_left_in_a_large_part_is_written_anew(store):
    write(store, edition=0)
    store.delete(TABLE, column="key", keys=[str(number) for number in range(ROWS // 4)])

    assert cleaned(store).merged == 1
    assert store.count(TABLE) == ROWS - ROWS // 4
    assert cleaned(store).merged == 0


def test_a_full_text_index_finds_its_rows_after_a_merge(store):
    from lancedb.index import FTS
    from lancedb.query import MatchQuery

    for part in range(cleaning.SMALL_FRAGMENTS + 5):
        store.append(TABLE, rows(part, start=100 * part, count=100), schema=SCHEMA)
    store.open(TABLE).create_index("text", config=FTS(), name=COMMON_TEXT_INDEX)

    assert cleaned(store).merged
    search = store.open(TABLE).search(MatchQuery("edition7", "text"), query_type="fts")
    assert len(search.limit(1000).to_list()) == 100
    assert store.open(TABLE).list_indices()[0].num_unindexed_rows == 0


def test_all_tables_are_cleaned_and_those_of_the_last_hour_stay(store):
    for name in ("a", "b"):
        for _ in range(3):
            store.append(name, rows(0), schema=SCHEMA)

    done = list(clean_up_all(store, keep_days=0, log=print))

    assert [(one.table, one.removed, one.kept) for one in done] == [("a", 0, 3), ("b", 0, 3)]


def test_a_damaged_table_is_named_and_the_others_are_cleaned_up(store):
    for name in ("a", "b", "c"):
        store.append(name, rows(0), schema=SCHEMA)
        store.delete(name, column="key", keys=[str(number) for number in range(ROWS // 4)])
    for manifest in (store.root / "lance" / "b.lance" / "_versions").glob("*.manifest"):
        manifest.write_bytes(manifest.read_bytes()[:40])
    done = []

    with pytest.raises(DamagedTablesError, match=r"cannot be read: b \(.*delete the folder"):
        done.extend(clean_up_all(store, keep_days=0, log=print))

    assert [(one.table, one.merged) for one in done] == [("a", 1), ("c", 1)]


def test_a_clean_up_that_is_stopped_ends_with_the_table_that_it_was_at(store, monkeypatch):
    for name in ("a", "b"):
        store.append(name, rows(0), schema=SCHEMA)
    begun = []

    def interrupted(store, table, **options):
        begun.append(table)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise OSError("Interrupted") from None  # as Lance calls it

    monkeypatch.setattr(cleaning, "clean_up", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(clean_up_all(store, keep_days=0, log=print))
    assert begun == ["a.1"]


def test_an_error_without_words_is_named_by_its_kind():
    assert "t (OSError)" in str(DamagedTablesError({"t": OSError()}))


def test_a_table_that_is_not_there_is_named(store):
    with pytest.raises(MissingTableError, match="no table t"):
        cleaned(store)


MOMENTS = (0.0, 0.004, 0.012) if effort.is_night() else (0.004,)
"""Seconds after which a clean-up is killed."""


@pytest.mark.sweep
def test_a_killed_clean_up_leaves_the_table_readable_and_the_next_one_ends_it(store):
    context = multiprocessing.get_context("spawn")
    for turn, moment in enumerate(MOMENTS):
        for edition in range(12):
            write(store, edition=edition)
        tagged = versions(store)[-6]
        store.open(TABLE).tags.create(f"pin_{turn}", tagged)
        kept = edition_of(store, version=tagged)
        ready = context.Event()
        victim = context.Process(target=_clean_up_when_told, args=(store.root, ready))
        victim.start()
        assert ready.wait(60)
        time.sleep(moment)
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()

        assert edition_of(store) == {"edition11"}
        assert edition_of(store, version=tagged) == kept
        cleaned(store)
        assert len(versions(store)) == turn + 2
        assert edition_of(store) == {"edition11"}


def test_of_two_at_once_one_waits_for_the_other_and_finds_nothing_left(store):
    for edition in range(5):
        write(store, edition=edition)
    context = multiprocessing.get_context("spawn")
    said = context.Queue()
    with store.lock(TABLE, log=print):
        others = [
            context.Process(target=_clean_up_and_tell, args=(store.root, said)) for _ in range(2)
        ]
        for other in others:
            other.start()
        waits = [said.get(timeout=60) for _ in others]
        assert len(versions(store)) == 5
    removed = sorted(said.get(timeout=60) for _ in others)
    for other in others:
        other.join()

    assert all(line.startswith("waiting for") for line in waits)
    assert removed == [0, 4]
    assert edition_of(store) == {"edition4"}


def _clean_up_when_told(root: Path, ready) -> None:
    store = Store(root)
    store.open(TABLE)
    ready.set()
    clean_up(store, TABLE, older_than=NOW, log=print)


def _clean_up_and_tell(root: Path, said) -> None:
    said.put(clean_up(Store(root), TABLE, older_than=NOW, log=said.put).removed)
