"""From a question to an answer: what `Assistant.ask` does.

What a lookup on a table gives is `computed`; what a language model adds stands below it. Else a
language model writes, where the config names one. Else what fits best is `found`, and no answer,
or there is `nothing` (see `finding`).
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import date
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

from pydantic import JsonValue

from rag_assets.answering.answer import Answer, Generation, Scope, Shown
from rag_assets.answering.quoting.finding import Told, find
from rag_assets.citations.kinds import Cell, PlanCitation
from rag_assets.citations.sentences import Compared, Sentence
from rag_assets.config import Config, Expansion, RetrieverName
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Hit, Results
from rag_assets.retrieval.row_cells import RowCells, rows_among
from rag_assets.store import Store
from rag_assets.table_lookup.arm import SURE_FROM, narrowed

if TYPE_CHECKING:
    from rag_assets.answering.condensation.conversation import Turn
    from rag_assets.answering.generation.from_tables import FromTables
    from rag_assets.answering.generation.writing import Writer, Written
    from rag_assets.retrieval.search import VariantIndex
    from rag_assets.table_lookup.by_model.planner import Planner
    from rag_assets.table_lookup.looking_up import LookedUp
    from rag_assets.table_lookup.tables.catalogue import Catalogue

AROUND = Expansion(neighbours=1)
"""What a language model is shown around a chunk."""
WITH_CONTEXT = 3
"""The best hits, around which more is shown."""
NOT_OF_ROWS = ("uri", "section", "type", "language", "fields", "documents")
"""Filters under which no lookup is made: they ask for documents, or for a part of a table."""


class StageTimes(dict[str, float]):
    """Wall time of each stage, in seconds."""

    @contextmanager
    def timed(self, stage: str) -> Generator[None]:
        """Note the wall time of the block as that of `stage`."""
        started = perf_counter()
        yield
        self[stage] = perf_counter() - started


@dataclass(frozen=True, slots=True)
class AnswerSources:
    """What answers are made from, and by whom."""

    index: "VariantIndex"
    """The index that is searched."""
    store: Store
    """Holds the tables of the index."""
    config: Config
    """Says of how many hits an answer is made (`answering`)."""
    catalogue: "Catalogue"
    """The tables of the index."""
    writer: "Writer | None" = None
    """A language model that writes the answer; None if none does."""
    planner: "Planner | None" = None
    """Reads questions to tables that the rules refuse: see `table_lookup.by_model`."""


@dataclass(frozen=True, slots=True)
class Planned:
    """How a question is read, before anything is searched."""

    question: str
    read_as: str
    """The question with what it took from the conversation before it; empty where it took
    nothing."""
    planned_as: str
    """How a language model read it to a table, in words; empty where none did."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What was found for a question, before anything is written."""

    hits: tuple[Hit, ...]


Asked: TypeAlias = Planned | Retrieved | Sentence | Answer
"""What becomes known of an answer, in this order; the answer is the last."""


def answer_of(told: Iterator[Asked]) -> Answer:
    """The answer that `stream` ends with."""
    return next(each for each in told if isinstance(each, Answer))


def stream(
    sources: AnswerSources,
    question: str,
    *,
    read_as: str = "",
    said: "Sequence[Turn]" = (),
    filters: Filters | None = None,
    retriever: RetrieverName | None = None,
) -> Iterator[Asked]:
    """The answer to `question` from `sources`, and on the way to it all that is known already.

    A sentence comes when it was compared with what it cites, and is not taken back. Whoever stops
    reading stops the work before its next stage.

    Args:
        sources: What it is made from.
        question: In words.
        read_as: The question with what it takes from a conversation: see `condensation`.
        said: That conversation, for who writes the answer.
        filters: What may be cited.
        retriever: What searches; that of the config unless given.

    Raises:
        EmptyQueryError: The question is blank.
        ModelMismatchError, MissingTextIndexError, RerankerError, OutdatedIndexError: As `search`.
    """
    times = StageTimes()
    whole, index = read_as or question, sources.index
    tables = narrowed(sources.catalogue, filters)
    top_k = sources.config.answering.hits
    with times.timed("lookup"):
        looked = _looked_up(whole, tables, filters=filters, planner=sources.planner)
        told = _computed(looked, tables)
    yield Planned(question, read_as, told.planned_as if told else "")
    with times.timed("search"):
        results = index.search(whole, retriever=retriever, top_k=top_k, filters=filters)
    yield Retrieved(results.hits)
    # Before a model writes, which takes seconds: what was computed need not wait for that.
    yield from told.sentences if told else ()
    hits, generation, unwritten = results.hits, None, ""
    said_already = len(told.sentences) if told else 0
    if sources.writer is not None and results:
        with times.timed("write"):
            told, unwritten, hits, generation = _written(
                told,
                whole,
                results,
                sources.writer,
                sources=sources,
                filters=filters,
                tables=_for_writer(whole, tables, looked, sources.writer, filters=filters),
                said=said,
            )
    if told is None:
        with times.timed("find"):
            told = find(
                whole,
                results,
                looked,
                index=index,
                store=sources.store,
                catalogue=tables,
                filters=filters,
            )
            told = replace(told, reason="; ".join(filter(None, [told.reason, unwritten])))
    yield from told.sentences[said_already:]
    yield Answer(
        question=question,
        outcome=told.outcome,
        sentences=told.sentences,
        scope=_scope(index, results, filters),
        shown=(*_shown(hits), *_shown_rows(told.sentences, hits)),
        read_as=read_as,
        planned_as=told.planned_as,
        reason=told.reason,
        missing=told.missing,
        readings=told.readings,
        seconds=dict(times),
        generation=generation,
    )


def _looked_up(
    question: str, tables: "Catalogue", *, filters: Filters | None, planner: "Planner | None"
) -> "LookedUp | None":
    """What the tables say; None where they may not be asked, or what they say is filtered."""
    from rag_assets.table_lookup.looking_up import look_up

    if filters is not None and not allows_lookup(filters):
        return None
    looked = look_up(question, tables, planner=planner)
    left_out = filters.without if filters else None
    is_whole = looked.plan is None or (left_out or frozenset()).isdisjoint(looked.row_ids)
    return looked if is_whole else None  # nobody asked the table without these rows


def allows_lookup(filters: Filters) -> bool:
    """Whether tables may be asked under `filters`."""
    return filters.domain != "document" and not any(getattr(filters, name) for name in NOT_OF_ROWS)


def _computed(looked: "LookedUp | None", tables: "Catalogue") -> Told | None:
    """The answer of a lookup that is sure, its plans run once more; None without one."""
    from rag_assets.table_lookup.verifying import verify_again

    if looked is None or looked.outcome != "answered" or looked.confidence < SURE_FROM:
        return None

    def compared(sentence: Sentence) -> Compared:
        plans = [each for each in sentence.citations if isinstance(each, PlanCitation)]
        if not plans:
            return "cell"
        is_same = all(verify_again(plan, tables) == "same" for plan in plans)
        return "computed again" if is_same else "nothing"

    told = tuple(replace(each, compared=compared(each)) for each in looked.sentences)
    return Told("computed", told, planned_as=looked.planned_as)


def _for_writer(
    question: str,
    tables: "Catalogue",
    looked: "LookedUp | None",
    writer: "Writer",
    *,
    filters: Filters | None,
) -> "FromTables | None":
    """The tables that a model is told of and may ask; none where filters leave rows out."""
    from rag_assets.answering.generation.from_tables import FromTables
    from rag_assets.table_lookup.looking_up import LONGEST_QUESTION

    leaves_out = set_filters(filters).keys() - {"domain"}
    is_of_documents = filters is not None and filters.domain == "document"
    if leaves_out or is_of_documents or len(question) > LONGEST_QUESTION:
        return None
    return FromTables(question, tables, looked, writer.model)


def _written(
    computed: Told | None,
    question: str,
    results: Results,
    writer: "Writer",
    *,
    sources: AnswerSources,
    filters: Filters | None,
    tables: "FromTables | None",
    said: "Sequence[Turn]",
) -> tuple[Told | None, str, tuple[Hit, ...], Generation]:
    """What `writer` makes of the hits, below what was computed; else why it wrote nothing."""
    from rag_assets.answering.generation.generated import generate

    index = sources.index

    def search(query: str) -> Sequence[Hit]:
        return index.search(query, retriever=results.retriever, filters=filters).hits

    def read_rows(hits: Sequence[Hit]) -> Mapping[str, RowCells]:
        return rows_among(hits, store=sources.store, complete_set=index.complete_set)

    near = index.with_context(results.hits[:WITH_CONTEXT], settings=AROUND)
    made = generate(
        question,
        (*near, *results.hits[WITH_CONTEXT:]),
        writer,
        search=search,
        read_rows=read_rows,
        tables=tables,
        said=said,
    )
    written = made.written
    told = computed
    if computed is not None:
        told = replace(computed, sentences=(*computed.sentences, *written.sentences))
    elif written.sentences:
        told = Told("written", written.sentences, reason=_notes(written))
    return told, written.reason, made.hits, made.record


def _notes(written: "Written") -> str:
    """What the sources leave open of a written answer, and what was left out of it."""
    notes = [f"the sources do not say: {what}" for what in written.absent if what]
    if written.left_out:
        count = len(written.left_out)
        what = "1 sentence" if count == 1 else f"{count:,} sentences"
        notes.append(f"left out, as it is not in what it cites: {what}")
    return "; ".join(notes)


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
