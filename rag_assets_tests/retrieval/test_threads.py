"""Work that is done side by side."""

import threading

import pytest

from rag_assets.retrieval.threads import side_by_side


def test_results_come_in_the_order_of_the_items_and_the_first_is_done_here():
    done = side_by_side(lambda item: (item, threading.current_thread()), [3, 1, 2])
    assert [item for item, _ in done] == [3, 1, 2]
    assert [thread is threading.main_thread() for _, thread in done] == [True, False, False]


def test_items_are_worked_on_at_the_same_time():
    meeting = threading.Barrier(3, timeout=20)
    assert len(side_by_side(lambda _: meeting.wait(), range(3))) == 3


@pytest.mark.parametrize("items", [[], ["only"]])
def test_fewer_than_two_items_need_no_thread(items, monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", None)
    assert side_by_side(str.upper, items) == [item.upper() for item in items]


@pytest.mark.parametrize("failing", [0, 1])
def test_what_fails_is_raised_wherever_it_ran(failing):
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda place: 1 / (place - failing), range(2))
