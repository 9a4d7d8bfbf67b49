"""Keys of several columns: no two are written alike, and plain ones as they always were."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.columns import composite_keys

PARTS = st.none() | st.text(alphabet="a|\\e", max_size=4)


def written(key: tuple[str | None, ...]) -> str:
    [one] = composite_keys.written([pa.array([part], pa.string()) for part in key]).to_pylist()
    return one


@given(st.integers(2, 3).flatmap(lambda width: st.tuples(*[st.tuples(*[PARTS] * width)] * 2)))
def test_two_keys_are_never_written_alike(keys):
    first, second = keys
    assert (written(first) == written(second)) == (first == second)


@given(st.lists(st.text(alphabet="ab c:-", min_size=1), min_size=2, max_size=3))
def test_a_key_without_marks_is_written_as_it_is(parts):
    assert written(tuple(parts)) == "|".join(parts)


@given(PARTS)
def test_a_key_of_one_column_is_its_value(part):
    assert written((part,)) == (part or "")
