"""From a question to an answer.

    index = open_serving(store, config)
    answer = ask(index, "What is the density of 316L?", store=store, config=config)
    for sentence in answer.sentences:
        print(sentence.text, [citation.kind for citation in sentence.citations])

A question to a table is looked up; where that gives no sure answer, the words of the best hits are
quoted. Both say only what they cite: a quotation is exact, and what a lookup counts or computes is
run once more. So each sentence is supported in full, or the answer says that it is not.

A writer (see `generation`) is asked for what would be quoted, as an answer or as the closest
evidence, and for nothing that is withheld or looked up. Where it fails, the quotations stand, and
the answer says so.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import date
from time import perf_counter
from typing import TYPE_CHECKING

from pydantic import JsonValue

from rag_assets.answering.answer import (
    Answer,
    Compared,
    Generation,
    Scope,
    Sentence,
    Shown,
    outcome_of_first_format,
)
from rag_assets.answering.citations import Cell, Span
from rag_assets.answering.drafting import AnswerDraft, Drafter
from rag_assets.answering.refusal.deciding import RefusalDecision, RefusalRule
from rag_assets.answering.refusal.features import features_of
from rag_assets.answering.row_cells import RowCells, rows_among
from rag_assets.config import Config, RetrieverName
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Hit, Results
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.answering.generation.writing import Writer, Written
    from rag_assets.answering.lookup.catalogue import Catalogue
    from rag_assets.answering.lookup.planner import Planner
    from rag_assets.retrieval.search import VariantIndex

NO_RULE = RefusalDecision(None, "answer", "")


class StageTimes(dict[str, float]):
    """Wall time of each stage, in seconds."""

    @contextmanager
    def timed(self, stage: str) -> Generator[None]:
        """Note the wall time of the block as that of `stage`."""
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
    writer: "Writer | None" = None,
    planner: "Planner | None" = None,
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
        writer: A language model that writes the answer; None to quote the sources.
        planner: Reads questions to tables that the rules refuse: see `lookup.by_model`.

    Raises:
        EmptyQueryError: The question is blank.
        ModelMismatchError, MissingTextIndexError, RerankerError, OutdatedIndexError: As `search`.
    """
    from rag_assets.answering.lookup.catalogue import catalogue_of

    times = StageTimes()
    whole = read_as or question
    with times.timed("search"):
        results = index.search(
            whole, retriever=retriever, top_k=config.answering.hits, filters=filters
        )
    tables = catalogue or catalogue_of(store, index.complete_set)
    drafter = Drafter(store, index.complete_set, tables, config.answering.sentences, planner)
    with times.timed("lookup"):
        looked = drafter.look_up(whole, filters=filters)
    with times.timed("extract"):
        drafted = drafter.draft(whole, results, looked=looked)
        decision = _decision(index, whole, results, drafted, store=store)
        found = _decided(drafted, decision) if drafted.is_answer else drafted
    with times.timed("check"):
        found = replace(found, sentences=_run_again(found.sentences, tables))
    hits, generation = results.hits, None
    if writer is not None and found.is_quoted:
        with times.timed("write"):
            found, hits, generation = _written(
                found, whole, results, writer, index=index, store=store, filters=filters
            )
    return Answer(
        question=question,
        outcome=outcome_of_first_format(found.outcome, found.mode),
        sentences=found.sentences,
        scope=_scope(index, results, filters),
        shown=(*_shown(hits), *_shown_rows(found.sentences, hits)),
        read_as=read_as,
        planned_as=found.planned_as,
        reason=found.reason,
        readings=found.readings,
        seconds=dict(times),
        generation=generation,
    )


def _written(
    quoted: AnswerDraft,
    question: str,
    results: Results,
    writer: "Writer",
    *,
    index: "VariantIndex",
    store: Store,
    filters: Filters | None,
) -> tuple[AnswerDraft, tuple[Hit, ...], Generation]:
    """What `writer` makes of the hits; what was quoted of them, where that is nothing."""
    from rag_assets.answering.generation.generated import generate

    def search(query: str) -> Sequence[Hit]:
        return index.search(query, retriever=results.retriever, filters=filters).hits

    def read_rows(hits: Sequence[Hit]) -> Mapping[str, RowCells]:
        return rows_among(hits, store=store, complete_set=index.complete_set)

    found = generate(question, results.hits, writer, search=search, read_rows=read_rows)
    return _draft_of(found.written, quoted), found.hits, found.record


def _draft_of(written: "Written", quoted: AnswerDraft) -> AnswerDraft:
    """The answer that a model wrote; where it wrote none, what was quoted, with the reason.

    That the sources do not say what was asked makes quotations evidence that does not answer.
    """
    if written.sentences:
        notes = [f"the sources do not say: {what}" for what in written.absent if what]
        if written.left_out:
            notes.append(f"left out, as no source supports it: {len(written.left_out)} sentences")
        return replace(
            quoted,
            outcome="answered",
            sentences=written.sentences,
            mode="generated",
            reason="; ".join(notes),
            readings=(),
        )
    if written.absent:
        return replace(quoted, outcome="closest", mode=None, reason=written.reason)
    reasons = [quoted.reason, f"{written.reason}; these are the words of the sources"]
    return replace(quoted, reason="; ".join(filter(None, reasons)))


def _decided(drafted: AnswerDraft, decision: RefusalDecision) -> AnswerDraft:
    """What is left of an answer that the rule of refusal withholds: its evidence, or nothing."""
    match decision.outcome:
        case "answer":
            return replace(drafted, reason="", readings=())
        case "closest":
            return replace(
                drafted, outcome="closest", mode=None, reason=decision.reason, is_quoted=False
            )
        case "nothing":
            return AnswerDraft("nothing", (), None, decision.reason)


def _decision(
    index: "VariantIndex", question: str, results: Results, drafted: AnswerDraft, *, store: Store
) -> RefusalDecision:
    """What the rule of refusal for this index and retriever says of a draft that answers."""
    if not drafted.is_answer:
        return NO_RULE
    settings = index.settings.retrievers[results.retriever]
    rule = RefusalRule.read(store, index.complete_set, settings, within=index.settings)
    return rule.decide(features_of(question, results, drafted)) if rule else NO_RULE


def _run_again(sentences: Sequence[Sentence], catalogue: "Catalogue") -> tuple[Sentence, ...]:
    """The sentences, the plans that they cite run once more."""
    from rag_assets.answering.lookup.verifying import verify_again

    def compared(sentence: Sentence) -> Compared:
        plans = [each for each in sentence.citations if not isinstance(each, Span | Cell)]
        if plans:
            is_same = all(verify_again(plan, catalogue) == "same" for plan in plans)
            return "computed again" if is_same else "nothing"
        return "cell" if any(isinstance(each, Cell) for each in sentence.citations) else "verbatim"

    return tuple(replace(each, compared=compared(each)) for each in sentences)


def _scope(index: "VariantIndex", results: Results, filters: Filters | None) -> Scope:
    return Scope(
        variant=index.variant,
        retriever=results.retriever,
        filters=set_filters(filters),
        units=len(results.ranking),
    )


def set_filters(filters: Filters | None) -> dict[str, JsonValue]:
    """The filters that were set, by their name."""
    if filters is None:
        return {}
    values = ((field.name, getattr(filters, field.name)) for field in fields(filters))
    return {name: _as_json(value) for name, value in values if value not in (None, ())}


def _as_json(value: str | date | tuple[str, ...] | frozenset[str]) -> JsonValue:
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str) else [*sorted(value)]


def _shown_rows(sentences: Sequence[Sentence], hits: Sequence[Hit]) -> Iterator[Shown]:
    """The rows that a lookup cites and the search did not find, after all others."""
    known = {hit.unit_id for hit in hits}
    for sentence in sentences:
        for cell in sentence.citations:
            if isinstance(cell, Cell) and cell.unit_id is not None and cell.unit_id not in known:
                known.add(cell.unit_id)
                uri = f"{cell.source}/{cell.table}"
                yield Shown(cell.unit_id, cell.text_hash or "", len(known), 0.0, "table", uri)


def _shown(hits: Sequence[Hit]) -> Iterator[Shown]:
    """The hits as they were then; those of further searches rank behind the first ones."""
    for rank, hit in enumerate(hits, start=1):
        yield Shown(hit.unit_id, hit.text_hash, rank, hit.score, hit.domain, hit.uri)
