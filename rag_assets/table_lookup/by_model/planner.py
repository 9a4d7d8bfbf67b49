"""Whoever reads a question that the rules refuse, and what is asked of the plan that it gives.

A planner is less sure than the rules, so its plan must account for the question: it is refused
where a number, an identifier, a name or a negation of the question has no part in it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rag_assets.citations.values import Number
from rag_assets.table_lookup.plans.plan import LookupPlan, PlanError, PlanValue, validated
from rag_assets.table_lookup.question.demands import unmet_demand
from rag_assets.table_lookup.question.describing import described
from rag_assets.table_lookup.question.linking import TableLinks, links_of
from rag_assets.table_lookup.question.quantities import Quantity, counted_words
from rag_assets.table_lookup.question.question import ORDINALS, AskedQuestion
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.word_forms import QuestionWord, folded, forms, words_of
from rag_assets.terms.formulas import formula
from rag_assets.terms.units import converted

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.catalogue import Catalogue

MOST_ROWS_FOUND = 50
"""A plan of a planner that selects more rows to show has most likely missed a condition."""
CONFIDENCE = 0.5
"""The confidence of a plan by a planner: the least at which a reading counts."""
_PART = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_BEFORE_NUMBER, _BEFORE_WORD = r"(?<!\d)(?<!\d[.,])", r"(?<![^\W_])"
_AFTER = r"(?![^\W_])(?![.,]\d)"
"""What must not stand around an identifier: `316` is not said by `316L`, nor `80` by `80.5`."""
_NEGATIVE = ("!=", "empty")


@dataclass(frozen=True, slots=True)
class Unplanned:
    """A question for which a planner has no plan."""

    reason: str
    """Why there is no plan, as a clause."""


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question as a plan by a planner, which accounts for it."""

    plan: LookupPlan
    reading: str
    """How the question was read, in words, and by whom."""


class Planner(Protocol):
    """Reads questions that the rules refuse."""

    @property
    def name(self) -> str:
        """Who it is, in words: `the language model writer`."""
        ...

    def plan(self, question: str, catalogue: "Catalogue") -> LookupPlan | Unplanned:
        """A plan over one table of `catalogue`, not yet validated; or why there is none."""
        ...


def plan_by(planner: Planner, question: str, catalogue: "Catalogue") -> PlannedQuestion | Unplanned:
    """The plan of `planner` for `question`, if it can be run and accounts for the question."""
    plan = planner.plan(question, catalogue)
    if isinstance(plan, Unplanned):
        return plan
    try:
        plan = validated(plan, catalogue)
    except PlanError as error:
        return Unplanned(str(error))
    links = links_of(catalogue)
    named = (plan.source, plan.table)
    table = next(
        (each for each in links.tables if (each.info.source, each.info.table) == named), None
    )
    if table is None:
        return Unplanned(f"{plan.source}/{plan.table} is no table of a source")
    reading = described(plan, table)
    if plan.limit is not None and plan.order_by is None:
        return Unplanned(f"it takes some rows of many without an order: {reading}")
    asked = links.parsed(question)
    if plan.limit not in (None, 1, *_counts(asked)):
        return Unplanned(f"nobody asked for {plan.limit} rows: {reading}")
    if unmet := unmet_demand(question, plan, table.info):
        return Unplanned(f"the question asks for {unmet}, and this does not: {reading}")
    if left := tuple(dict.fromkeys(unaccounted(asked, plan, table))):
        return Unplanned(f"{', '.join(left)} of the question has no part in: {reading}")
    return PlannedQuestion(plan, f"{reading} (read by {planner.name})")


def _counts(asked: AskedQuestion) -> Iterator[Number]:
    """Numbers of a question that may say how many rows are wanted."""
    for quantity in asked.quantities:
        if quantity.unit is None:
            yield from quantity.values
    for word in asked.words:
        if word.folded in counted_words():
            yield counted_words()[word.folded]


def unaccounted(asked: AskedQuestion, plan: LookupPlan, table: TableLinks) -> Iterator[str]:
    """Numbers, identifiers, names and negations of a question that its plan does not use."""
    used = _UsedTexts.of(plan, table)
    inside = {place for each in asked.quantities for place in asked.inside(each.start, each.end)}
    for quantity in asked.quantities:
        if not (_is_compared(quantity, plan, table) or _is_written(asked, quantity, used)):
            yield asked.text[quantity.at : quantity.end]
    for place, word in enumerate(asked.words):
        if place in inside:
            continue
        number = counted_words().get(word.folded) or ORDINALS.get(word.folded, 1)
        if number > 1:
            if number != plan.limit and not used.hold(word):
                yield word.text
        elif _is_identifier(word) and not used.hold(word):
            yield word.text
    negated = [word.text for word in asked.words if word.folded in vocabulary.NEGATIONS]
    if negated and not any(each.op in _NEGATIVE for each in plan.where):
        yield negated[0]


def _is_identifier(word: QuestionWord) -> bool:
    """Whether it is written like a name: with a digit, a capital inside, or within a sentence."""
    return word.is_name or (word.start > 0 and word.text[:1].isupper() and len(word.text) > 1)


def _is_compared(quantity: Quantity, plan: LookupPlan, table: TableLinks) -> bool:
    """Whether all numbers of a quantity are compared with one column as it says, or the limit."""
    if not quantity.values:
        return False
    if quantity.unit is None and quantity.values == (plan.limit,):
        return True
    return any(
        all(
            _is_among(value, quantity.unit, each.values, table.column(each.column).info.unit)
            for value in quantity.values
        )
        for each in plan.where
        if not quantity.is_marked or each.op == quantity.op
    )


def _is_among(
    number: Number, unit: str | None, values: Sequence[PlanValue], unit_of_values: str | None
) -> bool:
    moved: Number | None = number
    if unit is not None:
        moved = converted(number, unit, unit_of_values) if unit_of_values else None
    return moved is not None and moved in values


def _is_written(asked: AskedQuestion, quantity: Quantity, used: "_UsedTexts") -> bool:
    """Whether a quantity is part of a name or a heading: `HEA 100`, `hardness at 20 °C`."""
    return used.say(asked.text[quantity.at : quantity.end])


@dataclass(frozen=True, slots=True)
class _UsedTexts:
    """What a plan says in words: values, headings, units, and the title of its table."""

    texts: tuple[str, ...]
    forms: frozenset[str]

    @classmethod
    def of(cls, plan: LookupPlan, table: TableLinks) -> "_UsedTexts":
        names = [*plan.columns, plan.column, plan.order_by, *(each.column for each in plan.where)]
        columns = [table.column(name).info for name in dict.fromkeys(names) if name]
        values = [value for each in plan.where for value in each.values if isinstance(value, str)]
        texts = (
            table.info.title,
            table.info.table,
            *values,
            *(column.heading for column in columns),
            *(column.unit for column in columns if column.unit),
        )
        return cls(texts, frozenset(form for text in texts for form in _all_forms(text)))

    def hold(self, word: QuestionWord) -> bool:
        """Whether one of the texts has the word in some form, or says the same formula."""
        if word.forms & self.forms or self.say(word.text):
            return True
        meant = formula(word.text)
        return meant is not None and any(formula(text) == meant for text in self.texts)

    def say(self, text: str) -> bool:
        """Whether one of the texts has this number, name or identifier, however it is spaced."""
        parts = [re.escape(part) for part in _PART.findall(folded(text))]
        if not parts:
            return False
        begins = _BEFORE_NUMBER if parts[0][0].isdigit() else _BEFORE_WORD
        said = re.compile(begins + r"[\W_]*".join(parts) + _AFTER)
        return any(said.search(folded(each)) for each in self.texts)


def _all_forms(text: str) -> frozenset[str]:
    return frozenset(form for word in words_of(text) for form in forms(word.text)) | {folded(text)}
