"""Answers to keep, and a small project whose index gives some."""

import re
from pathlib import Path
from typing import get_args

from hypothesis import strategies as st

from rag_assets.answering.answer import Answer, Outcome, Scope, Shown
from rag_assets.answering.asking import AnswerSources
from rag_assets.answering.assistant import Assistant
from rag_assets.answering.record.keeping import keep
from rag_assets.answering.record.kept import AnswerContext, Conditions, KeptAnswer, context_of
from rag_assets.citations.kinds import Absence, Box, Cell, Citation, Computed, Rows, Span
from rag_assets.citations.sentences import Compared, Sentence
from rag_assets.citations.values import number_from
from rag_assets.config import Retrieval, RetrieverName
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Hit
from rag_assets.store import purges
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import Pin
from rag_assets.store.serving_pointer import QuerySide
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project

QUOTED = 4
SENTENCE = re.compile(r"[^\n]*?[.!?](?=\s|$)")


def quoting(
    sources: Assistant | AnswerSources,
    question: str,
    *,
    filters: Filters | None = None,
    retriever: RetrieverName | None = None,
    read_as: str = "",
) -> Answer:
    """Stands in for `asking.ask`: quotes the first sentence of each of the best hits."""
    index, top_k = sources.index, sources.config.answering.hits
    found = index.search(read_as or question, retriever=retriever, top_k=top_k, filters=filters)
    sentences = tuple(_quoted(hit) for hit in found[:QUOTED])
    return Answer(
        question=question,
        outcome="found" if sentences else "nothing",
        sentences=sentences,
        scope=Scope(index.variant, found.retriever, {}, len(found.ranking)),
        shown=tuple(
            Shown(hit.unit_id, hit.text_hash, hit.rank, hit.score, hit.domain, hit.uri)
            for hit in found
        ),
        seconds=found.seconds,
    )


def quoting_again(assistant: Assistant, kept: KeptAnswer) -> Answer:
    """Stands in for `replaying.asked_again`."""
    return quoting(
        assistant,
        kept.answer.question,
        filters=kept.context.filters,
        retriever=kept.context.retriever,
        read_as=kept.answer.read_as,
    )


def _quoted(hit: Hit) -> Sentence:
    if hit.domain == "table":
        column, _, value = hit.text.splitlines()[-1].partition(": ")
        cell = Cell(
            unit_id=hit.unit_id,
            text_hash=hit.text_hash,
            source=hit.source,
            table=str(hit.table),
            row_key=str(hit.row_key),
            column=column,
            heading=column,
            value=value,
        )
        return Sentence(hit.text, (cell,))
    found = SENTENCE.search(hit.text)
    start, end = found.span() if found else (0, len(hit.text))
    span = Span(
        unit_id=hit.unit_id,
        text_hash=hit.text_hash,
        source=hit.source,
        uri=hit.uri,
        title=hit.title,
        pages=hit.pages,
        start=start,
        end=end,
        text=hit.text[start:end],
    )
    return Sentence(span.text, (span,))


@built_once
def built(home: Path) -> Project:
    """A project with an index that serves."""
    made = project.make(home, documents=4, rows=6)
    build(made)
    return made


def build(made: Project) -> None:
    with hashing():
        refresh(made.config)


def asked(
    made: Project,
    question: str,
    *,
    user: str | None = None,
    retriever: RetrieverName | None = None,
    filters: Filters | None = None,
) -> str:
    """Ask what serves, and keep the answer; returns its id."""
    store, config = made.store, made.config
    assistant = Assistant(store, config)
    answer = quoting(assistant, question, retriever=retriever, filters=filters)
    context = context_of(assistant.index, config, retriever=retriever, filters=filters, user=user)
    kept = keep(store, config, answer, context, purges=purges.count(store.root))
    assert kept is not None
    return kept


def conditions() -> Conditions:
    pin = Pin("joint__x.1", 3, "files", "data")
    complete_set = CompleteSet(
        variant="default",
        joint=pin,
        documents=pin,
        rows=None,
        elements="elements__x",
        chunks="chunks__x",
        model="small",
        settings={"path": "somewhere", "dimension": 384},
        recorded_at="2026-01-01T00:00:00+00:00",
        seen="",
    )
    return Conditions(
        complete_set=complete_set,
        query_side=QuerySide.of(Retrieval()),
        versions="current",
        answering={"hits": 10},
        program="1.0",
    )


def answer(
    question: str = "What bears salt?",
    *texts: str,
    outcome: Outcome = "found",
    citations: tuple[Citation, ...] = (),
) -> Answer:
    """An answer with sentences that all have the same citations."""
    return Answer(
        question=question,
        outcome=outcome,
        sentences=tuple(Sentence(text, citations) for text in texts),
        scope=Scope("default", "best", {}, 10),
        seconds={"search": 0.25},
    )


def context(*, user: str | None = None) -> AnswerContext:
    return AnswerContext(conditions=conditions(), user=user)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
EXACT = st.one_of(
    NUMBERS.map(lambda number: number_from(repr(number))),
    st.decimals(-(10**30), 10**30, places=9).map(lambda number: number_from(str(number))),
    st.integers(-(2**63), 2**63),
)
VALUES = st.one_of(TEXTS, EXACT, st.booleans(), st.none())
HASHES = st.one_of(st.none(), TEXTS)
JSON = st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(-9, 9), st.none()), max_size=3)
COUNTS = st.integers(0, 2**40)
SPANS = st.builds(
    Span,
    unit_id=HASHES,
    text_hash=HASHES,
    source=TEXTS,
    uri=TEXTS,
    title=TEXTS,
    pages=st.lists(COUNTS, max_size=2).map(tuple),
    start=COUNTS,
    end=COUNTS,
    text=TEXTS,
    boxes=st.lists(st.builds(Box, COUNTS, NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=2).map(
        tuple
    ),
    kind=st.just("span"),
)
CELLS = st.builds(
    Cell,
    unit_id=HASHES,
    text_hash=HASHES,
    source=TEXTS,
    table=TEXTS,
    row_key=TEXTS,
    column=TEXTS,
    heading=TEXTS,
    value=VALUES,
    unit=HASHES,
    kind=st.just("cell"),
)
ROWS = st.builds(
    Rows,
    source=TEXTS,
    table=TEXTS,
    plan=JSON,
    row_keys=st.lists(TEXTS, max_size=3).map(tuple),
    count=COUNTS,
    kind=st.just("rows"),
)
COMPUTED = st.builds(
    Computed,
    operation=TEXTS,
    inputs=st.lists(CELLS, max_size=2).map(tuple),
    count=COUNTS,
    plan=JSON,
    sql=TEXTS,
    result=VALUES,
    unit=HASHES,
    pin=TEXTS,
    rows=ROWS,
    kind=st.just("computed"),
)
ABSENCES = st.builds(
    Absence,
    scope=TEXTS,
    looked_for=TEXTS,
    searched=COUNTS,
    plan=st.one_of(st.none(), JSON),
    kind=st.just("absence"),
)
SENTENCES = st.builds(
    Sentence,
    text=TEXTS,
    citations=st.lists(st.one_of(SPANS, CELLS, ROWS, COMPUTED, ABSENCES), max_size=3).map(tuple),
    compared=st.sampled_from(get_args(Compared)),
    judged=st.sampled_from([None, True, False]),
    is_written=st.booleans(),
)
SHOWN = st.builds(Shown, TEXTS, TEXTS, COUNTS, NUMBERS, TEXTS, TEXTS)
ANSWERS = st.builds(
    Answer,
    question=TEXTS,
    outcome=st.sampled_from(get_args(Outcome)),
    sentences=st.lists(SENTENCES, max_size=3).map(tuple),
    scope=st.builds(Scope, TEXTS, TEXTS, JSON, COUNTS),
    shown=st.lists(SHOWN, max_size=3, unique_by=lambda shown: shown.unit_id).map(tuple),
    reason=TEXTS,
    readings=st.lists(TEXTS, max_size=2).map(tuple),
    seconds=st.dictionaries(TEXTS, st.floats(0, 10), max_size=2),
)
"""Answers of all kinds."""
CONTEXTS = st.builds(
    AnswerContext,
    conditions=st.just(conditions()),
    retriever=st.sampled_from([None, "bm25"]),
    filters=st.one_of(
        st.none(),
        st.builds(
            Filters,
            domain=st.sampled_from([None, "document"]),
            documents=st.one_of(st.none(), st.frozensets(TEXTS, max_size=2)),
            fields=st.sampled_from([(), ("number: 1", "a: b")]),
            as_of=st.one_of(st.none(), st.dates()),
        ),
    ),
    history=st.lists(TEXTS, max_size=2).map(tuple),
    user=st.one_of(st.none(), TEXTS),
    plan=st.one_of(st.none(), JSON),
    checks=JSON,
    cost=st.dictionaries(TEXTS, st.floats(0, 10), max_size=2),
)
