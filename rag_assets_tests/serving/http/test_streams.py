"""Events on their way: none is lost, and none is made for nobody."""

import asyncio
import threading
import time

from rag_assets.serving.callers import person_here
from rag_assets.serving.http import streams
from rag_assets.serving.http.limits import InWork
from rag_assets.serving.http.streams import AnswerStreams, Event
from rag_assets.workers import raise_if_abandoned

ONE, TWO = Event("one", "{}"), Event("two", "{}")
ANNA = person_here("anna")


def started(make, found=None):
    ended = []
    return (found or AnswerStreams()).start(make, InWork(lambda: ended.append(True)), ANNA), ended


async def all_made(found):
    await asyncio.gather(*found._tasks)


async def all_of(stream, *, after=0):
    return [event.name async for _, event in stream.read(after=after)]


def test_an_event_that_comes_while_another_one_is_sent_is_not_lost():
    going_on = threading.Event()

    def make(tell):
        tell(ONE)
        going_on.wait()
        tell(TWO)

    async def run():
        stream, _ = started(make)
        seen = []
        async for _, event in stream.read(after=0):
            seen.append(event.name)
            going_on.set()
            while not stream.is_done:  # sending takes longer than all the rest
                await asyncio.sleep(0.001)
        assert seen == ["one", "two"]

    asyncio.run(asyncio.wait_for(run(), 30))


def test_a_place_is_left_when_all_is_made():
    async def run():
        stream, ended = started(lambda tell: tell(ONE))
        assert await all_of(stream) == ["one"]
        await asyncio.sleep(0)
        assert ended

    asyncio.run(asyncio.wait_for(run(), 60))


def test_what_nobody_reads_ends_before_its_next_stage(monkeypatch):
    monkeypatch.setattr(streams, "SECONDS_WITHOUT_READER", 0.0)
    stages = []

    def make(tell):
        for place in range(100):
            stages.append(place)
            tell(ONE)

    async def run():
        found = AnswerStreams()
        started(make, found)
        await all_made(found)

    asyncio.run(asyncio.wait_for(run(), 60))
    assert stages == [0]


def test_what_is_cancelled_ends_before_its_next_stage():
    going_on, stages = threading.Event(), []

    def make(tell):
        tell(ONE)
        going_on.wait()
        tell(TWO)
        stages.append("next")

    async def run():
        found = AnswerStreams()
        stream, _ = started(make, found)
        async for _ in stream.read(after=0):
            stream.cancel()
            going_on.set()
        await all_made(found)

    asyncio.run(asyncio.wait_for(run(), 60))
    assert not stages


def test_what_takes_too_long_is_told_and_holds_its_place_until_its_thread_ends(monkeypatch):
    monkeypatch.setattr(streams, "SECONDS_TO_ANSWER", 0.05)
    end = threading.Event()

    async def run():
        found = AnswerStreams()
        stream, ended = started(lambda _tell: end.wait(), found)
        assert await all_of(stream) == ["failed"]
        assert "504" in stream.events[0].data
        assert not ended
        end.set()
        await all_made(found)
        assert ended

    asyncio.run(asyncio.wait_for(run(), 60))


def test_memory_of_streams_is_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(streams, "MOST_BYTES_KEPT", 1_000)
    large = Event("done", '"' + "x" * 600 + '"')

    async def run():
        found = AnswerStreams()
        made = []
        for _ in range(5):
            stream, _ = started(lambda tell: tell(large), found)
            await all_made(found)
            made.append(stream)
        kept = [each for each in made if found.get(each.id, ANNA)]
        assert kept == made[-2:]
        assert await all_of(made[0]) == ["done"]  # who reads already, reads to the end

    asyncio.run(asyncio.wait_for(run(), 60))


def test_more_on_their_way_than_are_kept_forget_those_that_are_made(monkeypatch):
    monkeypatch.setattr(streams, "MOST_STREAMS", 2)
    end = threading.Event()

    async def run():
        found = AnswerStreams()
        running, _ = started(lambda _tell: end.wait(), found)
        made, _ = started(lambda tell: tell(ONE), found)
        assert await all_of(made) == ["one"]
        newest, _ = started(lambda _tell: end.wait(), found)
        assert [found.get(each.id, ANNA) for each in (running, made, newest)] == [
            running,
            None,
            newest,
        ]
        end.set()
        await all_made(found)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_stage_that_asks_a_model_again_and_again_ends_when_its_answer_is_given_up():
    def make(tell):
        tell(ONE)
        while True:
            raise_if_abandoned()
            time.sleep(0.001)

    async def run():
        found = AnswerStreams()
        stream, ended = started(make, found)
        async for _ in stream.read(after=0):
            stream.cancel()
        assert "nobody waits" in stream.events[-1].data
        await all_made(found)
        assert ended

    asyncio.run(asyncio.wait_for(run(), 60))


def test_who_gives_an_answer_up_is_told_at_once_whatever_its_thread_waits_for():
    end = threading.Event()

    async def run():
        found = AnswerStreams()
        stream, ended = started(lambda _tell: end.wait(), found)
        stream.cancel()
        stream.cancel()
        assert await all_of(stream) == ["failed"]
        assert not ended
        end.set()
        await all_made(found)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_the_end_of_the_server_waits_no_longer_than_it_says(monkeypatch):
    monkeypatch.setattr(streams, "SECONDS_TO_GIVE_UP", 0.01)
    end = threading.Event()

    async def run():
        found = AnswerStreams()
        stream, ended = started(lambda _tell: end.wait(), found)
        await found.finish()
        assert stream.is_given_up
        assert not ended
        end.set()

    asyncio.run(asyncio.wait_for(run(), 60))
