"""Tables, locks and completions."""

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from lance.fragment import write_fragments

from rag_assets.columns.sql import quoted
from rag_assets.store import ROW_ID, MissingTableError, PassRecord, Store, clean_up, rows_by_id
from rag_assets.store import store as storing
from rag_assets.store.atomic import write_atomically

SCHEMA = pa.schema([pa.field("key", pa.string()), pa.field("group", pa.string())])


def rows(**groups: str) -> pa.Table:
    return pa.table({"key": list(groups), "group": list(groups.values())}, schema=SCHEMA)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_a_missing_table_says_what_to_do(store):
    assert store.count("absent") == 0
    with pytest.raises(MissingTableError, match="rag-assets refresh"):
        store.read("absent")


def test_replace_lets_the_given_rows_be_all_there_is_of_their_groups(store):
    store.append("t", rows(a="1", b="1", c="2"), schema=SCHEMA)

    store.replace("t", rows(b="1", d="1"), group="group", groups=["1"])

    held = store.read("t").sort_by("key").to_pylist()
    assert [(row["key"], row["group"]) for row in held] == [("b", "1"), ("c", "2"), ("d", "1")]


def test_replace_finds_its_groups_in_every_fragment(store):
    store.append("t", rows(a="1", b="1"), schema=SCHEMA)
    store.append("t", rows(c="1", d="2"), schema=SCHEMA)
    store.append("t", rows(e="2"), schema=SCHEMA)
    reader = store.open("t")

    store.replace("t", rows(), group="group", groups=["3"])
    store.replace("t", rows(f="1"), group="group", groups=["1"])

    assert sorted(store.read("t")["key"].to_pylist()) == ["d", "e", "f"]
    assert len(store.open("t").to_lance().get_fragments()) == 3, "an emptied one is gone"
    assert reader.count_rows() == 5, "whoever reads keeps what is replaced"


@pytest.mark.parametrize("how", ["append", "replace", "merge"])
def test_no_version_names_a_file_whose_end_had_no_room(store, how):
    """On a full disk Lance takes the last bytes of a file for written."""
    many = rows(**{f"k{number}": "2" for number in range(500)})
    if how == "merge":
        for start in range(0, 500, 125):
            store.append("t", many.slice(start, 125), schema=SCHEMA)
    else:
        store.append("t", rows(a="1"), schema=SCHEMA)
    version, held = store.version("t"), store.read("t")

    def write() -> None:
        match how:
            case "append":
                store.append("t", many, schema=SCHEMA)
            case "replace":
                store.replace("t", many, group="group", groups=["1"])
            case _:
                assert clean_up.merge(store, "t") == 4

    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = _size_of(store, many)
    for less in (1, 8, 40):
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size - less, most[1]))
            with pytest.raises(OSError, match="No space left on device"):
                write()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, most)
        assert store.version("t") == version
        assert store.read("t") == held
    write()
    assert store.count("t") == 500 + (how == "append")


def _size_of(store: Store, table: pa.Table) -> int:
    """Bytes of the file in which the rows would lie."""
    [fragment] = write_fragments(table, store.dataset("t"), mode="append")
    return fragment.files[0].file_size_bytes


def test_replace_is_one_commit(store):
    store.append("t", rows(a="1", b="1"), schema=SCHEMA)
    before = store.version("t")

    store.replace("t", rows(c="1"), group="group", groups=["1"])

    assert store.version("t") == before + 1


def test_delete_takes_any_text_as_a_key(store):
    store.append("t", rows(**{"it's": "1", "a": "2"}), schema=SCHEMA)

    store.delete("t", column="key", keys=["it's", "' OR true --"])

    assert store.read("t")["key"].to_pylist() == ["a"]
    assert quoted("it's") == "'it''s'"


@pytest.mark.parametrize("named", [0, 10])
def test_deleting_many_keys_is_one_commit(store, monkeypatch, named):
    monkeypatch.setattr(storing, "KEYS_NAMED_TO_DELETE", named)
    store.append("t", rows(a="1", b="1", c="2", d="3"), schema=SCHEMA)
    before = store.version("t")

    store.delete("t", column="group", keys=["1", "1", "2", "it's gone"])

    assert store.version("t") == before + 1
    assert store.read("t")["key"].to_pylist() == ["d"]


def test_an_old_version_can_still_be_read(store):
    store.append("t", rows(a="1"), schema=SCHEMA)
    pinned = store.version("t")
    store.append("t", rows(b="1"), schema=SCHEMA)

    assert store.read("t", version=pinned).num_rows == 1
    assert store.read("t").num_rows == 2


def test_a_completion_needs_its_table(store):
    completion = PassRecord(made_from="m", data_version="d", inputs=1, rows=1, failed=0, bits=0)
    store.complete("t", completion)
    assert store.completion("t") is None

    store.append("t", rows(a="1"), schema=SCHEMA)
    assert store.completion("t") == completion
    store.reopen("t")
    assert store.completion("t") is None


def test_asking_what_was_finished_does_not_import_lancedb(store):
    store.append("t", rows(a="1"), schema=SCHEMA)
    store.complete(
        "t", PassRecord(made_from="m", data_version="d", inputs=1, rows=1, failed=0, bits=0)
    )
    code = (
        "import sys; from pathlib import Path; from rag_assets.store import Store\n"
        "assert Store(Path(sys.argv[1])).completion('t').rows == 1\n"
        "assert not {'lancedb', 'lance', 'torch', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(store.root)], check=True)


def test_write_atomically_replaces_the_whole_file(tmp_path):
    path = tmp_path / "deep" / "file.json"
    write_atomically(path, "long old content")
    write_atomically(path, "new")

    assert path.read_text() == "new"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]


HOLDER = """
import sys, time
from pathlib import Path
from rag_assets.store import Store
with Store(Path(sys.argv[1])).lock("t", log=print):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def test_a_second_writer_waits_and_says_for_whom(store):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.root), "1"], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    lines: list[str] = []

    with store.lock("t", log=lines.append):
        assert holder.wait(timeout=10) == 0

    assert lines == [f"waiting for process {holder.pid}, which is working on t"]


def test_a_killed_writer_leaves_no_lock_behind(store):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.root), "60"], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    started = time.monotonic()

    with store.lock("t", log=lambda line: None):
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("at_once", [2, 50])
def test_rows_are_taken_by_their_ids_in_the_order_asked_for(at_once, store, monkeypatch):
    monkeypatch.setattr(rows_by_id, "ROWS_AT_ONCE", at_once)
    store.append("t", rows(**{f"k{number}": str(number) for number in range(50)}), schema=SCHEMA)
    store.delete("t", column="key", keys=["k3", "k20"])
    store.append("t", rows(late="1"), schema=SCHEMA)
    version = store.version("t")
    batches = store.batches("t", columns=["key"], version=version, with_row_ids=True)
    columns = pa.Table.from_batches(batches).to_pydict()
    ids = dict(zip(columns["key"], columns[ROW_ID], strict=True))
    asked = ["late", "k7", "k49", "k0", "k7", "k48"]

    store.delete("t", column="key", keys=["k7"])
    found = store.take("t", np.array([ids[key] for key in asked]), columns=["key"], version=version)
    assert found["key"].to_pylist() == asked
    assert store.take("t", np.array([], np.uint64), columns=["key"], version=version).num_rows == 0
