"""Answers are kept whatever dies, replayed byte for byte, and told stale sentence by sentence.

usage: replay.py [--seconds 60] [--rate 200] [--writers 4]

First, processes keep answers at a steady rate, as servers would, while others list, copy to the
table `answers` and follow what is stale. Again and again one of the writers, or two at once, is
killed with -9 and another one takes its place. Each writes down the id of an answer once `keep` has
returned it. At the end every such answer must be in the file, and every answer in the file must be
the one that was made for its question, byte for byte.

Then some documents and a table of the demo data are indexed. Their own sentences are asked, and the
answers are replayed by another process without any cache: on the index as it is, and on the same
versions after some documents and rows were edited. What is told stale then is held against the
texts and rows themselves.
"""

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np
from bounds import REPOSITORY, Bound, at_least, at_most, equal, finish, rag_assets

sys.path.insert(0, str(REPOSITORY))

from rag_assets import config as configuration
from rag_assets.answering.answer import Answer, Scope, Shown
from rag_assets.answering.assistant import Assistant
from rag_assets.answering.record.answer_rows import select
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.exporting import export
from rag_assets.answering.record.keeping import keep
from rag_assets.answering.record.kept import canonical, context_of
from rag_assets.answering.record.listing import AnswerFilter, find, one
from rag_assets.answering.record.replaying import replay
from rag_assets.answering.record.staleness import Served
from rag_assets.citations.kinds import Absence, Cell, Citation, Computed, Span
from rag_assets.citations.sentences import Sentence
from rag_assets.config import Config
from rag_assets.schemas import ANSWERS_TABLE
from rag_assets.store import Store
from rag_assets_testing.recorded_answers import context

SPAWN = multiprocessing.get_context("spawn")
UNITS, CITED = 10, 4
MOST_KILLED = 2
FOLDERS = ("guides", "memos", "suppliers")
EDITED = "guides/reading_data_sheets.md"
CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables:
    - {name: laboratory, url: sqlite:///materials.sqlite, tables: [suppliers]}
variants: {default: {chunking: fixed_256, model: minilm}}
gate: {queries: 50}
"""
ROWS_AT_ONCE = 1_000


def made_answer(writer: str, number: int) -> Answer:
    """An answer of usual size, which its question alone decides."""
    drawn = random.Random(f"{writer} {number}")
    words = [f"{drawn.getrandbits(40):x}" for _ in range(400)]
    spans = [
        Span(
            unit_id=f"unit-{drawn.getrandbits(64):x}",
            text_hash=f"{drawn.getrandbits(256):x}",
            source="documents",
            uri=f"reports/{words[place]}.pdf",
            title=words[place + 1],
            pages=(place,),
            start=0,
            end=200,
            text=" ".join(words[place * 40 : place * 40 + 40]),
        )
        for place in range(CITED)
    ]
    shown = [
        Shown(f"unit-{words[100 + rank]}", words[200 + rank] * 4, rank, 1 / rank, "document", "a")
        for rank in range(1, UNITS + 1)
    ]
    return Answer(
        question=f"{writer} {number}",
        outcome="found",
        sentences=tuple(Sentence(span.text, (span,)) for span in spans),
        scope=Scope("default", "best", {}, 100),
        shown=tuple(shown),
        seconds={"search": drawn.random()},
    )


def write(state: Path, writer: str, rate: float, told: Path, ready: Event, go: Event) -> None:
    """Keep answers at a steady rate until killed; write down id and time of each that is kept."""
    store, config = Store(state), Config()
    given = context(user=writer)
    ledger = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ready.set()
    go.wait()
    started = time.monotonic()
    number = 0
    while True:
        answer = made_answer(writer, number)
        time.sleep(max(0.0, started + number / rate - time.monotonic()))
        before = time.monotonic()
        kept = keep(store, config, answer, given, purges=0)
        took = time.monotonic() - before
        assert kept is not None, "an answer could not be kept"
        os.write(ledger, f"{kept} {took:.6f}\n".encode())
        number += 1


@dataclass
class Writer:
    """A process that keeps answers, or waits to begin."""

    process: BaseProcess
    ready: Event
    go: Event


@dataclass
class Writers:
    """Processes that keep answers, some of which are killed; others wait to take their place."""

    state: Path
    folder: Path
    rate: float
    """Answers a second of each."""
    alive: list[Writer] = field(default_factory=list)
    spare: list[Writer] = field(default_factory=list)
    kills: int = 0
    failed: int = 0
    """Writers that ended by themselves: something was wrong."""

    def prepare(self, count: int) -> None:
        for _ in range(count):
            name = f"writer-{len(list(self.folder.iterdir()))}"
            told = self.folder / name
            told.touch()
            ready, go = SPAWN.Event(), SPAWN.Event()
            given = (self.state, name, self.rate, told, ready, go)
            process = SPAWN.Process(target=write, args=given)
            process.start()
            self.spare.append(Writer(process, ready, go))

    def start(self, count: int) -> None:
        for _ in range(count):
            writer = self.spare.pop(0)
            writer.ready.wait()
            writer.go.set()
            self.alive.append(writer)

    def kill(self, count: int) -> None:
        for writer in random.sample(self.alive, count):
            self.alive.remove(writer)
            self.failed += not writer.process.is_alive()
            _kill(writer)
            self.kills += 1

    def end(self) -> None:
        """Kill all, in the middle of what they do."""
        self.kill(len(self.alive))
        for writer in self.spare:
            _kill(writer)

    def told(self) -> dict[str, float]:
        """How long each answer took to keep, by its id, of all whose line was written whole."""
        lines = [
            line.split()
            for file in self.folder.iterdir()
            for line in file.read_text().splitlines(keepends=True)
            if line.endswith("\n")
        ]
        return {answer_id: float(took) for answer_id, took in lines}


def _kill(writer: Writer) -> None:
    if writer.process.pid:
        os.kill(writer.process.pid, signal.SIGKILL)
    writer.process.join()


def keeping(home: Path, *, seconds: float, rate: float, writers: int) -> Iterator[Bound]:
    """Keep answers for so many seconds, with kills in between."""
    state, folder = home / "kept", home / "told"
    folder.mkdir()
    store, crew = Store(state), Writers(state, folder, rate / writers)
    crew.prepare(writers + MOST_KILLED)
    crew.start(writers)
    started = time.monotonic()
    looked = copied = 0
    kill_at = random.uniform(2, 5)
    while (now := time.monotonic() - started) < seconds:
        looked += len(find(answers_of(store), AnswerFilter(), served=None, limit=20)) > 0
        copied += export(store, answers_of(store), log=print)
        if now > kill_at and all(writer.ready.is_set() for writer in crew.spare):
            count = random.choice((1, 1, MOST_KILLED))
            crew.kill(count)
            crew.start(count)
            crew.prepare(count)
            kill_at = now + random.uniform(4, 8)
        time.sleep(1)
    lasted = time.monotonic() - started
    reached = len(crew.told()) / lasted
    crew.end()
    copied += export(store, answers_of(store), log=print)
    told = crew.told()
    yield at_least(f"answers kept in a second, for {lasted:.0f} s", reached, rate * 0.9)
    yield at_least("writers that were killed", crew.kills, writers + 1)
    yield equal("writers that failed", crew.failed, 0)
    yield from found_again(store, told, copied=copied)
    took = 1_000 * np.array([*told.values()])
    shares = np.percentile(took, [50, 95, 99])
    print(f"{looked} lists meanwhile; keep takes {shares.round(2)} ms (50, 95, 99 %)")
    yield at_most("milliseconds to keep an answer, 95 %", float(shares[1]), 250)


def found_again(store: Store, told: Mapping[str, float], *, copied: int) -> Iterator[Bound]:
    """Whether all that was told is there, and nothing is torn."""
    file = answers_of(store)
    torn = 0
    found: set[str] = set()
    with file.reading() as connection:
        sound = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        ids = [row for (row,) in connection.execute("SELECT answer_id FROM answers")]
        counted = connection.execute("SELECT count(*) FROM units").fetchone()[0]
        for start in range(0, len(ids), ROWS_AT_ONCE):
            part = ids[start : start + ROWS_AT_ONCE]
            where = f"answer_id IN ({', '.join('?' * len(part))})"
            for kept in select(connection, where=where, values=part, limit=None):
                writer, _, number = kept.answer.question.partition(" ")
                torn += canonical(kept.answer) != canonical(made_answer(writer, int(number)))
                found.add(kept.answer_id)
    in_table = store.read(ANSWERS_TABLE, columns=["answer_id"])["answer_id"].to_pylist()
    print(
        f"{len(told):,} answers were told kept, {len(found):,} are in the file, {copied:,} copied"
    )
    yield at_least("answers that were told kept", len(told), 1)
    yield equal("of these, lost", len({*told} - found), 0)
    yield equal("answers that are torn", torn, 0)
    yield equal("units of answers that are missing", len(found) * (UNITS + CITED) - counted, 0)
    yield equal("whether the file is sound", sound, True)
    yield equal("answers twice in the table, or missing", len({*in_table} ^ found), 0)
    yield equal("copies beyond one an answer", len(in_table) - len({*in_table}), 0)


def project(home: Path) -> Config:
    """Some documents and a table of the demo data, indexed."""
    for name in FOLDERS:
        source = REPOSITORY / "data" / "documents" / name
        shutil.copytree(source, home / "documents" / name)
    shutil.copy(REPOSITORY / "data" / "materials.sqlite", home)
    file = home / "rag_assets.yaml"
    file.write_text(CONFIG)
    refresh(file)
    return configuration.load(file)


def refresh(file: Path) -> None:
    done = rag_assets("refresh", config=file)
    if done.code:
        sys.exit(f"the refresh ended with code {done.code}")


def questions_of(config: Config, *, most: int) -> list[str]:
    """Words from the middle of units, so that each has an answer."""
    units = Store.of(config).read(config.tables_of("default").joint, columns=["unit_id", "text"])
    drawn = random.Random(7)
    rows = sorted(units.to_pylist(), key=lambda row: row["unit_id"])
    texts = [row["text"].split() for row in rows]
    found = []
    for words in drawn.sample(texts, min(most, len(texts))):
        start = drawn.randrange(max(len(words) - 8, 1))
        found.append(" ".join(words[start : start + 8]))
    return found


def ask_all(file: Path, *, most: int) -> list[str]:
    """Ask and keep; returns the ids of the answers."""
    config = configuration.load(file)
    store = Store.of(config)
    assistant = Assistant(store, config)
    ids = []
    for place, question in enumerate(questions_of(config, most=most)):
        retriever = (None, "bm25", "hybrid_late_fusion")[place % 3]
        answer = assistant.ask(question, retriever=retriever)
        context = context_of(assistant.index, config, retriever=retriever)
        kept = keep(store, config, answer, context, purges=assistant.purges)
        assert kept is not None
        ids.append(kept)
    return ids


def replay_all(file: Path, ids: Sequence[str], said: Path) -> None:
    """Replay in a process of its own, without caches; writes down how many are equal."""
    config = configuration.load(file)
    store = Store.of(config)
    shutil.rmtree(store.root / "cache", ignore_errors=True)
    done = [replay(one(answers_of(store), each), config=config) for each in ids]
    for each in done:
        if not each.difference.is_equal:
            print(f"  differs: {each.kept.answer.question}: {each.difference.record}")
    same = sum(canonical(each.answer) == canonical(each.kept.answer) for each in done)
    said.write_text(json.dumps({"same": same, "sentences": _sentences(done)}))


def _sentences(done: Sequence) -> int:
    return sum(len(each.answer.sentences) for each in done)


def replayed(file: Path, ids: Sequence[str], *, when: str) -> Iterator[Bound]:
    said = file.with_name("said.json")
    process = SPAWN.Process(target=replay_all, args=(file, list(ids), said))
    process.start()
    process.join()
    found = json.loads(said.read_text()) if process.exitcode == 0 else {"same": 0, "sentences": 0}
    said.unlink(missing_ok=True)
    yield at_least(f"answers replayed, {when}", len(ids), 30)
    yield equal(f"of these, not equal byte for byte, {when}", len(ids) - found["same"], 0)
    yield at_least(f"sentences in the replays, {when}", found["sentences"], len(ids))


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of all units, by their ids, and by document or table."""

    by_id: Mapping[str, tuple[str, str]]
    """Document or table, and text."""
    by_uri: Mapping[str, set[str]]

    @classmethod
    def now(cls, config: Config) -> "Texts":
        columns = ["unit_id", "uri", "text"]
        joint = Store.of(config).read(config.tables_of("default").joint, columns=columns)
        by_id, by_uri = {}, defaultdict(set)
        for row in joint.to_pylist():
            by_id[row["unit_id"]] = row["uri"], row["text"]
            by_uri[row["uri"]].add(row["text"])
        return cls(by_id, by_uri)


def edit(home: Path, before: Texts) -> None:
    """Change a word of one indexed passage of a document, and one cell of a row."""
    path = home / "documents" / EDITED
    text = path.read_text("utf-8")
    passages = [line for line in text.splitlines() if len(line.split()) > 8]
    wanted = next(line for line in passages if any(line in each for each in before.by_uri[EDITED]))
    path.write_text(text.replace(wanted, wanted.replace(wanted.split()[3], "otherwise", 1)))
    with closing(sqlite3.connect(home / "materials.sqlite")) as database, database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(suppliers)")]
        key, changed = columns[0], columns[1]
        first = f'SELECT min("{key}") FROM suppliers'
        database.execute(
            f'UPDATE suppliers SET "{changed}" = ? WHERE "{key}" = ({first})', ["Otherwise"]
        )


def stale(config: Config, ids: Sequence[str], before: Texts) -> Iterator[Bound]:
    """What is told stale, against the texts themselves."""
    store = Store.of(config)
    now = Texts.now(config)
    served = Served.now(store, config)
    assert served is not None, "something serves"
    kept = [one(answers_of(store), each) for each in ids]
    told = {
        (each.answer_id, touched.sentence)
        for each, found in zip(kept, served.touched_of(kept), strict=True)
        for touched in found
    }
    wanted = {
        (each.answer_id, place)
        for each in kept
        for place, sentence in enumerate(each.answer.sentences, start=1)
        if any(not _stands(citation, before, now) for citation in sentence.citations)
    }
    sentences = sum(len(each.answer.sentences) for each in kept)
    print(f"{len(wanted)} of {sentences} sentences cite what was edited, {len(told)} are told")
    yield at_least("sentences whose source was edited", len(wanted), 2)
    yield at_least("sentences whose source was not", sentences - len(wanted), 2)
    yield equal("touched sentences that are not told stale", len(wanted - told), 0)
    yield equal("sentences told stale whose source stands", len(told - wanted), 0)


def _stands(citation: Citation, before: Texts, now: Texts) -> bool:
    """Whether what was cited is still written there: the text of a unit, or all rows of a table."""
    if isinstance(citation, Span | Cell):
        assert citation.unit_id is not None, "what is cited here are units"
        uri, text = before.by_id[citation.unit_id]
        return text in now.by_uri.get(uri, set())
    if isinstance(citation, Absence):
        if citation.plan is None:
            return before.by_uri == now.by_uri
        uri = f"{citation.plan['source']}/{citation.plan['table']}"
    else:
        rows = citation.rows if isinstance(citation, Computed) else citation
        uri = f"{rows.source}/{rows.table}"
    return before.by_uri.get(uri) == now.by_uri.get(uri)


def replaying(home: Path, *, most: int) -> Iterator[Bound]:
    """Replays before and after an edit, and what is stale after it."""
    config = project(home)
    file = home / "rag_assets.yaml"
    ids = ask_all(file, most=most)
    before = Texts.now(config)
    yield from replayed(file, ids, when="on the same index")
    edit(home, before)
    refresh(file)
    yield from stale(config, ids, before)
    yield from replayed(file, ids, when="on the versions from before an edit")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=60, help="how long answers are kept")
    options.add_argument("--rate", type=float, default=200, help="answers a second")
    options.add_argument("--writers", type=int, default=4, help="processes that keep them")
    options.add_argument("--questions", type=int, default=60, help="answers that are replayed")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        bounds = [
            *keeping(home, seconds=given.seconds, rate=given.rate, writers=given.writers),
            *replaying(home, most=given.questions),
        ]
    finish("replay", bounds)


if __name__ == "__main__":
    main()
