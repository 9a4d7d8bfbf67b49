"""A question becomes a lookup plan, by rules.

Each table reads the question by itself (`composing`); the table that explains all its words, and
most of them by its own headings and values, is taken. A word that no reading explains, a name that
is not there, or two readings that give different results, and the question is refused: a wrong
answer costs more than none.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Literal, TypeAlias

from rag_assets.table_lookup.plans.plan import LookupPlan, PlanError
from rag_assets.table_lookup.plans.running import cells_of, run_plan
from rag_assets.table_lookup.question.composing import TableReading, read_table
from rag_assets.table_lookup.question.demands import unmet_demand
from rag_assets.table_lookup.question.describing import described
from rag_assets.table_lookup.question.labels import labels_of
from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.question.linking import CatalogueLinks, links_of
from rag_assets.table_lookup.question.planning import MOST_COMPARED
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.question.suggesting import suggestions_for
from rag_assets.table_lookup.question.time_limit import go_on
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.word_forms import folded, squashed
from rag_assets.terms.formulas import formula

UnclearKind: TypeAlias = Literal[
    "not_a_lookup", "no_table", "no_column", "no_value", "two_readings", "unit", "vague", "too_long"
]
_RATIO = re.compile(
    r"\b(?:how many (?:times|percent|per cent|%)|hur många (?:gånger|procent|%))"
    r" (?:more|less|mer|mindre|\w+(?:er|re))\b"
)
"""Asks how many times, or percent, one value is of another."""
LEAST_SHARE = 0.3
"""Share of a heading that must be said of each column that is used; fitted on dev."""
CLOSE_SCORE = 0.9
"""A second table whose score is at least this share of the best one's is a reading, too."""
FULLER = 0.3
"""How much more of its headings a table must have said, so that another is no second reading."""
OPEN = ("two_readings", "vague", "no_value", "no_column")
"""Kinds of failure of a table that a question is about; another table answers another question."""
MOST_CLOSEST = 3
MOST_SHOWN = 3
"""Readings that a refusal shows."""


@dataclass(frozen=True, slots=True)
class Understood:
    """A question as a plan."""

    plan: LookupPlan
    confidence: float
    """From 0.5 to 1: the share of the headings in use that was said, and that nothing else can be
    meant."""
    explanation: str
    """How the question was read, in words."""


@dataclass(frozen=True, slots=True)
class UnknownWords:
    """Words of a question that no table explains, and without which nothing answers it."""

    names: tuple[str, ...] = ()
    """Names, codes and formulas."""
    asked: tuple[str, ...] = ()
    """Words that say what is asked for."""


NOTHING_UNKNOWN = UnknownWords()


@dataclass(frozen=True, slots=True)
class Unclear:
    """A question without a plan."""

    reason: str
    """What stands in the way, in one sentence."""
    readings: tuple[str, ...]
    """How it could be read, where several ways differ."""
    kind: UnclearKind
    closest: tuple[str, ...] = ()
    """The nearest values that there are, where one is asked for that is not there."""
    unknown: UnknownWords = NOTHING_UNKNOWN
    """What the nearest table does not explain."""


def understand(question: str, catalogue: Catalogue) -> Understood | Unclear:
    """The plan that `question` asks for; or why none is made of it.

    Args:
        question: In English or Swedish.
        catalogue: The tables that may be asked; an index over them is built at the first question.
            Where its glossary has other words for those of the question, they are read as these
            second; where it has some for several words at once, the question is put in them.

    Raises:
        TooLongError: It takes longer than `time_limit.limited` allows.
        AbandonedError: Nobody waits for it: see `workers.raise_if_abandoned`.
    """
    links = links_of(catalogue)
    asked = links.parsed(question, with_terms=False)
    read = _understood(question, asked, catalogue)
    if isinstance(read, Understood):
        return read
    in_terms = links.parsed(question)
    if in_terms.words != asked.words:
        return _understood(question, in_terms, catalogue)
    other = catalogue.rephrased(question)
    if other is None:
        return read
    again = _understood(other, links.parsed(other), catalogue)
    if isinstance(again, Unclear):
        return read
    return replace(again, explanation=f"{again.explanation} (asked as: {other})")


def _understood(question: str, asked: AskedQuestion, catalogue: Catalogue) -> Understood | Unclear:
    try:
        return _read(question, asked, catalogue)
    except PlanError as error:  # such as a difference of one row
        return Unclear(str(error), (), "no_value")


def _read(question: str, asked: AskedQuestion, catalogue: Catalogue) -> Understood | Unclear:
    links = links_of(catalogue)
    if _asks_for_reasons(asked):
        return Unclear("it asks for reasons or advice, not for values", (), "not_a_lookup")
    readings = _readings(asked, links)
    if not readings:
        return Unclear("no word of it stands in a table", (), "not_a_lookup")
    accepted = [each for each in readings if each.plans]
    if not accepted:
        return _refused(asked, readings, links, catalogue)
    best = accepted[0]
    nearer = [
        each
        for each in readings
        if each.score > best.score and not each.unexplained and each.kind in OPEN
    ]
    if nearer:
        return _refused(asked, nearer, links, catalogue)
    if best.share < LEAST_SHARE:
        heading = " / ".join(described(plan, best.table) for plan in best.plans[:1])
        return Unclear(
            f"it may ask for this, but says too little to be sure: {heading}", (), "vague"
        )
    close = [
        each
        for each in accepted
        if each.score >= CLOSE_SCORE * best.score and each.share > best.share - FULLER
    ]
    plans = [(plan, reading) for reading in close for plan in reading.plans]
    agreed = _only_one(plans, catalogue) if len(plans) > 1 else plans[0]
    if isinstance(agreed, Unclear):
        return agreed
    plan, reading = agreed
    if reading.compares:
        plan = _of_filled(plan, reading, catalogue)
    if unmet := unmet_demand(question, plan, reading.table.info):
        heading = described(plan, reading.table)
        return Unclear(f"it asks for {unmet}, which this would not tell: {heading}", (), "vague")
    if problem := _several_dates(asked, plan, reading, catalogue):
        return problem
    if problem := _proves_nothing(plan, reading, catalogue):
        return problem
    return Understood(plan, round(0.5 + reading.share / 2, 3), described(plan, reading.table))


def _readings(asked: AskedQuestion, links: CatalogueLinks) -> list[TableReading]:
    """How the question reads on each table that has a word of it, the likeliest first."""
    readings: list[TableReading] = []
    for table in links.tables:
        go_on()
        readings.append(read_table(asked, table))
    return sorted((each for each in readings if each.score > 0), key=lambda each: -each.score)


def near_question(question: str, catalogue: Catalogue) -> tuple[str, str] | None:
    """A question like one that was refused, which asks for its operation and can be read.

    With it the numbers that its table has, in words.
    """
    links = links_of(catalogue)
    asked = links.parsed(question)
    return next(
        (
            (near, headings)
            for near, headings in suggestions_for(asked, _readings(asked, links))
            if isinstance(_understood(near, links.parsed(near), catalogue), Understood)
        ),
        None,
    )


def _asks_for_reasons(asked: AskedQuestion) -> bool:
    text = folded(asked.text)
    return (
        bool(_RATIO.search(asked.text.casefold()))
        or any(word.folded in vocabulary.NOT_A_LOOKUP for word in asked.words)
        or any(folded(phrase) in text for phrase in vocabulary.NOT_A_LOOKUP_PHRASES)
    )


def _only_one(
    plans: Sequence[tuple[LookupPlan, TableReading]], catalogue: Catalogue
) -> tuple[LookupPlan, TableReading] | Unclear:
    """The plan that all readings agree on; a reading that finds nothing speaks against no other."""
    results: dict[object, tuple[LookupPlan, TableReading]] = {}
    problem = ""
    for plan, reading in plans:
        try:
            found = run_plan(plan, catalogue)
        except PlanError as error:
            problem = problem or str(error)
            continue
        if found.row_ids or plan.operation == "count":
            key = (plan.table, tuple(sorted(found.row_ids)), found.value, plan.columns)
            results.setdefault(key, (plan, reading))
    if len(results) > 1:
        shown = tuple(described(plan, reading.table) for plan, reading in results.values())
        reason = "it can be read in two ways that give different results"
        return Unclear(reason, shown[:MOST_SHOWN], "two_readings")
    if not results and problem:
        return Unclear(problem, (), "no_value")
    return next(iter(results.values()), plans[0])


def _several_dates(
    asked: AskedQuestion, plan: LookupPlan, reading: TableReading, catalogue: Catalogue
) -> Unclear | None:
    """`when was it delivered` asks for one date: two rows are two things that may be meant."""
    if asked.words[0].folded not in ("when", "nar") or plan.operation != "rows":
        return None
    if plan.order_by is not None and _says_extreme(asked, reading.table.column(plan.order_by)):
        plan = replace(plan, order_by=None, descending=False, limit=None)
    count = len(run_plan(plan, catalogue).row_ids)
    if count < 2:
        return None
    return Unclear(f"it asks for one date, and {count} rows may be meant", (), "two_readings")


def _of_filled(plan: LookupPlan, reading: TableReading, catalogue: Catalogue) -> LookupPlan:
    """`Compare A and B` names no column: those that are empty in all rows meant are left out."""
    visible = tuple(each.name for each in reading.table.info.columns if not each.is_hidden)
    if plan.columns != visible[:MOST_COMPARED]:
        return plan
    found = run_plan(plan, catalogue)
    filled = tuple(
        name
        for name in plan.columns
        if any(cell is not None for cell in cells_of(found, catalogue, name))
    )
    return replace(plan, columns=filled) if {*filled} - {*labels_of(reading.table)} else plan


def _proves_nothing(
    plan: LookupPlan, reading: TableReading, catalogue: Catalogue
) -> Unclear | None:
    """A value that is asked for and empty; or words within longer values that count to 0.

    That no row holds `weldable` and `aluminium` together does not say that there is none.
    """
    found = run_plan(plan, catalogue)
    within = [condition for condition in plan.where if condition.op == "in"]
    if plan.operation == "count" and len(within) > 1 and not found.row_ids:
        return Unclear(
            "no row holds all of these words, each of which stands in others", (), "vague"
        )
    asked = [each for each in plan.columns if each not in labels_of(reading.table)]
    empty = [
        name for name in asked if all(cell is None for cell in cells_of(found, catalogue, name))
    ]
    if empty and found.row_ids:
        headings = ", ".join(reading.table.column(name).info.heading for name in empty)
        rows = ", ".join(found.row_keys[:MOST_SHOWN])
        return Unclear(f"{headings} is empty in the rows meant: {rows}", (), "no_value")
    return None


def _says_extreme(asked: AskedQuestion, column: LinkedColumn) -> bool:
    """Whether the extreme is a word of the heading: `last` of `Date of last audit`."""
    return any(
        asked.words[place].forms & column.forms
        for mark in asked.marks
        if mark.operation in ("max", "min")
        for place in mark.words
    )


def _refused(
    asked: AskedQuestion,
    readings: Sequence[TableReading],
    links: CatalogueLinks,
    catalogue: Catalogue,
) -> Unclear:
    best = min(readings, key=lambda each: (len(each.unexplained), -each.score))
    is_asked = _asked_words(asked)
    names = [
        asked.words[place].text
        for place in best.unexplained
        if asked.words[place].is_name or formula(asked.words[place].text)
    ]
    wanted = [asked.words[place].text for place in best.unexplained if place in is_asked]
    unknown = UnknownWords(tuple(names), tuple(wanted))
    names = list(dict.fromkeys(names))
    if names:
        if place := _cell_with(names, catalogue):
            return Unclear(f"{place}, but not what is asked about it", (), "no_column")
        near = chain.from_iterable(_closest(name, links) for name in names)
        closest = tuple(islice(near, MOST_CLOSEST))
        shown = f"; the nearest there are: {', '.join(closest)}" if closest else ""
        return Unclear(f"no table has {', '.join(names)}{shown}", (), "no_value", closest, unknown)
    if best.unexplained:
        words = list(dict.fromkeys(asked.words[place].text for place in best.unexplained))
        is_vague = any(folded(word) in vocabulary.VAGUE for word in words)
        told = " or ".join(f"'{word}'" for word in words)
        reason = f"the table {best.table.info.title} has no heading and no value for {told}"
        kind: UnclearKind = "vague" if is_vague else "no_column"
        if len(best.unexplained) > 2:
            kind = "not_a_lookup" if best.score < 3 else "no_column"
        return Unclear(reason, (), kind, unknown=unknown)
    return Unclear(best.reason or "it asks for nothing that a table has", (), best.kind or "vague")  # ty: ignore


def _cell_with(names: Sequence[str], catalogue: Catalogue) -> str | None:
    """Where a cell holds all of `names`, however it spells them: `fi-7160` is in `Fujitsu fi 7160`.

    Looked for in each cell of the tables: only so can it be said that no table has them. A name
    without a digit is a word of the cell: `PO` is not in `Tripod`.
    """
    for table in catalogue.tables:
        texts = catalogue.texts(table)
        for column in table.columns:
            for value in texts[column.name].unique().drop_null().to_pylist():
                if not column.is_hidden and all(_holds(value, name) for name in names):
                    return f"{value} stands in {table.title}, {column.heading}"
    return None


def _holds(value: str, name: str) -> bool:
    wanted = squashed(name)
    if any(letter.isdigit() for letter in wanted):
        return wanted in squashed(value)
    return wanted in map(squashed, value.split())


def _closest(name: str, links: CatalogueLinks) -> tuple[str, ...]:
    """Values with a digit that are spelled most like `name`."""
    key = squashed(name)
    known = {squashed(value): value for value in links.identifiers}
    near = difflib.get_close_matches(key, known, n=MOST_CLOSEST, cutoff=0.7)
    return tuple(known[each] for each in near)


def _asked_words(question: AskedQuestion) -> frozenset[int]:
    """Places of the words that say what is asked for: `which colour` of `which colour has R16`.

    They follow the first word that asks, or begin the question where none does.
    """
    words = [word.text.casefold() for word in question.words]
    asking = next((place for place, word in enumerate(words) if word in vocabulary.ASKING), -1)
    start = asking + 1
    while start < len(words) and words[start] in vocabulary.BEFORE_THE_ASKED:
        start += 1
    end = start
    while end < len(words) and words[end] not in vocabulary.AFTER_THE_ASKED:
        end += 1
    return frozenset(range(start, end))
