"""What the process of a run keeps from Python's collector."""

import gc

import pytest

from rag_assets.serving import runs


@pytest.fixture(autouse=True)
def thawed():
    yield
    gc.unfreeze()


def is_looked_at(item: object) -> bool:
    return any(other is item for other in gc.get_objects())


def test_the_collector_passes_over_what_is_made_to_last():
    with runs.lasting():
        last = [[] for _ in range(10_000)]
        collected = gc.get_stats()[0]["collections"]
        last += [[] for _ in range(10_000)]
        assert gc.get_stats()[0]["collections"] == collected
    later: list[object] = []

    assert not is_looked_at(last)
    assert is_looked_at(later)


def test_garbage_is_collected_again_afterwards_whatever_happened():
    with pytest.raises(KeyError), runs.lasting():
        raise KeyError
    collected = gc.get_stats()[0]["collections"]
    made = [[] for _ in range(10_000)]

    assert gc.get_stats()[0]["collections"] > collected, len(made)
