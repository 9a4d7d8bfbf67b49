"""Whoever was told what is no longer so is told that, once; what changes nothing is told to nobody.

usage: recall.py [--answers 2000] [--changes 200] [--same 200] [--batches 5] [--kills 12]
       [--home FOLDER]

People ask three corpora (`recall_data`): real questions where there are some, questions made from
rows and sentences else, follow-ups, under filters, as users in groups and as users without a name.
Then the sources are changed in batches: values edited, sentences reversed, rows deleted, documents
superseded, units renamed. After each batch the index is refreshed and answers are recalled, by
processes of which some are killed with -9 at random moments, and once in a while what serves is
rolled back and promoted again meanwhile. Which answers are affected is told by the sources alone.
An affected answer whose question is answered in the same words now (they stand in another document
too) may be told or not: it is counted apart.

Then the CPU of a recall is measured after one edit, less what it takes to ask the touched answers
again, and that of a refresh with nothing to do, with kept answers and without, in turns. At last
come changes that change nothing of what is said: of these nobody may be told.

With --home, what is built first is kept in that folder, and used again.
"""

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from unittest.mock import patch

from bounds import Bound, at_least, at_most, equal, finish
from recall_data import (
    DATA,
    MACHINES,
    MANUALS,
    PROPERTIES,
    PURCHASING,
    Sees,
    Truth,
    World,
    place_of,
    renumbered,
    reversed_,
    said,
    with_other_unit,
)

from rag_assets import config as configuration
from rag_assets.answering.answer import Answer
from rag_assets.answering.assistant import Assistant
from rag_assets.answering.condensation.conversation import Turn
from rag_assets.answering.record import recalling
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.keeping import keep_asked
from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.answering.record.notices import kept_of
from rag_assets.answering.record.recalling import Recalled, recall
from rag_assets.citations.kinds import Cell, Computed, Span
from rag_assets.config import Config
from rag_assets.operations.serving_index.promotion import promote
from rag_assets.operations.serving_index.rollback import roll_back
from rag_assets.questions.from_tables import contents_at, made_of
from rag_assets.retrieval.access import EVERYTHING, Access
from rag_assets.retrieval.filters import Filters
from rag_assets.store import Store
from rag_assets.table_lookup.plans.plan import plan_to_json
from rag_assets_testing.faults.pipeline import refresh

SPAWN = multiprocessing.get_context("spawn")
SEED = 64
USERS = (
    ("anna", None),
    ("berta", None),
    (None, None),
    ("stina", ("staff",)),
    ("bo", ("board", "staff")),
)
LATER = "vera"
"""Asks while what serves is rolled back."""
KINDS = ("value edited", "sentence reversed", "row deleted", "superseded", "unit renamed")
ROLLED_BACK = (1, 3)
TRIES = 4_000
DRAWS = 32
CUT = 8
TURNS = 9


@dataclass(frozen=True)
class Question:
    text: str
    filters: Filters | None = None
    before: tuple[Turn, ...] = ()


def quiet(_line: str) -> None:
    """Say nothing."""


def sees_of(groups: Sequence[str] | None) -> Sees:
    return lambda source, uri: (
        groups is None or "board" in groups or source != "plant" or not uri.startswith("board/")
    )


def words_of(answer: Answer) -> tuple[str, ...]:
    return (answer.outcome, *sorted({said(each.text) for each in answer.sentences}))


@dataclass
class Run:
    """A world with its index and its kept answers."""

    world: World
    random: random.Random
    kept: dict[str, KeptAnswer] = field(default_factory=dict)
    plans: dict[str, Mapping] = field(default_factory=dict)
    """The plan of each question that was made of one."""
    seconds: float = 4.0
    """How long a recall takes."""
    kills: int = 0

    @property
    def config(self) -> Config:
        return configuration.load(self.world.file)

    @property
    def store(self) -> Store:
        return Store.of(self.config)

    def serve(self, variant: str = "default") -> None:
        """Refresh a variant, and let it serve whatever the gate says."""
        config = self.config
        refresh(config, variant=variant, allow_shrink=True)
        promote(self.store, config, variant, override="a benchmark", log=quiet)

    def newest(self) -> dict[str, KeptAnswer]:
        """The newest answer of each user to each question, by its id."""
        last: dict[object, str] = {}
        columns = "answer_id, user, question, answer ->> '$.read_as', context ->> '$.filters'"
        with answers_of(self.store).reading() as connection:
            query = f"SELECT {columns} FROM answers ORDER BY answer_id"
            for answer_id, user, question, read_as, filters in connection.execute(query):
                last[user, read_as or question, filters] = answer_id
            new = {each for each in last.values() if each not in self.kept}
            self.kept |= kept_of(connection, new)
        return {each: self.kept[each] for each in last.values()}

    def notices(self) -> list[tuple[str, str, str | None]]:
        """Answer, content and user of each notice."""
        with answers_of(self.store).reading() as connection:
            columns = "answer_id, content, user FROM notices JOIN answers USING (answer_id)"
            return connection.execute(f"SELECT {columns}").fetchall()

    def ask(
        self, question: Question, users: Sequence[tuple[str | None, Sequence[str] | None]]
    ) -> None:
        """Ask for each of `users`, and keep the answers; who sees the same asks once."""
        assistant, given = self._assistant, {}
        for user, groups in users:
            view = assistant.seen_by(Access(frozenset(groups)) if groups else EVERYTHING)
            if groups not in given:
                given[groups] = view.ask(
                    question.text, said=question.before, filters=question.filters
                )
            keep_asked(
                view,
                given[groups],
                retriever=None,
                filters=question.filters,
                user=user,
                said=question.before,
            )

    def open(self) -> None:
        """Ask what serves now from here on."""
        self._assistant = Assistant(self.store, self.config)

    def asked_again(self, kept: KeptAnswer) -> Answer:
        groups = kept.context.groups
        view = self._assistant.seen_by(Access(None if groups is None else frozenset(groups)))
        return view.ask_again(
            kept.answer.question,
            read_as=kept.answer.read_as,
            filters=kept.context.filters,
            retriever=None,
        )

    def recall(self, *, kills: int = 0) -> Recalled:
        """Recall; before that so many processes do, which are killed at random moments."""
        for _ in range(kills):
            ready, go = SPAWN.Event(), SPAWN.Event()
            process = SPAWN.Process(target=recall_in_child, args=(self.world.file, ready, go))
            process.start()
            ready.wait()
            go.set()
            process.join(self.random.uniform(0.0, self.seconds / 2))
            if process.is_alive() and process.pid:
                os.kill(process.pid, signal.SIGKILL)
                self.kills += 1
            process.join()
        started = time.perf_counter()
        done = recall(self.store, self.config, log=quiet)
        if not kills and done.touched:
            self.seconds = time.perf_counter() - started
        return done


def recall_in_child(file: Path, ready, go) -> None:  # noqa: ANN001 - events have no public type
    """Recall in a process that may be killed at any moment."""
    import lancedb  # noqa: F401 - so that a kill hits work and not imports

    config = configuration.load(file)
    ready.set()
    go.wait()
    recall(Store.of(config), config, log=quiet)


def made_of_tables(run: Run) -> dict[str, Mapping]:
    """Questions made of the tables as they are first, with the plan of each."""
    store, config = run.store, run.config
    return {
        draft.question: plan_to_json(draft.plan)
        for source, table in run.world.raw().tables
        for made in [
            made_of(contents_at(store, f"{source}/{table}"), config.questions, draws=DRAWS)
        ]
        for draft in made.drafts
        if draft.plan is not None
    }


def questions(run: Run) -> list[Question]:
    """What is asked, in an order by chance."""
    drawn, found = run.random, [Question("Who may work on this machine?")]
    for place, machine in enumerate(MACHINES):
        asked = [f"What is the {name} of the {machine}?" for name, _, _ in PROPERTIES]
        asked.append(f"May the guard of the {machine} be opened while the spindle turns?")
        asked.append(f"What is the torque of the hinge pin {101 + place}?")
        asked.append(f"What does the spare kit {machine} cost?")
        found += map(Question, asked)
        found.append(Question(asked[place % 4], Filters(source="plant")))
        found.append(Question(asked[place % 4], Filters(versions="all")))
        before = (Turn(asked[0], ""),)
        found.append(Question(f"And the {PROPERTIES[3][0]}?", before=before))
    for place in range(40):
        code = f"QX-{4700 + place}"
        run.world.absent.append(code)
        found.append(Question(f"What is the hardness of {code}?"))
    files = (DATA, MANUALS, PURCHASING)
    lines = [line for each in files for line in (each / "questions.jsonl").open(encoding="utf-8")]
    found += [Question(json.loads(line)["question"]) for line in lines]
    run.plans |= made_of_tables(run)
    found += map(Question, run.plans)
    store, config = run.store, run.config
    units = store.read(config.tables_of("default").joint, columns=["unit_id", "uri", "text"])
    texts = sorted(units.to_pylist(), key=lambda row: row["unit_id"])
    for row in drawn.sample([each for each in texts if len(each["text"]) > 80], 160):
        words = row["text"].split()
        start = drawn.randrange(max(1, len(words) - CUT))
        found.append(Question(" ".join(words[start : start + CUT])))
    unlike = {(each.text, each.filters, each.before): each for each in found}
    return drawn.sample([*unlike.values()], len(unlike))


def ask_all(run: Run, *, most: int) -> None:
    """Ask and keep, until there are so many answers of different users to different questions."""
    run.open()
    asked = questions(run)
    each, started = -(-most // len(asked)), time.perf_counter()
    left = most
    for place, question in enumerate(asked):
        own = min(each, len(USERS), left)
        users = [USERS[(place + other) % len(USERS)] for other in range(own)]
        run.ask(question, users)
        left -= own
    took = time.perf_counter() - started
    print(
        f"{most - left:,} answers to {len(asked):,} questions were kept in {took:.0f} s", flush=True
    )


def change(run: Run, kind: str, kept: KeptAnswer, *, may_delete: bool) -> bool:
    """Make one change of a kind to what an answer cites; whether there was one to make."""
    world, drawn = run.world, run.random
    sentences = [each for each in kept.answer.sentences if each.citations]
    cited = drawn.choice(drawn.choice(sentences).citations) if sentences else None
    cited = cited.inputs[0] if isinstance(cited, Computed) and cited.inputs else cited
    if isinstance(cited, Cell) and "#" in cited.table:
        uri = cited.table.partition("#")[0]
        if uri not in world.sheets:
            return False
        return (kind == "value edited" and world.edit_part(uri)) or (
            kind == "superseded" and world.supersede(uri)
        )
    if isinstance(cited, Cell):
        row_key = cited.row_key
        if cited.source == "lists":
            row_key = str(place_of(kept, cited, world.raw()) or "")
        place = cited.source, cited.table, row_key
        if not row_key:
            return False
        if kind == "value edited":
            is_moving = cited.source == "lists" and may_delete
            return not is_moving and world.edit_cell(*place, cited.column.partition(" [")[0])
        if kind == "row deleted":
            return (cited.source != "lists" or may_delete) and world.delete_row(*place)
        column = cited.column.partition(" [")[0]
        return kind == "unit renamed" and world.rename_unit(*place[:2], column)
    if isinstance(cited, Span) and cited.source == "plant":
        if kind == "superseded":
            return world.supersede(cited.uri)
        edits = {
            "value edited": renumbered,
            "sentence reversed": reversed_,
            "unit renamed": with_other_unit,
        }
        edit = edits.get(kind)
        if cited.uri not in world.sheets or edit is None:
            return False
        return world.edit_sheet(cited.uri, edit, about=cited.text)
    if isinstance(cited, Span):
        return kind in KINDS[:2] and world.edit_file(cited.source, cited.uri, cited.text)
    if kind == "value edited" and kept.answer.outcome == "nothing":
        return world.say_absent(drawn.choice([*world.sheets]))
    return False


def true_changes(run: Run, given: argparse.Namespace) -> Iterator[Bound]:
    """Changes of all kinds in batches, each with a refresh and a recall."""
    changes, kills, batches = given.changes, given.kills, given.batches
    made: Counter[str] = Counter()
    found = missed = false = twice = others = alike = 0
    mine = {each: kept.context.user for each, kept in run.newest().items()}
    for batch in range(batches):
        newest, before = run.newest(), run.world.raw()
        mine |= {
            each: mine[kept.context.recalls]
            for each, kept in newest.items()
            if kept.context.recalls in mine
        }
        known = {each[:2] for each in run.notices()}
        run.world.edits.clear()
        for kind in KINDS:
            wanted = changes // len(KINDS) * (batch + 1) // batches
            for _ in range(TRIES):
                if made[kind] >= wanted:
                    break
                kept = run.random.choice([*newest.values()])
                made[kind] += change(run, kind, kept, may_delete=batch % 2 == 0)
        run.serve()
        run.open()
        edits = tuple(run.world.edits)
        truth = Truth(before, run.world.raw(), run.world.keys, edits, run.plans)
        touched = {
            each
            for each, kept in newest.items()
            if truth.affects(kept, sees_of(kept.context.groups))
        }
        own_kills = (kills * (batch + 1)) // batches - (kills * batch) // batches if batch else 0
        later: set[str] = set()
        if batch in ROLLED_BACK:
            run.recall(kills=own_kills)
            later = rolled_back(run, [newest[each] for each in sorted(touched)[:3]])
            mine |= dict.fromkeys(later, LATER)
            later = {each for each in later if truth.affects(run.kept[each], sees_of(None))}
        done = run.recall(kills=own_kills)
        again = run.recall()
        new = [each for each in run.notices() if each[:2] not in known]
        told = Counter(answer_id for answer_id, _, _ in new)
        same = {
            each
            for each in touched - {*told}
            if words_of(newest[each].answer) == words_of(run.asked_again(newest[each]))
        }
        wanted_now = (touched - same) | later
        found += len(wanted_now & {*told})
        missed += len(wanted_now - {*told})
        false += len({*told} - touched - later)
        twice += sum(told.values()) - len(told) + again.told
        others += sum(mine.get(answer_id, "?") != user for answer_id, _, user in new)
        alike += len(same)
        print(
            f"batch {batch}: {sum(made.values())} changes; {len(touched)} answers affected, "
            f"{len(same)} of them answered in the same words, {len(told)} told; touched by the "
            f"recall: {done.touched}",
            flush=True,
        )
        for each in sorted(wanted_now - {*told})[:6]:
            show("missed", run, run.kept[each])
        for each in sorted({*told} - touched - later)[:6]:
            show("false", run, run.kept[each])
    print(f"changes: {dict(made)}; {alike} affected answers said the same")
    yield equal("true changes", sum(made.values()), changes)
    yield at_least("answers affected by them", found + missed, 200)
    yield at_least("affected answers that were told, share", found / max(1, found + missed), 0.99)
    yield equal("told twice", twice, 0)
    yield equal("told to another", others, 0)
    yield equal("told though nothing of it changed", false, 0)
    yield at_least("recalls that were killed", run.kills, kills * 0.6)


def rolled_back(run: Run, affected: Sequence[KeptAnswer]) -> set[str]:
    """Go back, let somebody ask what was affected, and serve the new content again.

    Returns:
        The answers of the content of before.
    """
    before = {*run.newest()}
    roll_back(run.store, run.config)
    run.open()
    if run.recall().told:
        print("told of a rollback")
    for each in affected:
        run.ask(
            Question(each.answer.read_as or each.answer.question, each.context.filters),
            [(LATER, None)],
        )
    asked = {each for each in run.newest() if each not in before}
    promote(run.store, run.config, "default", override="a benchmark", log=quiet)
    run.open()
    return asked


def show(what: str, run: Run, kept: KeptAnswer) -> None:
    """Print an answer that the recall and the sources judge otherwise."""
    print(f"  {what}: {kept.answer.question} ({kept.context.user}, {kept.context.filters})")
    for line in kept.answer.sentences:
        print(f"    - {line.text[:200]!r} {[each.place for each in line.citations][:2]}")
    for line in run.asked_again(kept).sentences:
        print(f"    + {line.text[:200]!r} {[each.place for each in line.citations][:2]}")


def same_changes(run: Run, *, changes: int) -> Iterator[Bound]:
    """Changes that change nothing of what is said."""
    world, drawn = run.world, run.random
    made: Counter[str] = Counter()
    at_once = changes // 5 + 1

    def texts() -> list[tuple[str, str]]:
        places = [*world.raw().hashes]
        return [place for place in places if place[0] == "plant" or Path(place[1]).suffix in TEXTS]

    def set_otherwise() -> None:
        for place in drawn.sample(texts(), at_once):
            world.set_otherwise(*place)
            made["white space"] += 1

    def move() -> None:
        for source, uri in drawn.sample([*world.raw().hashes], at_once):
            for each in world.places_of(source, uri):
                path = Path(each)
                name = f"renamed_{path.name}" if source == "manuals" else path.name
                world.move(source, each, (path.parent / "moved" / name).as_posix())
                made["moved or renamed"] += 1

    def archive() -> None:
        for uri in world.replaced_sheets():
            path = Path(uri)
            world.move("plant", uri, (path.parent / "archive" / path.name).as_posix())
            made["old version archived"] += 1

    def reorder() -> None:
        for place in world.raw().tables:
            world.reorder(*place)
            made["rows reordered"] += 1

    def swap(variant: str) -> None:
        made[f"variant {variant}"] += 1

    variants = ("parsed", "chunked", "as_json", "embedded", "default")
    steps = [set_otherwise, move, reorder, *(partial(swap, each) for each in variants)]
    told: list[str] = []
    run.recall()
    for step in (*steps, set_otherwise, archive, move, reorder):
        known, total = {each[:2] for each in run.notices()}, made.copy()
        step()
        run.serve(step.args[0] if isinstance(step, partial) else "default")
        done = run.recall()
        new = [each for each in run.notices() if each[:2] not in known]
        told += [answer_id for answer_id, _, _ in new]
        print(
            f"{dict(made - total)}: compared {done.compared}, touched {done.touched}, "
            f"told {len(new)}, {done.seconds:.1f} s",
            flush=True,
        )
        run.newest()
        run.open()
        for answer_id, _, _ in new[:6]:
            show("false", run, run.newest().get(answer_id) or read(run, answer_id))
    print(f"changes of nothing: {dict(made)}")
    yield at_least("changes of nothing", sum(made.values()), changes)
    yield equal("told of a change of nothing", len(told), 0)


TEXTS = (".md", ".html", ".txt")


def read(run: Run, answer_id: str) -> KeptAnswer:
    with answers_of(run.store).reading() as connection:
        return kept_of(connection, [answer_id])[answer_id]


def costs(run: Run) -> Iterator[Bound]:
    """The CPU of a recall for answers that nothing touched, and of a refresh with nothing to do."""
    world, real = run.world, recalling._asked_again
    asked: list[float] = []

    def timed(*arguments, **named):  # noqa: ANN002, ANN003, ANN202 - as what it stands for
        began = time.process_time()
        try:
            return real(*arguments, **named)
        finally:
            asked.append(time.process_time() - began)

    uri = next(each for each in world.sheets if each == world.raw_newest(world.sheets[each]))
    world.edit_sheet(uri, renumbered, about=world.sheets[uri].text)
    run.serve()
    newest = len(run.newest())
    with patch.object(recalling, "_asked_again", timed):
        began = time.process_time()
        done = recall(run.store, run.config, log=quiet)
        cpu = time.process_time() - began
    each = 1_000 * (cpu - sum(asked)) / max(1, done.compared - done.touched)
    print(
        f"a recall over {done.compared} answers of which {done.touched} are touched takes "
        f"{cpu:.2f} s of CPU, {sum(asked):.2f} s of it to ask these again"
    )
    yield equal("answers that were not compared", newest - done.compared, 0)
    yield at_least("touched answers", done.touched, 1)
    yield at_most("ms of CPU for an answer that nothing touched", each, 1.0)
    file = answers_of(run.store)
    aside = file.path.with_suffix(".aside")
    took: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(2 * TURNS):
        has_answers = turn % 2 == 0
        if not has_answers:
            file.close()
            file.path.rename(aside)
        began = time.process_time()  # of wall time, other work on the machine takes its share
        refresh(run.config)
        recall(run.store, run.config, log=quiet)
        took[has_answers].append(time.process_time() - began)
        if not has_answers:
            file.close()
            with suppress(FileNotFoundError):
                file.path.unlink()
            aside.rename(file.path)
    with_, without = (statistics.median(took[each][1:]) for each in (True, False))
    print(f"a refresh with nothing to do: {with_:.3f} s of CPU, {without:.3f} s without answers")
    yield at_most(
        "a refresh with nothing to do, share of one without kept answers", with_ / without, 1.1
    )


def made_first(home: Path, *, answers: int) -> None:
    """Write the sources, build the index, and ask."""
    home.mkdir(parents=True, exist_ok=True)
    drawn = random.Random(SEED)
    world = World(home, drawn)
    world.write()
    world.remember()
    run = Run(world, drawn)
    started = time.perf_counter()
    refresh(run.config)
    print(f"built in {time.perf_counter() - started:.0f} s", flush=True)
    ask_all(run, most=answers)
    (home / "absent.json").write_text(json.dumps(world.absent))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--answers", type=int, default=2_000)
    options.add_argument("--changes", type=int, default=200)
    options.add_argument("--same", type=int, default=200)
    options.add_argument("--kills", type=int, default=12)
    options.add_argument("--batches", type=int, default=5)
    options.add_argument("--home", type=Path, help="keeps what is built first")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        base, home = given.home or Path(temporary) / "base", Path(temporary) / "work"
        if not (base / "absent.json").exists():
            shutil.rmtree(base, ignore_errors=True)
            made_first(base, answers=given.answers)
        shutil.copytree(base, home)
        drawn = random.Random(SEED)
        world = World(home, drawn, absent=json.loads((home / "absent.json").read_text()))
        world.remember()
        run = Run(world, drawn)
        run.plans |= made_of_tables(run)
        run.serve()
        run.open()
        newest = run.newest()
        print(
            f"{len(newest):,} answers: "
            f"{dict(Counter(each.answer.outcome for each in newest.values()))}"
        )
        cited = Counter(
            type(one).__name__ for each in newest.values() for one in each.answer.citations
        )
        print(f"citations: {dict(cited)}", flush=True)
        first = run.recall()
        print(
            f"first recall: compared {first.compared}, touched {first.touched}, told {first.told}"
        )
        bounds: list[Bound] = [
            at_least("kept answers", len(newest), given.answers),
            equal("told before anything changed", first.told, 0),
            *(true_changes(run, given) if given.changes else ()),
            *costs(run),
            *(same_changes(run, changes=given.same) if given.same else ()),
        ]
    finish("recall", bounds)


if __name__ == "__main__":
    main()
