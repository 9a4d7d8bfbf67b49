from pathlib import Path

import pyarrow as pa
import pytest

from rag_assets import schemas
from rag_assets.store import Store
from rag_assets.store.provenance import last_seen, made_of, row_of

TABLE = "notes"
SCHEMA = schemas.derived(
    pa.field("key", pa.string(), nullable=False), pa.field("text", pa.string(), nullable=False)
)


def rows(**texts: str) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"key": key, "text": text, "fingerprint": f"from {text}", "row_fingerprint": text}
            for key, text in texts.items()
        ],
        schema=SCHEMA,
    )


def in_run(root: Path, run: str | None) -> Store:
    return Store(root, run=run)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A table that two runs wrote: the second one added `b` and replaced `c`."""
    first, second = in_run(tmp_path, "first"), in_run(tmp_path, "second")
    first.append(TABLE, SCHEMA.empty_table(), schema=SCHEMA)
    first.append(TABLE, rows(a="one", c="old"), schema=SCHEMA)
    second.append(TABLE, rows(b="two"), schema=SCHEMA)
    second.replace(TABLE, rows(c="new"), group="key", groups=["c"])
    return tmp_path


def test_a_row_is_of_the_run_that_wrote_it_as_it_stands(root):
    store = in_run(root, None)
    made = {key: made_of(store, TABLE, key="key", value=key) for key in "abc"}
    assert {key: one.run for key, one in made.items()} == {
        "a": "first",
        "b": "second",
        "c": "second",
    }
    assert [made[key].version for key in "abc"] == [2, 3, 4]
    assert all(one.is_exact and one.at for one in made.values())


def test_a_row_of_an_earlier_version_is_explained_as_it_was_then(root):
    store = in_run(root, None)
    assert made_of(store, TABLE, key="key", value="c", version=3).run == "first"
    before = row_of(store, TABLE, key="key", value="c", version=3)
    assert before is not None
    assert before["text"] == "old"


def test_a_merge_of_files_makes_no_row(root):
    store = in_run(root, None)
    before = made_of(store, TABLE, key="key", value="a")
    store.open(TABLE).to_lance().optimize.compact_files()
    assert made_of(in_run(root, None), TABLE, key="key", value="a") == before


def test_of_a_cleaned_up_commit_the_time_is_left(root):
    store = in_run(root, None)
    dataset = store.open(TABLE).to_lance()
    dataset.cleanup_old_versions(older_than=None, retain_versions=1)
    made = made_of(in_run(root, None), TABLE, key="key", value="a")
    assert (made.run, made.is_exact) == (None, False)
    assert made.at is not None


def test_a_commit_outside_of_a_run_names_none(tmp_path):
    store = in_run(tmp_path, None)
    store.append(TABLE, SCHEMA.empty_table(), schema=SCHEMA)
    store.append(TABLE, rows(a="one"), schema=SCHEMA)
    assert made_of(store, TABLE, key="key", value="a").run is None


def test_a_row_that_is_gone_is_found_where_it_last_was(root):
    store = in_run(root, None)
    store.delete(TABLE, column="key", keys=["b"])
    assert row_of(store, TABLE, key="key", value="b") is None
    seen = last_seen(store, TABLE, key="key", start="b")
    assert seen is not None
    version, row = seen
    assert (version, row["text"]) == (4, "two")
    assert last_seen(store, TABLE, key="key", start="never") is None
