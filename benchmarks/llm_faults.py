"""Everything that a server of a language model can do wrong: each has an outcome, nothing hangs.

A scripted server on this machine plays the faults. `CASES` is the list of the client's; what is
built on it adds its own with `register`.
"""

import logging
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pyarrow as pa
from bounds import Bound, at_least, at_most, equal, finish

from rag_assets import schemas
from rag_assets.change.quarantine import Blame
from rag_assets.change.sync import AskedReport
from rag_assets.config import Config, addresses
from rag_assets.documents.elements.element import Element, Image
from rag_assets.documents.elements.element_rows import pictures, to_arrow
from rag_assets.documents.figures.describe import refresh_descriptions
from rag_assets.models.language.calls import Completion, Message, Outcome, Request
from rag_assets.models.language.client import LanguageModelClient
from rag_assets.models.language.opening import open_language_model
from rag_assets.process import clock
from rag_assets.store import Store, images
from rag_assets_testing.scripted_language_model import (
    Script,
    ScriptedServer,
    answers,
    cut,
    dripping,
    empty,
    ends_by,
    half,
    malformed,
    slow,
    status,
)

KEY = "sk-llm-faults-never-to-be-told"
KEY_VARIABLE = "RAG_ASSETS_LANGUAGE_MODEL_KEY"
SECONDS = 1.0
ATTEMPTS = 2
LONGEST = 6.0
"""Seconds that any case may take: two attempts, and the pause between them."""
PARSER = "pymupdf"
FORK = multiprocessing.get_context("fork")
SCHEMA = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}


@dataclass(frozen=True)
class Case:
    """A fault, and what must come of it."""

    name: str
    script: Script
    outcome: Outcome
    question: str = "Is it dense?"
    schema: dict | None = None
    sources: frozenset[str] = frozenset()
    is_sent: bool = True


CASES = [
    Case("401", status(401, error=f"wrong key {KEY}"), "unavailable"),
    Case("429 once", [status(429, Retry_After="1"), answers("Yes.")], "done"),
    Case("429 for ever", status(429), "unavailable"),
    Case("500 once", [status(500), answers("Yes.")], "done"),
    Case("500 for ever", status(500), "unavailable"),
    Case("a redirection", status(307, Location="http://elsewhere.example/"), "unavailable"),
    Case("slow", slow(30), "unavailable"),
    Case("drop by drop", dripping(0.3, "x" * 2_000), "unavailable"),
    Case("half an answer", half(), "unavailable"),
    Case("empty", empty(), "empty"),
    Case("no JSON", malformed(), "malformed"),
    Case("no stop", ends_by(None), "malformed"),
    Case("held back", ends_by("content_filter"), "refused"),
    Case("cut", cut('{"yes": true}'), "cut", schema=SCHEMA),
    Case("not by the schema", answers('{"yes": "perhaps"}'), "malformed", schema=SCHEMA),
    Case("deep JSON", answers("[" * 100_000), "malformed", schema=SCHEMA),
    Case("context too small", status(400, error="maximum context length is 8"), "too_long"),
    Case("100,000 characters", answers("Yes."), "too_long", "why? " * 20_000, is_sent=False),
    Case(
        "a source that may not leave",
        answers("Yes."),
        "not_allowed",
        sources=frozenset({"secret"}),
        is_sent=False,
    ),
]
EXTRA: list[Callable[[], list[Bound]]] = []
"""Further groups of cases: each plays them and gives its bounds."""


def register(cases: Callable[[], list[Bound]]) -> Callable[[], list[Bound]]:
    """Play `cases` too."""
    EXTRA.append(cases)
    return cases


def config_of(url: str, **settings: object) -> Config:
    entry = {"base_url": url, "model": "scripted", "seconds": SECONDS, "attempts": ATTEMPTS}
    sources = {"documents": [{"name": name, "url": "."} for name in ("open", "secret")]}
    models = {"writer": entry | {"sources": ["open"]} | settings}
    return Config.model_validate({"sources": sources, "language_models": models})


Opened = tuple[LanguageModelClient, Path, ScriptedServer]


@contextmanager
def opened(script: Script, **settings: object) -> Generator[Opened]:
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedServer(script) as server,
        open_language_model(config_of(server.url, **settings), state=Path(folder)) as model,
    ):
        yield model, Path(folder), server


def questions(count: int) -> list[Request]:
    return [Request((Message("user", f"question {n}"),), max_tokens=20) for n in range(count)]


def open_sockets() -> int:
    return sum(
        "socket" in str(one.readlink())
        for one in Path("/proc/self/fd").iterdir()
        if one.is_symlink() and one.exists()
    )


def faults() -> list[Bound]:
    told = StringIO()
    handler = logging.StreamHandler(told)
    logging.getLogger().addHandler(handler)
    os.environ[KEY_VARIABLE] = KEY
    before = {thread.ident for thread in threading.enumerate()}
    sockets = open_sockets()
    wrong, leaks, longest, sent = 0, 0, 0.0, 0
    for case in CASES:
        with opened(case.script) as (model, folder, server):
            asked = Request((Message("user", case.question),), 20, case.schema, case.sources)
            started = time.monotonic()
            found: Completion = model.complete(asked)
            seconds = time.monotonic() - started
            state = b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())
            leaks += KEY in found.reason or KEY.encode() in state
            sent += bool(server.seen) and not case.is_sent
        is_right = found.outcome == case.outcome
        wrong += not is_right
        longest = max(longest, seconds)
        print(f"{'ok  ' if is_right else 'FAIL'} {case.name}: {found.outcome}, {seconds:.2f} s")
    logging.getLogger().removeHandler(handler)
    del os.environ[KEY_VARIABLE]
    left = [one for one in threading.enumerate() if one.ident not in before]
    return [
        equal(f"of {len(CASES)} faults, those without their outcome", wrong, 0),
        at_most("longest case [s]", longest, LONGEST),
        equal("cases in which a byte was sent that must not be", sent, 0),
        equal("keys in an outcome or in the state", leaks, 0),
        equal("keys in a log", told.getvalue().count(KEY), 0),
        equal("threads left", len(left), 0),
        at_most("sockets left", open_sockets() - sockets, 0),
    ]


def speed() -> list[Bound]:
    """Eight at once, against a server that takes 200 ms for each."""
    seconds = {}
    for at_once in (1, 8):
        script = answers("Yes.").after(0.2)
        with opened(script, concurrency=at_once, seconds=30) as (model, _, _):
            model.complete(Request((Message("user", "warm"),), max_tokens=20))
            started = time.monotonic()
            model.complete_all(questions(48))
            seconds[at_once] = time.monotonic() - started
        print(f"{at_once} at once: {seconds[at_once]:.2f} s for 48 calls")
    return [at_least("times as fast, 8 at once", seconds[1] / seconds[8], 6)]


def budget() -> list[Bound]:
    """A hundred tokens, of which each call takes 15: the seventh reaches them."""
    script = answers("Yes.", prompt_tokens=10, completion_tokens=5).after(0.02)
    settings = {"concurrency": 8, "budget": {"max_tokens": 100}}
    with opened(script, **settings) as (model, _, server):
        outcomes = [one.outcome for one in model.complete_all(questions(40))]
        return [
            equal("calls of a budget for seven, 8 at once", server.calls, 7),
            equal("answers kept when it ends", outcomes.count("done"), 7),
        ]


def evaluate(url: str, folder: Path) -> tuple[int, float]:
    started = time.monotonic()
    with open_language_model(config_of(url, seconds=30), state=folder) as model:
        found = model.complete_all(questions(60))
    return sum(one.outcome == "done" for one in found), time.monotonic() - started


def kept() -> list[Bound]:
    """A run is killed, goes on, and is made once more."""
    with (
        tempfile.TemporaryDirectory() as name,
        ScriptedServer(lambda _: answers("Yes.").after(0.1)) as server,
    ):
        folder = Path(name)
        process = FORK.Process(target=evaluate, args=[server.url, folder])
        process.start()
        while server.calls < 24:
            time.sleep(0.01)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        time.sleep(0.3)
        asked = [body["messages"][0]["content"] for body in server.requests]
        evaluate(server.url, folder)
        again = [body["messages"][0]["content"] for body in server.requests[len(asked) :]]
        twice = len(set(asked) & set(again))
        fresh = Path(name) / "fresh"
        _, first = evaluate(server.url, fresh)
        before = server.calls
        done, second = evaluate(server.url, fresh)
        print(f"first evaluation {first:.2f} s, second {second:.3f} s")
        return [
            at_most("calls that ran when the run was killed, made again (4 at once)", twice, 4),
            equal("calls of the second evaluation", server.calls - before, 0),
            equal("answers of the second evaluation", done, 60),
            at_most("its time, as a share of the first one's", second / first, 0.1),
        ]


PICTURES = 24
FIGURES = {"language_model": "writer"}


def config_of_figures(url: str, state: Path, **settings: object) -> Config:
    named = config_of(url, **settings).model_dump(mode="json")
    return Config.from_record(named | {"state_dir": str(state), "figures": FIGURES})


def with_figures(config: Config, *, source: str) -> Store:
    """A state in which a document of `source` shows pictures."""
    store = Store(config.state_dir)
    shown = [
        Image.of(b"picture %d" % number, media_type="image/png", width=200, height=200)
        for number in range(PICTURES)
    ]
    figures = [
        Element(type="figure", text=f"Figure {number}: A rotor", page=1, image=image)
        for number, image in enumerate(shown)
    ]
    images.keep(store, pictures(figures), log=print)
    rows = to_arrow({"document": figures}, engine="pymupdf", engines=["e"] * len(figures))
    marks = {"fingerprint": "1", "row_fingerprint": "1"}
    for name, value in marks.items():
        rows = rows.append_column(name, pa.array([value] * len(rows)))
    table = addresses.elements_table(config, PARSER)
    rows = rows.select(schemas.ELEMENTS.names).cast(schemas.ELEMENTS)
    store.append(table, rows, schema=schemas.ELEMENTS)
    file = {
        "document_id": "document",
        "source": source,
        "uri": "a.pdf",
        "size": 1,
        "modified": clock.now(),
        "status": "ok",
        **marks,
    }
    files = pa.Table.from_pylist([file], schema=schemas.DOCUMENT_FILES)
    store.append(schemas.DOCUMENT_FILES_TABLE, files, schema=schemas.DOCUMENT_FILES)
    return store


def describe(config: Config) -> AskedReport:
    model = config.describing_model
    assert model is not None
    return refresh_descriptions(
        Store(config.state_dir), config, parser=PARSER, model=model, log=lambda _: None
    )


@dataclass(frozen=True)
class FigureCase:
    """A fault while figures are described, and whose fault it must be called."""

    name: str
    script: Script
    kind: Blame


FIGURE_CASES = [
    FigureCase("429 for ever", status(429), "environment"),
    FigureCase("500 for ever", status(500), "environment"),
    FigureCase("half an answer", half(), "environment"),
    FigureCase("no JSON", malformed(), "environment"),
    FigureCase("cut", cut("A rotor that"), "input"),
    FigureCase("empty", empty(), "input"),
]


@register
def figures() -> list[Bound]:
    """Each fault is recorded with its reason; what a server was at fault for is tried again."""
    wrong = 0
    for case in FIGURE_CASES:
        with tempfile.TemporaryDirectory() as name, ScriptedServer(case.script) as server:
            config = config_of_figures(server.url, Path(name))
            with_figures(config, source="open")
            failed = describe(config).failures
            server.script = answers("A rotor.")
            later = describe(config)
        waits = PICTURES if case.kind == "input" else 0
        is_right = [one.kind for one in failed] == [case.kind] * PICTURES
        is_right &= all(one.reason for one in failed)
        is_right &= (later.added, later.failed) == (PICTURES - waits, waits)
        wrong += not is_right
        print(
            f"{'ok  ' if is_right else 'FAIL'} figures, {case.name}: {later.added} described later"
        )
    return [
        equal(f"of {len(FIGURE_CASES)} faults with figures, those not told as theirs", wrong, 0)
    ]


@register
def figures_that_may_not_leave() -> list[Bound]:
    with tempfile.TemporaryDirectory() as name, ScriptedServer(answers("A rotor.")) as server:
        config = config_of_figures(server.url, Path(name))
        with_figures(config, source="secret")
        done = describe(config)
        return [
            equal("bytes sent of figures whose source may not leave", len(server.seen), 0),
            equal(
                "of these figures, those described or told as failed", done.added + done.failed, 0
            ),
        ]


@register
def figures_and_a_budget() -> list[Bound]:
    """Each call takes 15 tokens: the seventh reaches a hundred."""
    with tempfile.TemporaryDirectory() as name, ScriptedServer(answers("A rotor.")) as server:
        config = config_of_figures(server.url, Path(name), budget={"max_tokens": 100})
        with_figures(config, source="open")
        first, second = describe(config), describe(config)
        return [
            equal("figures described by a budget for seven", first.added, 7),
            equal("figures described by the next run", second.added, 7),
            equal("figures that wait after that", second.failed, PICTURES - 14),
            equal("calls of both", server.calls, 14),
        ]


@register
def figures_and_a_kill() -> list[Bound]:
    script = answers("A rotor.").after(0.1)
    with tempfile.TemporaryDirectory() as name, ScriptedServer(script) as server:
        config = config_of_figures(server.url, Path(name), seconds=30)
        with_figures(config, source="open")
        process = multiprocessing.get_context("spawn").Process(target=describe, args=[config])
        process.start()
        while server.calls < PICTURES // 2:
            time.sleep(0.01)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        time.sleep(0.3)
        before = server.calls
        done = describe(config)
        print(f"figures, a kill: {before} calls before, {server.calls - before} after")
        return [
            equal("figures described after a kill", done.added, PICTURES),
            at_most("their calls made twice (4 at once)", server.calls - PICTURES, 4),
        ]


if __name__ == "__main__":
    groups = [faults, speed, budget, kept, *EXTRA]
    finish("llm_faults", [bound for group in groups for bound in group()])
