"""Branches of trials: what is written to one, its table does not see; on disk and in a bucket."""

from datetime import timedelta

import pyarrow as pa
import pytest

from rag_assets.config import TextIndexSettings
from rag_assets.index.building import build_text_index
from rag_assets.store import branches
from rag_assets.store.clean_up import clean_up
from rag_assets.store.pins import pin_of

NAME = f"{branches.PREFIX}stem"
SCHEMA = pa.schema([pa.field(name, pa.string()) for name in ("unit_id", "text", "fingerprint")])
NOW = timedelta(0)


@pytest.fixture
def store(store_anywhere):
    return store_anywhere


def rows(*texts: str) -> pa.Table:
    names = [str(number) for number, _ in enumerate(texts)]
    return pa.table({"unit_id": names, "text": texts, "fingerprint": texts}, schema=SCHEMA)


def found(table, word: str) -> int:
    return table.search(word, query_type="fts").limit(9).to_arrow().num_rows


def test_a_branch_has_an_index_of_its_own_and_keeps_the_rows_that_it_stems_from(store):
    store.append("t", rows("running cars", "a car"), schema=SCHEMA)
    build_text_index(store.open("t"), TextIndexSettings())
    pin = pin_of(store, "t")
    with branches.trial_lock(store, log=print):
        branch = branches.open_branch(store, pin, NAME)
        build_text_index(branch, TextIndexSettings(stem=True))
        branch.drop_index(next(index.name for index in store.open("t").list_indices()))
        assert store.version("t") == pin.version
        assert (found(store.open("t"), "cars"), found(store.open("t"), "run")) == (1, 0)

        store.replace("t", rows("a train"), group="unit_id", groups=["0", "1"])
        clean_up(store, "t", older_than=NOW, log=print)
        again = branches.open_branch(store, pin, NAME)
        assert (found(again, "cars"), found(again, "run"), again.count_rows()) == (2, 1, 2)
        assert pin.version in store.versions("t")
    assert store.read("t")["text"].to_pylist() == ["a train"]

    done = clean_up(store, "t", older_than=NOW, log=print)
    assert done.removed >= 1
    assert store.dataset("t").branches.list() == {}
    assert pin.version not in store.versions("t"), "nobody needs it any more"


def test_a_name_stands_for_one_version(store):
    store.append("t", rows("one"), schema=SCHEMA)
    first = pin_of(store, "t")
    store.append("t", rows("two"), schema=SCHEMA)
    with branches.trial_lock(store, log=print):
        branches.open_branch(store, first, NAME)
        with pytest.raises(ValueError, match=f"stems from version {first.version}"):
            branches.open_branch(store, pin_of(store, "t"), NAME)
        branches.drop_branch(store, "t", NAME)
        branches.drop_branch(store, "t", NAME)
        assert branches.open_branch(store, pin_of(store, "t"), NAME).count_rows() == 2
