"""From a question to sentences that cite cells, without a model: read, run, put in words."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from rag_assets.citations.sentences import Sentence
from rag_assets.table_lookup.by_model.planner import (
    CONFIDENCE,
    MOST_ROWS_FOUND,
    Planner,
    Unplanned,
    plan_by,
)
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanError, validated
from rag_assets.table_lookup.plans.running import Found, at_places, cells_of, run_plan
from rag_assets.table_lookup.plans.sandbox import SandboxError
from rag_assets.table_lookup.question.linking import links_of
from rag_assets.table_lookup.question.time_limit import TooLongError, limited
from rag_assets.table_lookup.question.understanding import (
    NOTHING_UNKNOWN,
    Unclear,
    Understood,
    UnknownWords,
    near_question,
    understand,
)
from rag_assets.table_lookup.replacing import Replacements, replacements
from rag_assets.table_lookup.sentences.citing import UnitsDifferError
from rag_assets.table_lookup.sentences.nearest import closest, nearest_rows
from rag_assets.table_lookup.sentences.phrasing import counted, nothing, row_sentences, sentences_of
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets.table_lookup.tables.cells import folded
from rag_assets.table_lookup.words.phrases import PHRASES, Language, language_of

LONGEST_QUESTION = 2_000
"""The most characters of a question; a longer text is no question to a table."""
NOT_IN_SOURCES = ("not_a_lookup", "no_table", "no_column", "no_value")
"""Kinds of `Unclear` that a table inside a document may answer."""
READINGS_KEPT = 32
"""The readings that are kept: more than questions that are asked side by side."""
MOST_IN_DOCUMENTS = 200
"""The most tables inside documents that are asked: to read a question on one takes about a
millisecond."""
SURE_IN_DOCUMENTS = 0.9
"""The least confidence of a reading on a table inside a document: its headings are less sure than
those of a source."""

MOST_GROUPS = 200
GROUPS_SHOWN = 10
LONGEST_NAME = 40
"""The most characters of a cell of a document that a word within it names; a longer one is a
text."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What a lookup gave."""

    outcome: Literal["answered", "closest", "refused", "none"]
    """`closest`: no row is what was asked for, and near ones are shown. `refused`: it is a question
    to a table that cannot be answered. `none`: it is no such question."""
    sentences: tuple[Sentence, ...] = ()
    row_ids: tuple[str, ...] = ()
    """Units of the rows that answer, best first."""
    plan: LookupPlan | None = None
    reason: str = ""
    """Why there is no answer; how the question was read where there is one."""
    readings: tuple[str, ...] = ()
    """Ways to read the question, of which none was chosen; or the nearest values that there are."""
    confidence: float = 0.0
    """How sure the reading is, 0 to 1; of a plan that was given, 1."""
    unknown: UnknownWords = NOTHING_UNKNOWN
    """What stands in the way, where that is words that no table explains."""
    suggestion: str = ""
    """A question that would work, where an operation is asked for and the question is refused; the
    reason ends with it."""
    planned_as: str = ""
    """How a planner read the question, in words; empty where the rules did."""


def look_up(
    question: str,
    catalogue: Catalogue,
    *,
    language: Language | None = None,
    in_documents: bool = True,
    suggests: bool = True,
    planner: Planner | None = None,
) -> LookedUp:
    """Answer `question` from the tables of `catalogue`, if it is a question to them.

    Args:
        question: As it was asked.
        catalogue: The tables.
        language: The language of the sentences; that of the question unless given.
        in_documents: Whether tables inside documents are asked too, where no table of a source
            answers: as long as there are at most `MOST_IN_DOCUMENTS` of them.
        suggests: Whether a question that would work is looked for where this one is refused.
        planner: Reads a question to a table that the rules refuse, unless they found two readings
            of it: nobody else knows which is meant, either.

    Raises:
        AbandonedError: Nobody waits for it: see `workers.raise_if_abandoned`.
    """
    if not question.strip() or len(question) > LONGEST_QUESTION:
        return LookedUp("none", reason="the text is no question to a table")
    spoken = language or language_of(question)
    found = _of_sources(question, catalogue, spoken)
    if not isinstance(found, Unclear):
        return found
    refused = _unclear(found)
    if found.kind == "too_long":
        return refused
    try:
        if in_documents and found.kind in NOT_IN_SOURCES:
            read = _in_documents(question, catalogue)
            if read is not None:
                return _told(read, catalogue, language=spoken)
        with limited():
            near = near_question(question, catalogue) if suggests else None
    except TooLongError as error:
        return replace(refused, reason=f"{refused.reason}; {error}")
    if near is not None:
        asked, headings = near
        reason = f'{refused.reason}; {headings}: ask for example "{asked}"'
        refused = replace(refused, reason=reason, suggestion=asked)
    if planner is None or refused.outcome != "refused" or found.kind == "two_readings":
        return refused
    return _planned(question, catalogue, planner, refused, language=spoken)


@lru_cache(maxsize=READINGS_KEPT)
def _of_sources(question: str, catalogue: Catalogue, language: Language) -> LookedUp | Unclear:
    """What the tables of sources say; once for the arm that ranks rows and for the answer."""
    links_of(catalogue)  # built once, whatever is asked first
    try:
        with limited():
            replaced = replacements(question, catalogue)
            read = understand(question, catalogue) if replaced is None else None
    except TooLongError as error:
        return Unclear(str(error), (), "too_long")
    if isinstance(replaced, Unclear):
        return _unclear(replaced)
    if replaced is not None:
        return _alike(replaced, catalogue, language=language)
    assert read is not None, "what is not replaced was read"
    return read if isinstance(read, Unclear) else _told(read, catalogue, language=language)


def _told(read: Understood, catalogue: Catalogue, *, language: Language) -> LookedUp:
    """What the plan of a question gives, with how it was read."""
    found = answer_plan(read.plan, catalogue, language=language)
    reason = read.explanation if found.outcome == "answered" else found.reason
    return replace(found, reason=reason, confidence=read.confidence)


def _alike(replaced: Replacements, catalogue: Catalogue, *, language: Language) -> LookedUp:
    """The rows that may take the place of one, the most alike first."""
    found = run_plan(replaced.plan, catalogue)
    if not replaced.row_keys:
        return _closest(found, catalogue, language=language)
    place_of = dict(zip(found.row_keys, found.places, strict=True))
    alike = at_places(found, catalogue, [place_of[key] for key in replaced.row_keys])
    shown = replace(alike, plan=replace(alike.plan, limit=len(alike.places)))
    sentences = row_sentences(shown, catalogue, PHRASES[language])
    if len(found.places) > len(alike.places):
        sentences += row_sentences(found, catalogue, PHRASES[language])[:1]
    return LookedUp(
        outcome="answered",
        sentences=sentences,
        row_ids=tuple(alike.row_ids),
        plan=replaced.plan,
        reason=replaced.reading,
        confidence=1.0,
    )


def _planned(
    question: str, catalogue: Catalogue, planner: Planner, refused: LookedUp, *, language: Language
) -> LookedUp:
    """What the plan of a planner gives; else `refused`, and why no plan helped."""
    made = plan_by(planner, question, catalogue)
    if isinstance(made, Unplanned):
        return _still_refused(refused, planner, made.reason)
    found = answer_plan(made.plan, catalogue, language=language)
    if found.outcome != "answered" or not found.row_ids:
        why = found.reason or "it selects no row"
        return _still_refused(refused, planner, f"{why}: {made.reading}")
    if made.plan.operation == "rows" and len(found.row_ids) > MOST_ROWS_FOUND:
        why = f"it selects {len(found.row_ids):,} rows, and at most {MOST_ROWS_FOUND} are shown"
        return _still_refused(refused, planner, f"{why}: {made.reading}")
    return replace(found, reason=made.reading, confidence=CONFIDENCE, planned_as=made.reading)


def _still_refused(refused: LookedUp, planner: Planner, why: str) -> LookedUp:
    return replace(refused, reason=f"{refused.reason}; {planner.name} was asked: {why}")


def _in_documents(question: str, catalogue: Catalogue) -> Understood | None:
    """How the question reads on the tables inside documents, if that is sure."""
    if not 0 < len(catalogue.document_tables) <= MOST_IN_DOCUMENTS:
        return None
    links_of(catalogue.of_documents)
    with limited():
        read = understand(question, catalogue.of_documents)
    if isinstance(read, Unclear) or read.confidence < SURE_IN_DOCUMENTS:
        return None
    within_texts = any(
        each.op == "in" and any(len(str(value)) > LONGEST_NAME for value in each.values)
        for each in read.plan.where
    )
    return None if within_texts else read


def answer_plan(plan: LookupPlan, catalogue: Catalogue, *, language: Language = "en") -> LookedUp:
    """What `plan` gives, in sentences; a plan that cannot be run is refused with its reason."""
    try:
        if plan.group_by is not None:
            return _in_groups(validated(plan, catalogue), catalogue, language=language)
        found = run_plan(plan, catalogue)
        if found.row_keys or found.plan.operation == "count":
            sentences = sentences_of(found, catalogue, language=language)
            rows = _best_first(found, catalogue)
            return LookedUp("answered", sentences, rows, found.plan, confidence=1.0)
        return _closest(found, catalogue, language=language)
    except (PlanError, SandboxError, UnitsDifferError) as error:
        return LookedUp("refused", plan=plan, reason=str(error))


def _in_groups(plan: LookupPlan, catalogue: Catalogue, *, language: Language) -> LookedUp:
    """The operation for each value of a column, each with a sentence of its own."""
    assert plan.group_by is not None, "only such plans come here"
    rows = LookupPlan(plan.source, plan.table, plan.where)
    cells = cells_of(run_plan(rows, catalogue), catalogue, plan.group_by)
    values = {folded(str(cell)): cell for cell in cells if cell is not None}
    if len(values) > MOST_GROUPS:
        why = f"{plan.group_by} has {len(values):,} values, and at most {MOST_GROUPS} are compared"
        return LookedUp("refused", plan=plan, reason=why)
    ungrouped = replace(plan, group_by=None, limit=None, descending=False)
    groups = [
        run_plan(
            replace(ungrouped, where=(*plan.where, Condition(plan.group_by, "=", (value,)))),
            catalogue,
        )
        for value in values.values()
    ]
    found = [each for each in groups if each.value is not None]
    is_up = plan.limit is not None and not plan.descending
    found.sort(key=lambda each: each.value or 0, reverse=not is_up)
    if plan.limit is not None:
        last = [each.value for each in found[: plan.limit]][-1:]
        found = [each for each in found if [each.value] == last or each in found[: plan.limit]]
    if not found:
        return LookedUp("refused", plan=plan, reason="no group has a number to compute with")
    told = found[:GROUPS_SHOWN]
    sentences = [each for one in told for each in sentences_of(one, catalogue, language=language)]
    if len(found) > len(told):
        counting = replace(rows, operation="distinct", column=plan.group_by)
        counted_groups = run_plan(counting, catalogue)
        phrases = PHRASES[language]
        first = counted(counted_groups, catalogue, phrases, shown=len(told))
        sentences.insert(0, first)
    row_ids = tuple(dict.fromkeys(row for each in told for row in each.row_ids))
    return LookedUp("answered", tuple(sentences), row_ids, plan, confidence=1.0)


def _closest(found: Found, catalogue: Catalogue, *, language: Language) -> LookedUp:
    phrases = PHRASES[language]
    sought = run_plan(_of_rows(found.plan), catalogue)
    absent = nothing(sought, phrases=phrases)
    near = nearest_rows(sought, catalogue)
    return LookedUp(
        outcome="closest",
        sentences=(absent, *closest(sought, near, catalogue, phrases=phrases)),
        row_ids=tuple(dict.fromkeys(row for each in near for row in each.row_ids)),
        plan=found.plan,
        reason=absent.text,
    )


def _of_rows(plan: LookupPlan) -> LookupPlan:
    """The rows that a plan asks for: of an aggregate, those that have a cell to compute with."""
    if plan.operation == "rows" or plan.column is None:
        return plan
    where = (*plan.where, Condition(plan.column, "not_empty"))
    return replace(plan, where=where, operation="rows", column=None, order_by=plan.column)


def _unclear(read: Unclear) -> LookedUp:
    outcome = "none" if read.kind in ("not_a_lookup", "no_table") else "refused"
    return LookedUp(
        outcome, reason=read.reason, readings=read.readings or read.closest, unknown=read.unknown
    )


def _best_first(found: Found, catalogue: Catalogue) -> tuple[str, ...]:
    """The rows found; of an extreme, those that have it come first."""
    if found.plan.operation not in ("max", "min") or found.plan.column is None:
        return tuple(found.row_ids)
    cells = cells_of(found, catalogue, found.plan.column)
    pairs = list(zip(found.row_ids, cells, strict=True))
    first = [row for row, cell in pairs if cell == found.value]
    return tuple(dict.fromkeys([*first, *found.row_ids]))
