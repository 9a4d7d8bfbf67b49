"""Branches that trials of an earlier release left go with a clean-up; on disk and in a bucket."""

from datetime import timedelta

import pyarrow as pa
import pytest

from rag_assets.store.branches import PREFIX
from rag_assets.store.clean_up import clean_up

SCHEMA = pa.schema([pa.field(name, pa.string()) for name in ("unit_id", "text", "fingerprint")])
NOW = timedelta(0)


@pytest.fixture
def store(store_anywhere):
    return store_anywhere


def rows(*texts: str) -> pa.Table:
    names = [str(number) for number, _ in enumerate(texts)]
    return pa.table({"unit_id": names, "text": texts, "fingerprint": texts}, schema=SCHEMA)


def test_a_branch_of_a_trial_goes_with_the_version_that_it_stems_from(store):
    store.append("t", rows("running cars", "a car"), schema=SCHEMA)
    before = store.version("t")
    table = store.open("t")
    for name in (f"{PREFIX}stem", "mine"):
        table.branches.create(name, from_version=before)
    table.branches.checkout(f"{PREFIX}stem").create_fts_index("text", with_position=False)
    store.replace("t", rows("a train"), group="unit_id", groups=["0", "1"])

    clean_up(store, "t", older_than=NOW, log=print)

    assert [*store.dataset("t").branches.list()] == ["mine"], "nobody else's branch is touched"
    store.open("t").branches.delete("mine")
    clean_up(store, "t", older_than=NOW, log=print)
    assert before not in store.versions("t"), "nobody needs it any more"
    assert store.read("t")["text"].to_pylist() == ["a train"]
