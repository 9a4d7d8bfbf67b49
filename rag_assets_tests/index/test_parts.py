from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.index import parts
from rag_assets.index.parts import parts_of_plan, side_by_side, stretches

TEXTS = st.lists(st.integers(0, 30), max_size=60) | st.lists(st.integers(0, 2), max_size=60)


def planned(texts):
    return pa.table(
        {
            "text_high": pa.array([text // 2 for text in texts], pa.uint64()),
            "text_low": pa.array(texts, pa.uint64()),
            "bytes": pa.array([40 * (text + 1) for text in texts], pa.int64()),
            "_rowid": pa.array(range(len(texts)), pa.uint64()),
        }
    )


@given(TEXTS, st.integers(1, 2_000))
@example([2, 1, 1], 101)
def test_a_stretch_holds_neighbours_by_length_and_each_text_whole(texts, size):
    plan = side_by_side(planned(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "BYTES_PER_STRETCH", size)
        found = list(stretches(plan))

    assert sorted(row for part in found for row in part["_rowid"].to_pylist()) == [
        *range(len(texts))
    ]
    sets = [set(part["text_low"].to_pylist()) for part in found]
    assert sum(len(some) for some in sets) == len(set(texts))
    firsts = [[texts.index(text) for text in some] for some in sets]
    assert all(max(one) < min(two) for one, two in pairwise(firsts))
    for part in found:
        sizes = part["bytes"].to_pylist()
        assert sizes == sorted(sizes, reverse=True)
        assert sum(sizes) < size + max(each * sizes.count(each) for each in sizes)


@given(TEXTS, st.integers(1, 2_000), st.integers(1, 9))
def test_parts_cover_the_plan_and_never_split_a_text(texts, tokens, units):
    sizes = {text: 40 * (text + 1) for text in texts}
    texts = sorted(texts, reverse=True)
    plan = planned(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "UNITS_PER_PART", units)
        found = list(parts_of_plan(plan, tokens=tokens))
    assert all(len(part) <= units or len(set(part["text_low"])) == 1 for part in found)
    assert [text for part in found for text in part["text_low"].to_pylist()] == texts
    sets = [set(part["text_low"].to_pylist()) for part in found]
    assert sum(len(some) for some in sets) == len(set(texts))
    for some in sets:
        size = sum(sizes[text] for text in some)
        assert size <= tokens * parts.BYTES_PER_TOKEN or len(some) == 1
