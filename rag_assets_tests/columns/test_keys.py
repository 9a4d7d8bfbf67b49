"""An index of keys answers like a dictionary."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.change import difference
from rag_assets.columns import keys as indexing
from rag_assets.columns.keys import ABSENT, DigestIndex, KeyIndex, digests

SHORT = st.text(alphabet="abé\u0000", max_size=3)
ODD = ("a" * 64, "b" * 64, "A" * 64, "g" * 64, "a" * 36, "aa" + "-" * 34)
KEYS = st.lists(
    SHORT
    | st.uuids().map(str)
    | st.uuids().map(lambda id_: str(id_).upper())
    | st.binary(min_size=32, max_size=32).map(bytes.hex)
    | st.sampled_from(ODD),
    max_size=20,
)


@pytest.mark.parametrize("few", [0, indexing.FEW])
@given(keys=KEYS, asked=KEYS)
def test_places_are_those_of_a_dictionary(few, keys, asked):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(indexing, "FEW", few)
        check_places(keys, asked)


def check_places(keys: list[str], asked: list[str]) -> None:
    index = KeyIndex(pa.array(keys, pa.string()))
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    asked = asked + keys[::2]
    places = index.places(pa.chunked_array([asked, pa.array(["", *asked])[1:]], pa.string()))
    assert places.tolist() == [first.get(key, ABSENT) for key in asked] * 2
    of_digests = DigestIndex(digests(pa.array(keys, pa.string())))
    assert of_digests.places(digests(pa.array(asked, pa.string()))).tolist() == [
        first.get(key, ABSENT) for key in asked
    ]
    assert of_digests.has_repeats == (len(first) < len(keys))


def inputs(*rows: tuple[str, str]) -> pa.Table:
    return pa.table([[row[0] for row in rows], [row[1] for row in rows]], schema=difference.INPUTS)


class Held(list[pa.RecordBatch]):
    """What a target holds."""

    def at(self, row_ids: np.ndarray, *, rows: int) -> Iterator[pa.RecordBatch]:
        for batch in self:
            yield batch.filter(pa.array(np.isin(batch["row_id"].to_numpy(), row_ids)))


def held(*rows: tuple[str, str]) -> Held:
    row_ids = pa.array(range(100, 100 + len(rows)), pa.uint64())
    table = inputs(*rows).append_column("row_id", row_ids)
    return Held(table.to_batches(max_chunksize=2))


def test_a_difference_names_what_to_do_and_keeps_the_order():
    wanted = inputs(("d", "1"), ("b", "2"), ("a", "1"), ("c", "1"), ("e", "1"))
    found = difference.compare(
        wanted.to_batches(), held(("a", "1"), ("b", "1"), ("x", "1"), ("e", "1"))
    )
    assert found.added["key"].to_pylist() == ["d", "c"]
    assert found.changed["key"].to_pylist() == ["b"]
    assert found.removed == ["x"]
    assert found.unchanged == 2
    assert found.pending["key"].to_pylist() == ["d", "c", "b"]


def test_repeated_keys_are_compared_one_by_one():
    twice = inputs(("a", "1"), ("a", "1"), ("b", "1"))
    assert difference.compare(twice.to_batches(), held(("a", "1"), ("b", "1"))).unchanged == 3
    two_held = held(("a", "1"), ("a", "2"))
    one, other = inputs(("a", "1")).to_batches(), inputs(("b", "1")).to_batches()
    assert difference.compare(one, two_held).changed["key"].to_pylist() == ["a"]
    assert difference.compare(other, two_held).removed == ["a"]
