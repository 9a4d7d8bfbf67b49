"""The answer that would be given to a question, before it is decided whether it is.

A question to a table is looked up; where that gives no sure answer, the words of the best hits are
quoted, as an answer unless something speaks against it (`objections`). `asking` gives the draft or
withholds it, and `refusal` is fitted on the same drafts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rag_assets.answering.answer import Sentence
from rag_assets.answering.citations import Cell, Computed, Span
from rag_assets.answering.extracting import extract
from rag_assets.answering.lookup.arm import SURE_FROM
from rag_assets.answering.objections import objection_to
from rag_assets.answering.row_cells import RowCells, rows_among
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Results
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet

if TYPE_CHECKING:
    from rag_assets.answering.lookup.catalogue import Catalogue
    from rag_assets.answering.lookup.looking_up import LookedUp
    from rag_assets.answering.lookup.planner import Planner

NOT_OF_ROWS = ("uri", "section", "type", "language", "fields", "documents")
"""Filters under which no lookup is made: they ask for documents, or for a part of a table."""
NOTHING = "the search found nothing"


@dataclass(frozen=True, slots=True)
class AnswerDraft:
    """What there is to answer with."""

    outcome: Literal["answered", "closest", "nothing"]
    sentences: tuple[Sentence, ...]
    mode: Literal["extractive", "lookup", "generated"] | None
    """None where it is no answer."""
    reason: str = ""
    """Why there is no answer, or why a lookup gave none; told where no answer is given."""
    readings: tuple[str, ...] = ()
    """How the question could be read, where a lookup was refused for that."""
    row_ids: tuple[str, ...] = ()
    """The units of the rows that a lookup rests on."""
    is_quoted: bool = False
    """Whether its sentences are the words of the hits, which a language model may put otherwise."""
    planned_as: str = ""
    """How a planner read the question, in words: see `Answer.planned_as`."""

    @property
    def is_answer(self) -> bool:
        """Whether it would answer, were it not withheld."""
        return self.outcome == "answered"

    @property
    def units(self) -> frozenset[str]:
        """The units that it cites, and those that it is computed from."""
        citations = [each for sentence in self.sentences for each in sentence.citations]
        inputs = [cell for each in citations if isinstance(each, Computed) for cell in each.inputs]
        cited = {each.unit_id for each in (*citations, *inputs) if isinstance(each, Span | Cell)}
        return frozenset(unit for unit in (*cited, *self.row_ids) if unit is not None)


@dataclass(frozen=True, slots=True)
class Drafter:
    """Makes drafts from one index."""

    store: Store
    complete_set: CompleteSet
    """What is searched."""
    catalogue: "Catalogue"
    """Its tables."""
    most: int
    """Sentences, at most."""
    planner: "Planner | None" = None
    """Reads questions to tables that the rules refuse."""

    def look_up(self, question: str, *, filters: Filters | None) -> "LookedUp | None":
        """What the tables say; None where they may not be asked, or what they say is filtered."""
        from rag_assets.answering.lookup.looking_up import look_up

        if filters is not None and not _allows_lookup(filters):
            return None
        looked = look_up(question, self.catalogue, planner=self.planner)
        return looked if _is_allowed(looked, filters) else None

    def draft(self, question: str, results: Results, *, looked: "LookedUp | None") -> AnswerDraft:
        """The answer of the lookup where it is sure, else the words of the hits.

        Args:
            question: As it was asked.
            results: What was found for it.
            looked: See `look_up`.

        Raises:
            MissingTableError, DamagedTablesError: The rows among the hits cannot be read.
        """
        rows = rows_among(results, store=self.store, complete_set=self.complete_set)
        return draft_of(question, results, rows=rows, looked=looked, most=self.most)


def draft_of(
    question: str,
    results: Results,
    *,
    rows: Mapping[str, RowCells],
    looked: "LookedUp | None",
    most: int,
) -> AnswerDraft:
    """As `Drafter.draft`, from the cells of the rows among the hits."""
    if looked and looked.outcome == "answered" and looked.confidence >= SURE_FROM:
        told = looked.sentences[:most]
        return AnswerDraft(
            "answered", told, "lookup", row_ids=looked.row_ids, planned_as=looked.planned_as
        )
    asks_table = bool(results) and results[0].domain == "table"
    if looked and looked.outcome == "closest" and asks_table:
        told = looked.sentences[:most]
        return AnswerDraft("closest", told, None, looked.reason, looked.readings)
    sentences = extract(question, results.hits, most=most, rows=rows)
    objection = ""
    if sentences:
        objection = objection_to(question, sentences, hits=results.hits, rows=rows, looked=looked)
    refused = looked if looked and looked.outcome == "refused" and asks_table else None
    reason, readings = (refused.reason, refused.readings) if refused else ("", ())
    if objection:
        return AnswerDraft("closest", sentences, None, objection, readings, is_quoted=True)
    if sentences:
        return AnswerDraft("answered", sentences, "extractive", reason, readings, is_quoted=True)
    return AnswerDraft("nothing", (), None, reason or NOTHING, readings)


def _allows_lookup(filters: Filters) -> bool:
    return filters.domain != "document" and not any(getattr(filters, name) for name in NOT_OF_ROWS)


def _is_allowed(looked: "LookedUp", filters: Filters | None) -> bool:
    """Whether a plan asks a table that the filters allow, and rests on no row that they leave out.

    A lookup that rests on rows left out says nothing: nobody asked the table without them.
    """
    if filters is None or looked.plan is None:
        return True
    return (
        filters.source in (None, looked.plan.source)
        and filters.table in (None, looked.plan.table)
        and (filters.without or frozenset()).isdisjoint(looked.row_ids)
    )
