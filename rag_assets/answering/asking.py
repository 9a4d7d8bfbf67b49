"""From a question to an answer.

    index = open_serving(store, config)
    answer = ask(index, "What is the density of 316L?", store=store, config=config)
    for sentence in answer.sentences:
        print(sentence.text, [citation.kind for citation in sentence.citations])

A question to a table is looked up; where that gives no sure answer, the words of the best hits are
quoted. Both say only what they cite: a quotation is exact, and what a lookup counts or computes is
run once more. So each sentence is supported in full, or the answer says that it is not.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import date
from time import perf_counter
from typing import TYPE_CHECKING

from pydantic import JsonValue

from rag_assets.answering.answer import Answer, Mode, Outcome, Scope, Sentence, Shown
from rag_assets.answering.citations import Cell, Citation, Span
from rag_assets.answering.extracting import extract
from rag_assets.answering.refusal.deciding import RefusalDecision, RefusalRule
from rag_assets.answering.refusal.features import features_of
from rag_assets.answering.row_cells import RowCells, read_row_cells
from rag_assets.config import Config, RetrieverName
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Hit, Results
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.answering.lookup.catalogue import Catalogue
    from rag_assets.answering.lookup.looking_up import LookedUp
    from rag_assets.retrieval.search import VariantIndex

SURE_FROM = 0.5
"""Confidence of a lookup's reading from which its answer is given."""
NOT_OF_ROWS = ("uri", "section", "type", "language", "fields", "documents")
"""Filters under which no lookup is made: they ask for documents, or for a part of a table."""
NOTHING = "the search found nothing"
NO_RULE = RefusalDecision(None, "answer", "")


@dataclass(frozen=True, slots=True)
class _Found:
    """What there is to answer with."""

    outcome: Outcome
    sentences: tuple[Sentence, ...]
    mode: Mode | None
    reason: str = ""
    readings: tuple[str, ...] = ()
    confidence: float | None = None


class _Times(dict[str, float]):
    """Wall time of each stage."""

    @contextmanager
    def timed(self, stage: str) -> Generator[None]:
        started = perf_counter()
        yield
        self[stage] = perf_counter() - started


def ask(
    index: "VariantIndex",
    question: str,
    *,
    store: Store,
    config: Config,
    filters: Filters | None = None,
    retriever: RetrieverName | None = None,
    catalogue: "Catalogue | None" = None,
    read_as: str = "",
) -> Answer:
    """The answer to `question` from what `index` holds.

    Args:
        index: What is searched.
        question: In words.
        store: Holds the tables of the index.
        config: Says of how many hits and sentences an answer is made (`answering`).
        filters: What may be cited.
        retriever: What searches; that of the config unless given.
        catalogue: The tables of the index, where the caller keeps them for many questions.
        read_as: The question with what it takes from a conversation: see `condensation`.

    Raises:
        EmptyQueryError: The question is blank.
        ModelMismatchError, MissingTextIndexError, RerankerError, OutdatedIndexError: As `search`.
    """
    from rag_assets.answering.lookup.catalogue import catalogue_of

    times = _Times()
    whole = read_as or question
    with times.timed("search"):
        results = index.search(
            whole, retriever=retriever, top_k=config.answering.hits, filters=filters
        )
    with times.timed("lookup"):
        tables = catalogue or catalogue_of(store, index.complete_set)
        looked = _looked_up(whole, tables, filters=filters)
    with times.timed("extract"):
        row_ids = [hit.unit_id for hit in results if hit.domain == "table"]
        rows = read_row_cells(store, index.complete_set, row_ids)
        found = _found(
            whole,
            results,
            rows=rows,
            looked=looked,
            decision=_decision(index, whole, results, store=store),
            most=config.answering.sentences,
        )
    with times.timed("check"):
        sentences = _run_again(found.sentences, tables)
    return Answer(
        question=question,
        outcome=found.outcome,
        sentences=sentences,
        scope=_scope(index, results, filters),
        shown=(*map(_shown, results), *_shown_rows(found.sentences, results)),
        mode=found.mode,
        read_as=read_as,
        reason=found.reason,
        readings=found.readings,
        confidence=found.confidence,
        seconds=dict(times),
    )


def _looked_up(
    question: str, catalogue: "Catalogue", *, filters: Filters | None
) -> "LookedUp | None":
    """What the tables say; None where they may not be asked."""
    from rag_assets.answering.lookup.looking_up import look_up

    if filters is not None and not _allows_lookup(filters):
        return None
    looked = look_up(question, catalogue)
    return looked if _is_allowed(looked, filters) else None


def _allows_lookup(filters: Filters) -> bool:
    return filters.domain != "document" and not any(getattr(filters, name) for name in NOT_OF_ROWS)


def _is_allowed(looked: "LookedUp", filters: Filters | None) -> bool:
    """Whether a plan asks a table that the filters allow."""
    if filters is None or looked.plan is None:
        return True
    return filters.source in (None, looked.plan.source) and filters.table in (
        None,
        looked.plan.table,
    )


def _found(
    question: str,
    results: Results,
    *,
    rows: Mapping[str, RowCells],
    looked: "LookedUp | None",
    decision: RefusalDecision,
    most: int,
) -> _Found:
    """The answer of the lookup where it is sure, else what the rule of refusal allows to quote."""
    if looked and looked.outcome == "answered" and looked.confidence >= SURE_FROM:
        return _Found("answered", looked.sentences[:most], "lookup")
    asks_table = bool(results) and results[0].domain == "table"
    if looked and looked.outcome == "closest" and asks_table:
        return _Found("closest", looked.sentences[:most], None, looked.reason, looked.readings)
    sentences = extract(question, results.hits, most=most, rows=rows)
    if sentences and decision.outcome == "answer":
        return _Found("answered", sentences, "extractive", confidence=decision.confidence)
    told = sentences if decision.outcome == "closest" else ()
    refused = looked if looked and looked.outcome == "refused" and asks_table else None
    return _Found(
        "closest" if told else "nothing",
        told,
        None,
        decision.reason or (refused.reason if refused else NOTHING),
        refused.readings if refused else (),
        decision.confidence,
    )


def _decision(
    index: "VariantIndex", question: str, results: Results, *, store: Store
) -> RefusalDecision:
    """What the rule of refusal says, where one was fitted for this index and retriever."""
    settings = index.settings.retrievers[results.retriever]
    rule = RefusalRule.read(store, index.complete_set, settings, within=index.settings)
    return rule.decide(features_of(question, results)) if rule else NO_RULE


def _run_again(sentences: Sequence[Sentence], catalogue: "Catalogue") -> tuple[Sentence, ...]:
    """The sentences; in full supported where the plans that they cite give the same once more."""
    from rag_assets.answering.lookup.verifying import verify_again

    def holds(citation: Citation) -> bool:
        if isinstance(citation, Span | Cell):
            return True  # the sentence is made of what was read
        return verify_again(citation, catalogue) == "same"

    return tuple(
        replace(each, support="full" if all(map(holds, each.citations)) else "none")
        for each in sentences
    )


def _scope(index: "VariantIndex", results: Results, filters: Filters | None) -> Scope:
    return Scope(
        variant=index.variant,
        retriever=results.retriever,
        filters=_set_filters(filters),
        units=len(results.ranking),
    )


def _set_filters(filters: Filters | None) -> dict[str, JsonValue]:
    """The filters that were set, by their name."""
    if filters is None:
        return {}
    values = ((field.name, getattr(filters, field.name)) for field in fields(filters))
    return {name: _as_json(value) for name, value in values if value not in (None, ())}


def _as_json(value: str | date | tuple[str, ...] | frozenset[str]) -> JsonValue:
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str) else [*sorted(value)]


def _shown_rows(sentences: Sequence[Sentence], results: Results) -> Iterator[Shown]:
    """The rows that a lookup cites and the search did not find, after all others."""
    known = {hit.unit_id for hit in results}
    for sentence in sentences:
        for cell in sentence.citations:
            if isinstance(cell, Cell) and cell.unit_id is not None and cell.unit_id not in known:
                known.add(cell.unit_id)
                uri = f"{cell.source}/{cell.table}"
                yield Shown(cell.unit_id, cell.text_hash or "", len(known), 0.0, "table", uri)


def _shown(hit: Hit) -> Shown:
    return Shown(hit.unit_id, hit.text_hash, hit.rank, hit.score, hit.domain, hit.uri)
