"""Recall: whoever was told what the sources no longer say is told so, once.

Of all answers that somebody got to one question, the newest counts: that is what they know. It is
touched by what serves now as `staleness` says. Touched answers are asked again: a computed one runs
its plan, a found one ranks again, a written one is written anew where its model has a budget. Where
value, cited text or outcome differs, there is a notice; a rank alone is none. The new answer is
kept, and is what is compared the next time.

A recall that is killed goes on where it was: each notice is one transaction with the new answer,
and what was compared is noted last. A rollback recalls nothing: what it went back to is compared
when something else is promoted, or the same again, of which nobody is told a second time.
"""

import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.answering.answer import Answer
from rag_assets.answering.assistant import AnswerModels, Assistant, open_models
from rag_assets.answering.record.answer_rows import Prepared
from rag_assets.answering.record.database import AnswersFile, answers_of
from rag_assets.answering.record.keeping import rows_listed_by
from rag_assets.answering.record.kept import KeptAnswer, context_of, cost_of, new_id
from rag_assets.answering.record.notices import Notices, kept_of, write
from rag_assets.answering.record.staleness import (
    Compared,
    Served,
    TouchedSentence,
    comparable,
    comparable_value,
    listed_rows,
)
from rag_assets.citations.kinds import Absence, Cell, Citation, Computed, PlanCitation, Rows, Span
from rag_assets.citations.sentences import Sentence
from rag_assets.config import NOBODY, Config
from rag_assets.identity import canonical_json, fingerprint
from rag_assets.process import clock
from rag_assets.process.errors import ExplainedError
from rag_assets.retrieval.access import Access
from rag_assets.store import Store, serving_pointer
from rag_assets.store import purges as purges_of
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.locks import locked
from rag_assets.store.serving_pointer import ServingPointer, ServingPointerError
from rag_assets.store.store import LOCKS
from rag_assets.table_lookup.looking_up import answer_plan
from rag_assets.table_lookup.plans.plan import plan_from_json
from rag_assets.table_lookup.sentences.citing import condition_units
from rag_assets.table_lookup.words.phrases import language_of

if TYPE_CHECKING:
    from pydantic import JsonValue

LOCK = "recall"
AT_ONCE = 200
"""Answers that are read and compared together."""
MOST_EXAMPLES = 20
UNREADABLE = (ExplainedError, sqlite3.Error, OSError)
"""What a file that is damaged or busy raises, and what serves that cannot be read."""
MOST_ASKED_AGAIN = 5_000
"""Answers that one recall asks again, at most; the next one goes on. One takes 5 to 100 ms."""
_NEWEST = """
    SELECT max(answer_id) AS answer_id FROM answers GROUP BY user, asked HAVING max(answer_id) > ?
"""

Log: TypeAlias = Callable[[str], None]
AskAgain: TypeAlias = Callable[[KeptAnswer], tuple[Assistant, Answer] | None]
"""Asks the question of a kept answer on what serves: who answered, and what. None where nobody may
be asked, or nobody could answer."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What one recall did."""

    compared: int = 0
    """Answers that were compared with what serves: the newest to each question of each user."""
    touched: int = 0
    """How many of them rest on something that changed."""
    told: int = 0
    """How many of those are another answer now: their notices."""
    left: int = 0
    """Touched answers that are left for the next recall."""
    seconds: float = 0.0
    why_not: str = ""
    """Why nothing was compared, if nothing was."""
    examples: tuple[tuple[str, str], ...] = ()
    """The question and what changed of the first notices, at most `MOST_EXAMPLES`."""

    @property
    def in_words(self) -> str:
        """What it did, in a sentence."""
        if self.why_not:
            return f"No kept answer was compared: {self.why_not}."
        left = f"; {self.left:,} are left for the next refresh" if self.left else ""
        return (
            f"Of {self.compared:,} kept answers, {self.touched:,} rest on what changed, and "
            f"{self.told:,} are another answer now{left}."
        )

    @property
    def news(self) -> str:
        """What the end of a refresh says of it; empty where nobody is told anything."""
        if not self.told:
            return ""
        is_one = self.told == 1
        changed = (
            "1 kept answer is another one" if is_one else f"{self.told:,} kept answers are others"
        )
        return f"{changed} now: `rag-assets answers notices` shows them."


@dataclass(frozen=True, slots=True)
class _Last:
    """Up to where answers were compared."""

    content: str = ""
    """What served (`ServingPointer.content`)."""
    number: int = 0
    """The number of that pointer."""
    answer_id: str = ""
    """The newest answer."""


def recall(store: Store, config: Config, *, log: Log) -> Recalled:
    """Write a notice for each kept answer that is another one on what serves now.

    Kept answers, or what serves, that cannot be read stop no refresh: the next recall goes on.

    Args:
        store: Holds the kept answers, and what serves.
        config: As it is now.
        log: Told about progress, and what was done.
    """
    try:
        done = _recalled(store, config, log=log)
    except UNREADABLE as error:
        done = Recalled(why_not=f"they cannot be: {error}")
    log(done.in_words)
    return done


def _recalled(store: Store, config: Config, *, log: Log) -> Recalled:
    file = answers_of(store)
    if not (file.exists and config.answering.keep):
        return Recalled(why_not="no answer is kept")
    with locked(store.root / LOCKS / f"{LOCK}.lock", log=log):
        pointer = serving_pointer.current(store)  # it may have moved while another one ran
        if pointer is None:
            return Recalled(why_not="nothing was promoted yet")
        if pointer.restores is not None:
            return Recalled(why_not="what serves was rolled back to, of which nobody is told")
        return _Recall(store, config, pointer, file, log).run()


class _Recall:
    """One recall."""

    def __init__(
        self, store: Store, config: Config, pointer: ServingPointer, file: AnswersFile, log: Log
    ) -> None:
        self._store, self._config, self._pointer = store, config, pointer
        self._file, self._log = file, log
        self._purges = purges_of.count(store.root)
        self._seen: dict[tuple[str, ...] | None, Served] = {}
        self._compared: Compared = (None, "")

    def run(self) -> Recalled:
        started = perf_counter()
        with self._file.reading() as connection:
            known = connection.execute("SELECT content, number, last_id FROM recalled").fetchone()
            last = _Last(*known) if known else _Last()
            after = last.answer_id if last.content == self._pointer.content else ""
            [newest] = connection.execute("SELECT max(answer_id) FROM answers").fetchone()
            if newest is None or newest <= after:
                return Recalled(seconds=perf_counter() - started)
            counted = f"SELECT count(*) FROM ({_NEWEST})"
            [compared] = connection.execute(counted, [after]).fetchone()
        self._compared = self._set_of(last), last.answer_id
        served = Served.now(self._store, self._config, compared=self._compared)
        if served is None:
            return Recalled(why_not="nothing serves yet")
        rules = Notices(self._file).watched()
        wanted = sorted({*self._resting_on_changes(served, last, after), *rules})
        touched = told = asked = left = 0
        examples: list[tuple[str, str]] = []
        with self._asking() as (plain, ask_again):
            for start in range(0, len(wanted), AT_ONCE):
                with self._file.reading() as connection:
                    kept = [*kept_of(connection, wanted[start : start + AT_ONCE]).values()]
                for each, of_it in self._touched(kept, served, plain):
                    is_watched = each.answer_id in rules and rules[each.answer_id] is None
                    touched += bool(of_it)
                    if (of_it or is_watched) and asked < MOST_ASKED_AGAIN:
                        asked += 1
                        is_told = self._compare(each, of_it, rules, served, ask_again)
                        told += is_told
                        if is_told and told <= MOST_EXAMPLES:
                            why = "; ".join(dict.fromkeys(one.why for one in of_it))
                            examples.append((each.answer.question, why))
                    elif of_it:
                        left += 1
                if len(wanted) > AT_ONCE:
                    self._log(f"{start + len(kept):,} of {len(wanted):,} answers: {told:,} changed")
        if not left and not self._is_purged:
            self._finish(_Last(self._pointer.content, self._pointer.number, newest))
        seconds = perf_counter() - started
        return Recalled(compared, touched, told, left, seconds, examples=tuple(examples))

    @property
    def _is_purged(self) -> bool:
        """Whether something was erased since it began: nothing that it holds is written."""
        return purges_of.count(self._store.root) != self._purges

    def _touched(
        self, kept: Sequence[KeptAnswer], served: Served, plain: Assistant
    ) -> Iterator[tuple[KeptAnswer, Sequence[TouchedSentence]]]:
        """The touched sentences of each answer, as far as who asked it sees what serves."""
        by_groups: dict[tuple[str, ...] | None, list[KeptAnswer]] = {}
        for each in kept:
            by_groups.setdefault(each.context.groups, []).append(each)
        for groups, answers in by_groups.items():
            if groups not in self._seen:
                view = plain.seen_by(Access(None if groups is None else frozenset(groups)))
                self._seen[groups] = served.seen_by(view)
            yield from zip(answers, self._seen[groups].touched_of(answers), strict=True)

    def _finish(self, last: _Last) -> None:
        with self._file.writing() as connection:
            connection.execute("DELETE FROM recalled")
            connection.execute(
                "INSERT INTO recalled VALUES (?, ?, ?)", [last.content, last.number, last.answer_id]
            )

    def _resting_on_changes(self, served: Served, last: _Last, after: str) -> Iterator[str]:
        """The answers that may be touched: found by what they cite, none of them is read."""
        cited = f"FROM units JOIN ({_NEWEST}) USING (answer_id) WHERE is_cited"
        with self._file.reading() as connection:
            units = connection.execute(f"SELECT DISTINCT unit_id {cited}", [after])
            ids = sorted(unit for (unit,) in units)
            now, before = served.comparable_hashes(ids)
            for answer_id, unit, text_hash in connection.execute(
                f"SELECT answer_id, unit_id, text_hash {cited}", [after]
            ):
                known = (text_hash, before.get(unit) if answer_id <= last.answer_id else None)
                if now.get(unit) is None or now[unit] not in known:
                    yield answer_id
            yield from self._resting_on_tables(connection, served, last, after)
            absent = (
                f"SELECT answer_id FROM answers JOIN ({_NEWEST}) USING (answer_id) "
                "WHERE outcome = 'nothing' AND (json_extract(context, '$.groups') IS NOT NULL "
                "OR answer_id NOT IN (SELECT answer_id FROM tables))"
            )
            yield from (answer_id for (answer_id,) in connection.execute(absent, [after]))

    def _resting_on_tables(
        self, connection: sqlite3.Connection, served: Served, last: _Last, after: str
    ) -> Iterator[str]:
        """The answers whose plans run on tables with other rows than when they were compared."""
        before, _ = self._compared
        tables = connection.execute(
            f"SELECT source, name, answer_id FROM tables JOIN ({_NEWEST}) USING (answer_id) "
            "ORDER BY source, name",
            [after],
        )
        for source, name, answer_id in tables:
            is_known = before is not None and answer_id <= last.answer_id
            if not (is_known and served.is_same_table(source, name, before)):
                yield answer_id

    def _set_of(self, last: _Last) -> CompleteSet | None:
        with suppress(ServingPointerError):
            return serving_pointer.recorded(self._store, last.number).complete_set
        return None

    @contextmanager
    def _asking(self) -> Generator[tuple[Assistant, AskAgain]]:
        """Asks again: a language model writes only where its budget says how much it may take."""
        store, config, pointer = self._store, self._config, self._pointer
        plain = Assistant(store, config, pointer=pointer)
        writer = config.answering.writer
        with ExitStack() as stack:
            writing: Assistant | None = None
            if writer not in (None, NOBODY) and _has_budget(config, writer):
                models = stack.enter_context(open_models(config))
                may = AnswerModels(writer=models.writer)
                writing = Assistant(store, config, pointer=pointer, models=may)
            yield plain, partial(_asked_again, plain, writing, log=self._log)

    def _compare(
        self,
        kept: KeptAnswer,
        touched: Sequence[TouchedSentence],
        rules: Mapping[str, float | None],
        served: Served,
        ask_again: AskAgain,
    ) -> bool:
        """Keep what an answer is now, and a notice where that is another one; whether there is."""
        made = ask_again(kept)
        if made is None:
            if not touched:
                return False
            units = sorted({unit for each in kept.answer.citations for unit, _ in each.units})
            hashes = served.hashes(units)
            content = fingerprint(*(f"{unit} {hashes.get(unit)}" for unit in units))
            return self._write(kept, None, content, touched)
        assistant, answer = made
        is_ruled = kept.answer_id in rules
        tolerance = rules.get(kept.answer_id)
        facts = facts_of(answer)
        is_other = facts != facts_of(kept.answer)
        if is_ruled and tolerance is not None and is_within(tolerance, kept.answer, answer):
            return False  # what people know stays what is compared
        if is_ruled and tolerance is None:
            is_other = is_other or _ranks(answer) != _ranks(kept.answer)
        if not (touched or is_other):
            return False
        at = clock.now()
        context = replace(
            context_of(
                assistant.index,
                assistant.config,
                retriever=kept.context.retriever,
                filters=kept.context.filters,
                user=kept.context.user,
                access=assistant.access,
                history=kept.context.history,
                listed=rows_listed_by(assistant, answer, kept.context.filters),
                cost=cost_of(answer),
            ),
            recalls=kept.answer_id,
        )
        after = Prepared(KeptAnswer(new_id(at), at, answer, context))
        content = fingerprint(*facts, *(_ranks(answer) if is_ruled else ()))
        return self._write(kept, after, content if is_other else None, touched) and is_other

    def _write(
        self,
        kept: KeptAnswer,
        after: Prepared | None,
        content: str | None,
        touched: Sequence[TouchedSentence],
    ) -> bool:
        notice = None if content is None else (content, self._pointer.number, touched)
        with self._file.writing() as connection:
            if self._is_purged:
                return False  # it may hold what was erased
            return write(connection, kept, after, notice=notice)


def facts_of(answer: Answer) -> list[str]:
    """What an answer says, whatever its ranks, places and wording: equal for equal answers."""
    return [answer.outcome, *sorted({each for one in answer.sentences for each in _facts(one)})]


def is_within(tolerance: float, before: Answer, after: Answer) -> bool:
    """Whether both answers give one number, which differs by at most `tolerance` of the first."""
    numbers = [_numbers(each) for each in (before, after)]
    if [len(each) for each in numbers] != [1, 1]:
        return False
    [(was, its_unit)], [(now, unit)] = numbers
    return unit == its_unit and abs(now - was) <= abs(was) * Decimal(repr(tolerance))


def _facts(sentence: Sentence) -> Iterator[str]:
    is_computed = any(isinstance(each, Computed) for each in sentence.citations)
    for each in sentence.citations:
        if not (is_computed and isinstance(each, Rows)):  # the value counts, not of how many rows
            yield canonical_json([each.kind, *_fact(each)])


def _fact(citation: Citation) -> list[str | int | None]:
    match citation:
        case Span():
            return [comparable(citation.text)]
        case Cell():
            return [comparable_value(citation), citation.unit]
        case Computed():
            return [citation.operation, str(citation.result), citation.unit]
        case Rows():
            return [citation.count]
        case Absence():
            return [citation.looked_for]


def _numbers(answer: Answer) -> set[tuple[Decimal, str | None]]:
    """The numbers that an answer gives, with their units."""
    computed = [each for each in answer.citations if isinstance(each, Computed)]
    given = [(each.result, each.unit) for each in computed] or [
        (each.value, each.unit) for each in answer.citations if isinstance(each, Cell)
    ]
    return {
        (Decimal(value), unit)
        for value, unit in given
        if isinstance(value, int | Decimal) and not isinstance(value, bool)
    }


def _ranks(answer: Answer) -> list[str]:
    return [f"{each.unit_id} {each.text_hash}" for each in answer.shown]


def _has_budget(config: Config, writer: str | None) -> bool:
    budget = config.language_models[writer].budget if writer in config.language_models else None
    return budget is not None and (budget.max_cost, budget.max_tokens) != (None, None)


def _asked_again(
    plain: Assistant, writing: Assistant | None, kept: KeptAnswer, *, log: Log
) -> tuple[Assistant, Answer] | None:
    """Who answers a kept question now, and what; None where nobody can or may."""
    chosen = writing if kept.answer.outcome == "written" else plain
    if chosen is None:
        return None
    groups = kept.context.groups
    try:
        assistant = chosen.seen_by(Access(None if groups is None else frozenset(groups)))
        answer = _computed_again(assistant, kept) or assistant.ask_again(
            kept.answer.question,
            read_as=kept.answer.read_as,
            filters=kept.context.filters,
            retriever=kept.context.retriever,
        )
    except ExplainedError as error:
        log(f"answer {kept.answer_id} cannot be asked again: {error}")
        return None
    is_unwritten = answer.generation is not None and not answer.generation.is_written
    return None if is_unwritten else (assistant, answer)


def _is_in_its_units(citation: Citation, assistant: Assistant) -> bool:
    """Whether the columns of the conditions of a plan have the units that they had."""
    rows = citation.rows if isinstance(citation, Computed) else citation
    if not isinstance(rows, Rows) or not rows.condition_units:
        return True
    table = assistant.catalogue.find(rows.source, rows.table)
    plan = plan_from_json(rows.plan)
    return table is None or condition_units(plan, table) == rows.condition_units


def _computed_again(assistant: Assistant, kept: KeptAnswer) -> Answer | None:
    """A computed answer by the plans of its sentences; None where one of them has no plan.

    Nor where a condition is about a column that has another unit now: its number is in that of
    then.
    """
    if kept.answer.outcome != "computed":
        return None
    resting = (*kept.answer.citations, *listed_rows(kept))
    if not all(_is_in_its_units(each, assistant) for each in resting):
        return None
    plans: dict[str, Mapping[str, JsonValue]] = {}
    for sentence in kept.answer.sentences:
        cited = (each.plan for each in sentence.citations if isinstance(each, PlanCitation))
        plan = next(filter(None, cited), kept.context.plan)
        if plan is None:
            return None
        plans[canonical_json(plan)] = plan
    found: list[Sentence] = []
    language = language_of(kept.answer.question)
    for plan in plans.values():
        looked = answer_plan(plan_from_json(plan), assistant.catalogue, language=language)
        if looked.outcome != "answered":
            return None
        found += [replace(each, compared="computed again") for each in looked.sentences]
    scope = replace(kept.answer.scope, variant=assistant.index.variant)
    return replace(kept.answer, sentences=tuple(found), scope=scope, shown=(), seconds={})
