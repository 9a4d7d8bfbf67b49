"""The record of what serves: whole at any moment, moved by one at a time."""

import multiprocessing
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rag_assets.config import Config, Retrieval, Retriever
from rag_assets.store import Store, serving_pointer
from rag_assets.store.complete_sets import CompleteSet, models_of
from rag_assets.store.pins import Pin
from rag_assets.store.serving_pointer import (
    CURRENT,
    FOLDER,
    DamagedPointerError,
    PointerMovedError,
    QuerySide,
    ServingPointer,
    ServingPointerError,
)
from rag_assets_testing import effort

pytestmark = pytest.mark.filterwarnings("ignore:lance is not fork-safe")

KILLS = 60 if effort.is_night() else 10


def pointer(number: int, *, variant: str = "default") -> ServingPointer:
    """A pointer to tables whose version and content say its number."""

    def pin(table: str) -> Pin:
        return Pin(f"{table}.1", number, f"files {number}", f"content {number}")

    models = models_of(Config(variants={variant: {}}), variant)
    return ServingPointer(
        number=number,
        moved_at="2026-01-01T00:00:00+00:00",
        by="refresh",
        complete_set=CompleteSet(
            variant=variant,
            joint=pin("joint"),
            documents=pin("documents"),
            rows=pin("rows"),
            elements="elements",
            chunks="chunks",
            recorded_at="",
            seen="",
            **models,
        ),
        elements=pin("elements"),
        chunks=pin("chunks"),
        recipe={"variant": {"parser": "pdfium"}},
        encoder_ids=["model/cpu"],
        query_side=QuerySide.of(Retrieval()),
        verdict={"outcome": "PASS", "reasons": ["a reason, as long as one is. " * 50]},
    )


def moved(store: Store, *numbers: int) -> None:
    for number in numbers:
        serving_pointer.move(store, pointer(number), after=number - 1)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def test_nothing_serves_before_the_first_move(store):
    assert serving_pointer.current(store) is None
    assert serving_pointer.history(store) == []
    assert serving_pointer.previous(store) is None


def test_what_was_moved_is_read_as_it_was(store):
    assert serving_pointer.move(store, pointer(1), after=0) == pointer(1)
    assert serving_pointer.current(Store(store.root)) == pointer(1)


def test_a_move_that_follows_another_record_than_serves_says_so_and_does_nothing(store):
    moved(store, 1, 2)
    with pytest.raises(PointerMovedError, match=r"from 1 to 2\): run it again"):
        serving_pointer.move(store, pointer(2), after=1)
    with pytest.raises(PointerMovedError):
        serving_pointer.renew(store, pointer(1))
    assert [each.number for each in serving_pointer.history(store)] == [2, 1]


def test_a_kill_between_the_two_writes_leaves_no_trace(store):
    moved(store, 1)
    (store.root / FOLDER / "000002.json").write_text(pointer(2).as_json())

    assert serving_pointer.current(store) == pointer(1)
    assert serving_pointer.history(store) == [pointer(1)]
    with pytest.raises(ServingPointerError, match="no record 2"):
        serving_pointer.recorded(store, 2)
    moved(store, 2)
    assert serving_pointer.current(store) == pointer(2)


@pytest.mark.parametrize("damage", ["", "{}", '{"number": 1}', None])
def test_a_damaged_record_names_itself_and_the_remedy_and_can_be_followed(store, damage):
    moved(store, 1, 2)
    file = store.root / FOLDER / CURRENT
    if damage is None:
        file.unlink()
    else:
        file.write_text(damage)

    with pytest.raises(DamagedPointerError, match=r"current\.json.*rollback.*promote"):
        serving_pointer.current(store)
    assert serving_pointer.previous(store) == pointer(2)
    assert serving_pointer.number_now(store) == 2
    moved(store, 3)
    assert serving_pointer.current(store) == pointer(3)


def test_the_previous_one_answers_otherwise_and_a_rollback_goes_further_back(store):
    moved(store, 1, 2)
    assert serving_pointer.previous(store) == pointer(1)
    moved(store, 3)
    back = replace(pointer(2), by="rollback", restores=2)
    serving_pointer.move(store, back, after=3)

    assert serving_pointer.current(store) == replace(back, number=4)
    assert serving_pointer.previous(store) == pointer(1)
    left = serving_pointer.left_behind(store, replace(back, number=4))
    assert left == [pointer(3)]
    assert [each.number for each in serving_pointer.kept(store)] == [4, 1, 3]


def test_the_recorded_retriever_answers_whatever_the_config_says():
    before = Retrieval(retriever="mine", retrievers={"mine": Retriever(candidates=7)})
    side = QuerySide.of(before)

    edited = Retrieval(retriever="bm25", retrievers={"mine": Retriever(candidates=9)}, depth=3)
    restored = side.within(edited)
    gone = side.within(Retrieval())
    for found in (restored, gone):
        assert found.retriever == "mine"
        assert found.retrievers["mine"].candidates == 7
        assert found.depth == before.depth
    assert restored.retrievers["bm25"] == edited.retrievers["bm25"]


def test_a_variant_is_found_by_its_recipe_then_by_its_name(store, tmp_path):
    config = Config(state_dir=tmp_path, variants={"default": {}, "other": {"serializer": "json"}})
    served = pointer(1)
    joint = replace(served.complete_set.joint, table=f"{config.tables_of('other').joint}.1")
    served = replace(served, complete_set=replace(served.complete_set, joint=joint))
    serving_pointer.move(store, served, after=0)

    assert serving_pointer.serving_variant(store, config) == "other"  # renamed since
    without = Config(state_dir=tmp_path, variants={"first": {}, "default": {}})
    assert serving_pointer.serving_variant(store, without) == "default"
    neither = Config(state_dir=tmp_path, variants={"first": {}})
    assert serving_pointer.serving_variant(store, neither) == "first"


def _keep_moving(root: str) -> None:
    """What a process does that is killed."""
    store = Store(Path(root))
    while True:
        number = serving_pointer.number_now(store)
        serving_pointer.move(store, pointer(number + 1), after=number)


def _rival(root: str, rounds: int, wins: "multiprocessing.Queue[list[int]]") -> None:
    store, won = Store(Path(root)), []
    while len(won) < rounds:
        number = serving_pointer.number_now(store)
        try:
            serving_pointer.move(store, pointer(number + 1), after=number)
        except PointerMovedError:
            continue
        won.append(number + 1)
    wins.put(won)


def is_whole(found: ServingPointer | None) -> bool:
    return found is None or found == pointer(found.number)


@pytest.mark.sweep
def test_a_kill_at_any_moment_leaves_a_whole_record(store):
    chance, processes = random.Random(20), multiprocessing.get_context("fork")
    last = 0
    for _ in range(KILLS):
        process = processes.Process(target=_keep_moving, args=(str(store.root),))
        process.start()
        until = time.monotonic() + chance.uniform(0.01, 0.1)
        while time.monotonic() < until or serving_pointer.number_now(store) == last:
            assert is_whole(serving_pointer.current(Store(store.root)))
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()

        found = serving_pointer.current(Store(store.root))
        assert is_whole(found)
        assert found is not None
        assert found.number > last
        last = found.number
        assert [each.number for each in serving_pointer.history(store)] == [*range(last, 0, -1)]


def test_of_two_processes_at_once_one_wins_each_number(store):
    processes = multiprocessing.get_context("fork")
    wins: multiprocessing.Queue[list[int]] = processes.Queue()
    rivals = [processes.Process(target=_rival, args=(str(store.root), 20, wins)) for _ in range(2)]
    for rival in rivals:
        rival.start()
    won = [number for _ in rivals for number in wins.get(timeout=120)]
    for rival in rivals:
        rival.join()

    assert sorted(won) == list(range(1, 41))
    assert len(serving_pointer.history(store)) == 40
