import threading

import pytest

from rag_assets.process.overlap import read_ahead, write_behind


def test_the_next_item_is_made_while_this_one_is_used():
    made = threading.Event()

    def items():
        yield 1
        made.set()
        yield 2

    iterator = read_ahead(items())
    assert next(iterator) == 1
    assert made.wait(5)
    assert list(iterator) == [2]


def test_an_error_while_preparing_reaches_the_caller():
    def items():
        yield 1
        raise ValueError("unreadable")

    iterator = read_ahead(items())
    assert next(iterator) == 1
    with pytest.raises(ValueError, match="unreadable"):
        next(iterator)


def test_an_item_is_worked_on_while_the_next_is_made():
    is_made = threading.Event()

    def items():
        yield 1
        is_made.set()
        yield 2

    def work(item: int) -> None:
        assert is_made.wait(5)

    assert list(write_behind(items(), work)) == [1, 2]


def test_items_are_worked_on_one_by_one_and_come_when_they_are_done():
    done: list[int] = []
    running: list[int] = []

    def work(item: int) -> None:
        running.append(item)
        assert len(running) == 1
        running.remove(item)
        done.append(item)

    for item in write_behind(iter(range(20)), work):
        assert item in done
    assert done == list(range(20))


def test_work_that_is_under_way_is_ended_where_the_next_item_fails():
    done: list[int] = []

    def items():
        yield 1
        raise ValueError("unreadable")

    with pytest.raises(ValueError, match="unreadable"):
        list(write_behind(items(), done.append))
    assert done == [1]


def test_nothing_is_worked_on_after_work_that_failed():
    tried: list[int] = []

    def work(item: int) -> None:
        tried.append(item)
        if item == 2:
            raise OSError("no space left")

    iterator = write_behind(iter(range(1, 9)), work)
    assert next(iterator) == 1
    with pytest.raises(OSError, match="no space left"):
        next(iterator)
    assert tried == [1, 2]


def test_the_error_of_the_work_is_told_where_making_the_next_item_fails_as_well():
    is_failing = threading.Event()

    def items():
        yield 1
        assert is_failing.wait(5)
        raise ValueError("unreadable")

    def work(item: int) -> None:
        is_failing.set()
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        list(write_behind(items(), work))


def test_items_are_ended_before_the_error_of_the_work_is_told():
    ended: list[bool] = []

    def items():
        try:
            yield from read_ahead(iter(range(1, 9)))
        finally:
            ended.append(True)

    def work(item: int) -> None:
        raise OSError("no space left")

    threads = threading.active_count()
    with pytest.raises(OSError, match="no space left") as failed:
        list(write_behind(items(), work))
    assert ended, f"still open while {failed.value} is handled"
    assert threading.active_count() == threads
