"""Preview: what another model can reach at most, before its index is built.

The candidate embeds the questions, the units that hold their gold, and the units that stand nearest
to them in the index that serves. How well it finds the gold among these bounds from above how well
it finds it in an index of its own (see `preview_bounds`). Where even the bound is worse than what
serves by more than the margin of the gate, the gate could not pass the candidate: it is refused
before the backfill. A preview never says that a candidate is good: that is for the gate to judge.

The vectors are committed to the candidate's own tables, so that the backfill goes on from there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal, TypeAlias

import numpy as np

from rag_assets.change.steps import variant_steps
from rag_assets.config import Config, Retriever, Signal
from rag_assets.evaluation.gold import RowGold
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.intervals import cluster_bootstrap, clusters_of
from rag_assets.evaluation.projection import RankedUnit
from rag_assets.evaluation.questions import Question, read_questions
from rag_assets.evaluation.scores import units_of
from rag_assets.index.embed import EmbeddedAhead, embed_ahead
from rag_assets.index.encoders import encoder_of
from rag_assets.index.units import chunk_source, matrix_of, row_source
from rag_assets.models.paths import load_for_queries
from rag_assets.operations.preview_bounds import ReciprocalRanks, dense_hits, fused_hits
from rag_assets.operations.preview_pool import (
    GoldUnits,
    gold_units_of,
    pool_of,
    pool_questions,
    word_ranking,
)
from rag_assets.retrieval.search import VariantIndex, open_index
from rag_assets.store import Store
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet, set_of
from rag_assets.store.pins import opened

Basis: TypeAlias = Literal["dense", "fused", "dense alone"]
"""What is bounded: the retriever that serves, if it is dense or fuses dense search with words by
reciprocal ranks; else dense search alone, which decides nothing."""
Log: TypeAlias = Callable[[str], None]

CUTOFF = 10
"""The k of hit@k that the gate judges by."""
DEPTH = 100
"""Units of each ranking."""
NAMED = 10
"""Lost questions that a preview names."""


class NoPreviewError(Exception):
    """Nothing can be said of the candidate before it is built; the message says why."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The bound of a candidate beside what serves."""

    variant: str
    serving: str
    retriever: str
    """That answers queries now."""
    basis: Basis
    questions: int
    """Those whose gold both hold."""
    left_out: int
    serving_hits: float
    """Share of the questions that find their gold among the first ten items now."""
    bound: float
    """Largest share that the candidate can reach."""
    low: float
    """Of the difference bound - serving, a 95 % interval by clusters; NaN with fewer than two."""
    high: float
    margin: float
    lost: Sequence[str]
    """Questions that are answered now and that the candidate cannot answer; the first few."""
    units: int
    """Of the index that serves."""
    pool: int
    """Units that the bound rests on."""
    embedded: int
    """Texts that went through the candidate's model for it; the backfill reuses them."""
    tokens: int

    @property
    def difference(self) -> float:
        """Bound minus serving."""
        return self.bound - self.serving_hits

    @property
    def is_worse(self) -> bool:
        """Whether even the bound is worse by more than the margin, beyond chance."""
        return self.high < -self.margin

    @property
    def is_refused(self) -> bool:
        """Whether the gate could not pass the candidate."""
        return self.is_worse and self.basis != "dense alone"


@dataclass(frozen=True, slots=True)
class _Measured:
    """What the index that serves returns for the questions whose gold it holds."""

    gold: Sequence[GoldUnits]
    hits: np.ndarray
    """(questions,) bool: of the retriever that is bounded."""
    near: Sequence[Sequence[RankedUnit]]
    """By dense search."""
    words: Sequence[Sequence[RankedUnit]]
    """By words; empty unless the basis needs it."""


def preview(store: Store, config: Config, *, variant: str, log: Log) -> Preview:
    """Bound what `variant` can reach on the imported questions.

    Raises:
        ConfigError: The config has no such variant.
        NoPreviewError: Its units are not known yet, or there is no question to ask.
        MissingIndexError: Nothing serves yet.
        WeightsError, EncoderError: Its model cannot be used.
    """
    models = config.variant(variant).models
    if len(models) > 1:
        raise NoPreviewError(
            f"{variant} has a model for each domain, whose vectors cannot be compared in one pool"
        )
    questions = read_questions(store)
    if not questions:
        raise NoPreviewError(
            "there are no questions to ask: name some under evaluation.questions, then refresh"
        )
    serving = set_of(store, config, config.serving_variant)
    basis = _basis(config, serving, variant=variant)
    index = open_index(store, config, config.serving_variant, complete_set=serving)
    log(f"{config.serving_variant}: searching {len(questions):,} questions")
    measured = _measured(store, config, index, questions, basis=basis)
    units = opened(store, serving.joint).count_rows()
    pool = pool_of(measured.gold, measured.near, units=units)
    vectors, done = _embedded(store, config, variant=variant, pool=pool, serving=serving, log=log)
    if lacking := [one.reason for one in done.failures if one.kind == "environment"]:
        raise NoPreviewError(f"{len(lacking)} texts could not be embedded now: {lacking[0]}")
    measured, pool = _known_to_both(measured, pool, vectors)
    if not measured.gold:
        raise NoPreviewError(_why_none(config, variant))
    asked = [one.question for one in measured.gold]
    queries = load_for_queries(
        config.models[models[0]], name=models[0], home=store.encoders
    ).embed_queries([question.text for question in asked])
    matrix = np.array([vectors[unit] for unit in pool], dtype=np.float32)
    bound = _bound(queries, matrix, measured, pool, fusion=_fusion(config))
    low, high = bounded_difference(
        bound, measured.hits, asked, samples=config.evaluation.bootstrap_samples
    )
    lost = [one.text for one, is_lost in zip(asked, measured.hits & ~bound, strict=True) if is_lost]
    return Preview(
        variant=variant,
        serving=config.serving_variant,
        retriever=config.retrieval.retriever,
        basis=basis,
        questions=len(asked),
        left_out=len(questions) - len(asked),
        serving_hits=float(measured.hits.mean()),
        bound=float(bound.mean()),
        low=low,
        high=high,
        margin=config.evaluation.margin,
        lost=lost[:NAMED],
        units=units,
        pool=len(pool),
        embedded=done.embedded,
        tokens=done.tokens,
    )


def _basis(config: Config, serving: CompleteSet, *, variant: str) -> Basis:
    """What can be bounded of the retriever that answers queries."""
    retriever = config.retrieval.retrievers[config.retrieval.retriever]
    stages = (retriever.query_fusion, retriever.reranker, retriever.collapse)
    if any(stages) or retriever.domain_fusion:
        return "dense alone"
    if retriever.signals == ["dense"]:
        return "dense"
    is_fused = {*retriever.signals} == {"dense", "bm25"}
    is_by_rank = retriever.signal_fusion.mode == "reciprocal_rank"
    if is_fused and is_by_rank and _has_same_texts(config, serving, variant=variant):
        return "fused"
    return "dense alone"


def _has_same_texts(config: Config, serving: CompleteSet, *, variant: str) -> bool:
    """Whether words are ranked alike in both: chunks and rows are written alike."""
    is_written_alike = (
        config.variant(variant).serializer == config.variant(config.serving_variant).serializer
    )
    return config.tables_of(variant).chunks == serving.chunks and is_written_alike


def _measured(
    store: Store,
    config: Config,
    index: VariantIndex,
    questions: Sequence[Question],
    *,
    basis: Basis,
) -> _Measured:
    texts = [question.text for question in questions]

    def ranked(retriever: Retriever, *, length: int = DEPTH) -> list[list[RankedUnit]]:
        table = index.search_many(texts, retriever=retriever, length=length)
        return units_of(table, count=len(texts))

    near = ranked(Retriever())
    serving = config.retrieval.retrievers[config.retrieval.retriever]
    answers = near if basis == "dense alone" else ranked(serving)
    deep = _depth(config, "bm25")
    by_words = Retriever(signals=["bm25"], depth=deep, glossary=serving.glossary)
    words = ranked(by_words, length=deep) if basis == "fused" else []
    pieces = [piece for question in questions for piece in question.gold]
    indexed = read_indexed_gold(
        store,
        config,
        variant=config.serving_variant,
        joint=index.complete_set.joint,
        gold=pieces,
    )
    found = gold_units_of(questions, indexed)
    return _Measured(
        gold=[gold for _, gold in found],
        hits=np.array([gold.is_hit(answers[place], cutoff=CUTOFF) for place, gold in found], bool),
        near=[near[place] for place, _ in found],
        words=[words[place] for place, _ in found] if words else [],
    )


def _depth(config: Config, signal: Signal) -> int:
    """Units that a signal contributes to the fusion of the retriever that serves."""
    retrieval = config.retrieval
    given = retrieval.retrievers[retrieval.retriever].depth
    default = max(retrieval.depth, retrieval.top_k)
    return given.get(signal, default) if isinstance(given, dict) else given or default


def _fusion(config: Config) -> ReciprocalRanks:
    """How the retriever that serves fuses."""
    fusion = config.retrieval.retrievers[config.retrieval.retriever].signal_fusion
    return ReciprocalRanks(
        k=config.retrieval.rrf_k if fusion.k is None else fusion.k,
        first_rank=fusion.first_rank,
        dense=fusion.weights.get("dense", 1.0),
        words=fusion.weights.get("bm25", 1.0),
        depth=_depth(config, "dense"),
    )


def _embedded(
    store: Store,
    config: Config,
    *,
    variant: str,
    pool: Mapping[str, RankedUnit],
    serving: CompleteSet,
    log: Log,
) -> tuple[dict[str, np.ndarray], EmbeddedAhead]:
    """The candidate's vectors of the units in `pool` that it has too, and what that cost."""
    steps, serves = variant_steps(config, variant), {name_of(pin.table) for pin in serving.pins}
    encoder = encoder_of(store, config, model=config.variant(variant).document_model)
    vectors: dict[str, np.ndarray] = {}
    done = EmbeddedAhead()
    for asset, source_of, is_of in (
        ("chunk_vectors", chunk_source, lambda unit: unit.table is None),
        ("row_vectors", row_source, lambda unit: unit.table is not None),
    ):
        [(texts, _)] = steps[asset].sources
        target, wanted = steps[asset].table, [name for name, unit in pool.items() if is_of(unit)]
        if not wanted or not store.exists(texts):
            continue
        if store.known_as(target) not in serves:  # what serves is complete, and nobody's to touch
            part = embed_ahead(
                store,
                source=source_of(texts),
                target=target,
                encoder=encoder,
                execution=config.execution,
                units=wanted,
                log=log,
            )
            done = done.with_more(part)
        vectors |= _vectors(store, target, wanted)
    return vectors, done


def _vectors(store: Store, table: str, units: Sequence[str]) -> dict[str, np.ndarray]:
    """Those of `units` that `table` has."""
    if not store.exists(table):
        return {}
    rows = store.read_keys(table, column="unit_id", keys=units, columns=["unit_id", "vector"])
    matrix = matrix_of(rows["vector"].combine_chunks())
    return dict(zip(rows["unit_id"].to_pylist(), matrix, strict=True))


def _known_to_both(
    measured: _Measured, pool: Mapping[str, RankedUnit], vectors: Mapping[str, np.ndarray]
) -> tuple[_Measured, dict[str, RankedUnit]]:
    """The questions all of whose gold the candidate has, and the units that it has."""
    keeps = [one.units.keys() <= vectors.keys() for one in measured.gold]
    kept = _Measured(
        gold=[*compress(measured.gold, keeps)],
        hits=measured.hits[keeps],
        near=[*compress(measured.near, keeps)],
        words=[*compress(measured.words, keeps)],
    )
    return kept, {name: unit for name, unit in pool.items() if name in vectors}


def _bound(
    queries: np.ndarray,
    matrix: np.ndarray,
    measured: _Measured,
    pool: Mapping[str, RankedUnit],
    *,
    fusion: ReciprocalRanks,
) -> np.ndarray:
    """Which questions may find their gold, as (questions,) bool."""
    questions = pool_questions(measured.gold, pool)
    if not measured.words:
        return dense_hits(queries, matrix, questions, cutoff=CUTOFF)
    words = [word_ranking(*one) for one in zip(measured.words, measured.gold, strict=True)]
    return fused_hits(queries, matrix, questions, words, cutoff=CUTOFF, fusion=fusion)


def bounded_difference(
    bound: np.ndarray, hits: np.ndarray, questions: Sequence[Question], *, samples: int
) -> tuple[float, float]:
    """The 95 % interval of the mean of `bound` - `hits`, both (questions,) bool, by clusters."""
    sources = [
        f"table {gold.table}" if isinstance(gold, RowGold) else gold.uri
        for gold in (question.gold[0] for question in questions)
    ]
    clusters = clusters_of(sources, [question.gold[0].label for question in questions])
    differences = (bound.astype(float) - hits.astype(float))[:, None]
    found = cluster_bootstrap(differences, clusters, samples=samples)
    return float(found.low[0]), float(found.high[0])


def _why_none(config: Config, variant: str) -> str:
    return (
        f"{variant} has none of the units with gold that {config.serving_variant} has: it reads or "
        f"cuts the documents, or writes the rows, in another way, and that is not built yet. Run "
        f"`rag-assets backfill {variant}`; the gate judges it then"
    )
