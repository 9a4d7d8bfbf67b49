"""Preview: what another model can reach at most, before its index is built.

The candidate embeds the questions, the units that hold their gold, and the units that stand nearest
to them in the index that serves. How well it finds the gold among these bounds from above how well
it finds it in an index of its own (see `preview_bounds`). Where even the bound is worse than what
serves by more than the margin of the gate, the gate could not pass the candidate: it is refused
before the backfill.

Where not the whole index is embedded, half of what is embedded is a random sample of it, from which
ranks in the whole index are estimated. Where dense search alone is likely to be worse, as the gate
would tell it, the preview warns: words may hide that from the retriever, and the gate holds it all
the same. A preview never says that a candidate is good: that is for the gate to judge.

The vectors are kept where the backfill finds them; whoever looks sees no half-built variant.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal, TypeAlias

import numpy as np

from rag_assets.config import Config, Retriever, Signal
from rag_assets.evaluation.gold import DocumentKey
from rag_assets.evaluation.non_inferiority import Paired, PairedDifference, default_margin
from rag_assets.evaluation.projection import RankedUnit
from rag_assets.evaluation.questions import Question, brought, read_questions
from rag_assets.evaluation.scores import units_of
from rag_assets.index.embed import EmbeddedAhead, embed_ahead
from rag_assets.index.encoders import encoder_of
from rag_assets.index.steps import CHUNK_VECTORS, ROW_VECTORS
from rag_assets.index.units import matrix_of
from rag_assets.models.paths import load_for_queries
from rag_assets.operations.gate.compared_rankings import Side, serving_side
from rag_assets.operations.gate.slices import SliceStatus, status_of
from rag_assets.operations.gate.verdicts import BeforeAndNow
from rag_assets.operations.model_preview.bounds import (
    ReciprocalRanks,
    dense_hits,
    fused_hits,
    likely_hits,
)
from rag_assets.operations.model_preview.units import (
    ALWAYS_CHEAP,
    GoldUnits,
    gold_units_of,
    most_of,
    pool_questions,
    units_to_embed,
    word_ranking,
)
from rag_assets.store import Store
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import opened

Basis: TypeAlias = Literal["dense", "fused", "dense alone"]
"""What is bounded: the retriever that serves, if it is dense or fuses dense search with words by
reciprocal ranks; else dense search alone, which decides nothing."""
Log: TypeAlias = Callable[[str], None]

DEPTH = 100
"""Units of each ranking."""
NAMED = 10
"""Lost questions that a preview names."""


class NoPreviewError(Exception):
    """Nothing can be said of the candidate before it is built; the message says why."""


@dataclass(frozen=True, slots=True)
class ModelPreview:
    """The bound of a candidate beside what serves."""

    variant: str
    serving: str
    retriever: str
    """The retriever that is to search the candidate."""
    basis: Basis
    metric: str
    """The metric, such as `hit_rate@10`."""
    serving_hits: float
    """The share of the questions that find their gold now."""
    bound: float
    """Largest share that the candidate can reach."""
    difference: PairedDifference
    """The bound minus what serves."""
    margin: float
    dense: Sequence[BeforeAndNow]
    """Dense search alone at the first hit and at those of the metric: now, and at most."""
    likely: Sequence[BeforeAndNow]
    """Dense search alone as it is likely to be; equal to `dense` where the whole index is
    embedded."""
    dense_status: SliceStatus
    """What the gate would say of that."""
    asks_dense: bool
    """Whether what serves, or is to, asks dense search: else the gate does not look at it."""
    left_out: int
    """Questions whose gold is not in both."""
    lost: Sequence[str]
    """Questions that are answered now and that the candidate cannot answer; the first few."""
    units: int
    """The number of units of the index that serves."""
    pool: int
    """Units that the bound rests on."""
    embedded: int
    """Texts that went through the candidate's model for it; the backfill reuses them."""
    tokens: int

    @property
    def is_worse(self) -> bool:
        """Whether dense search alone is likely to be worse, shown or as it looks."""
        return self.dense_status in ("is worse", "looks worse")

    @property
    def is_refused(self) -> bool:
        """Whether the gate could not pass it, as even the bound of its retriever fails."""
        is_bounded = self.basis != "dense alone"
        return is_bounded and self.difference.outcome(self.margin) == "FAIL"

    @property
    def is_small(self) -> bool:
        """Whether the index is so small that building the candidate costs no more than this."""
        return self.units <= ALWAYS_CHEAP


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the index that serves returns for the questions whose gold it holds."""

    gold: Sequence[GoldUnits]
    hits: np.ndarray
    """(questions,) bool: of the retriever that is bounded."""
    dense: Mapping[int, np.ndarray]
    """The hits of dense search alone, by cutoff: (questions,) bool."""
    near: Sequence[Sequence[RankedUnit]]
    """The units that dense search finds for each question."""
    unseen: frozenset[DocumentKey]
    """Documents that a search never returns."""
    words: Sequence[Sequence[RankedUnit]]
    """The units that search by words finds for each question; empty unless the basis needs it."""


def preview(store: Store, config: Config, *, variant: str, log: Log) -> ModelPreview:
    """Bound what `variant` can reach on the imported questions.

    Raises:
        ConfigError: The config has no such variant.
        NoPreviewError: Its units are not known yet, or there is no question to ask.
        MissingIndexError: Nothing serves yet.
        ServingPointerError: What serves cannot be told.
        WeightsError, EncoderError: Its model cannot be used.
    """
    models = config.variant(variant).models
    if len(models) > 1:
        raise NoPreviewError(
            f"{variant} has a model for each domain, whose vectors cannot be compared in one pool"
        )
    questions = brought(read_questions(store), config)
    if not questions:
        raise NoPreviewError(
            "there are no questions to ask: name some under evaluation.questions, then refresh"
        )
    serving = serving_side(store, config)
    basis = _basis(config, serving.complete_set, variant=variant)
    measured = _measured(serving, config, questions, basis=basis, log=log)
    units = opened(store, serving.complete_set.joint).count_rows()
    if units <= ALWAYS_CHEAP:
        build = f"`rag-assets variants backfill {variant}`"
        log(f"in an index of {units:,} units {build} costs about as much")
    pool = units_to_embed(measured.gold, measured.near, units=units)
    rest = units - len(pool)
    sample = _sample(serving, pool, count=most_of(units) - len(pool), unseen=measured.unseen)
    weight, pool = rest / max(len(sample), 1), pool | sample
    vectors, done = _embedded(
        store, config, variant=variant, pool=pool, serving=serving.complete_set, log=log
    )
    failures = [one for part in done for one in part.failures]
    if lacking := [one.reason for one in failures if one.kind == "environment"]:
        raise NoPreviewError(f"{len(lacking)} texts could not be embedded now: {lacking[0]}")
    measured, pool = _known_to_both(measured, pool, vectors)
    if not measured.gold:
        raise NoPreviewError(_why_none(variant, serving=serving.complete_set.variant))
    asked = [one.question for one in measured.gold]
    margin = config.gate.margin or default_margin(len(asked))
    encoder = load_for_queries(config.models[models[0]], name=models[0], home=store.encoders)
    queries = encoder.embed_queries([question.text for question in asked])
    matrix = np.array([vectors[unit] for unit in pool], dtype=np.float32)
    sampled = np.array([unit in sample for unit in pool], dtype=bool)
    questions_of = pool_questions(measured.gold, pool)
    at_most = _beside(measured, lambda k: dense_hits(queries, matrix, questions_of, cutoff=k))
    likely = _beside(
        measured,
        lambda k: likely_hits(
            queries, matrix, questions_of, cutoff=k, sampled=sampled, weight=weight
        ),
    )
    bound = _bound(queries, matrix, measured, pool, config=config)
    lost = [one.text for one, is_lost in zip(asked, measured.hits & ~bound, strict=True) if is_lost]
    return ModelPreview(
        variant=variant,
        serving=serving.complete_set.variant,
        retriever=config.retrieval.retriever,
        basis=basis,
        metric=f"hit_rate@{config.gate.cutoff}",
        serving_hits=float(measured.hits.mean()),
        bound=float(bound.mean()),
        difference=_paired(bound, measured.hits, asked).difference(),
        margin=margin,
        dense=[one for one, _ in at_most],
        likely=[one for one, _ in likely],
        dense_status=status_of(likely[-1][1], margin=margin),
        asks_dense=any(
            "dense" in asked.retrieval.retrievers[name].signals
            for asked, name in (
                (serving.config, serving.retriever),
                (config, config.retrieval.retriever),
            )
        ),
        left_out=len(questions) - len(asked),
        lost=lost[:NAMED],
        units=units,
        pool=len(pool),
        embedded=sum(part.embedded for part in done),
        tokens=sum(part.tokens for part in done),
    )


def _basis(config: Config, serving: CompleteSet, *, variant: str) -> Basis:
    """What can be bounded of the retriever that is to search the candidate."""
    retriever = config.retrieval.retrievers[config.retrieval.retriever]
    stages = (retriever.query_fusion, retriever.reranker, retriever.collapse, retriever.arms)
    is_of_hits = config.gate.metric.startswith("hit_rate@")
    if any(stages) or retriever.domain_fusion or not is_of_hits:
        return "dense alone"
    if retriever.signals == ["dense"]:
        return "dense"
    is_fused = {*retriever.signals} == {"dense", "bm25"}
    is_by_rank = retriever.signal_fusion.mode == "reciprocal_rank"
    if is_fused and is_by_rank and _has_same_texts(config, serving, variant=variant):
        return "fused"
    return "dense alone"


def _has_same_texts(config: Config, serving: CompleteSet, *, variant: str) -> bool:
    """Whether words are ranked alike in both: chunks are cut and rows are written alike."""
    serves = config.variants.get(serving.variant)
    is_written_alike = serves and serves.serializer == config.variant(variant).serializer
    return bool(is_written_alike) and config.tables_of(variant).chunks == serving.chunks


def _measured(
    serving: Side, config: Config, questions: Sequence[Question], *, basis: Basis, log: Log
) -> _Answers:
    texts = [question.text for question in questions]

    def ranked(retriever: Retriever, *, length: int) -> list[list[RankedUnit]]:
        table = serving.index.search_many(texts, retriever=retriever, length=length)
        return units_of(table, count=len(texts))

    near = ranked(Retriever(), length=DEPTH)
    answers = near
    if basis != "dense alone":
        answers = units_of(serving.rankings(texts, log=log), count=len(texts))
    words: list[list[RankedUnit]] = []
    if basis == "fused":
        chosen, deep = config.retrieval.retrievers[config.retrieval.retriever], _depth(config)
        by_words = Retriever(signals=["bm25"], depth=deep["bm25"], glossary=chosen.glossary)
        words = ranked(by_words, length=deep["bm25"])
    indexed = serving.gold(piece for question in questions for piece in question.gold)
    families = serving.index.families
    left_out = families.left_out(serving.index.settings.versions)
    replaced = {key for key, each in families.by_document.items() if each.document_id in left_out}
    found = gold_units_of(questions, indexed, left_out=replaced)

    def hits(rankings: Sequence[Sequence[RankedUnit]], cutoff: int) -> np.ndarray:
        return np.array([one.is_hit(rankings[at], cutoff=cutoff) for at, one in found], bool)

    return _Answers(
        gold=[gold for _, gold in found],
        hits=hits(answers, config.gate.cutoff),
        dense={cutoff: hits(near, cutoff) for cutoff in sorted({1, config.gate.cutoff})},
        near=[near[place] for place, _ in found],
        unseen=frozenset(replaced),
        words=[words[place] for place, _ in found] if words else [],
    )


def _depth(config: Config) -> dict[Signal, int]:
    """Units that each signal contributes to the fusion of the retriever."""
    retrieval = config.retrieval
    given = retrieval.retrievers[retrieval.retriever].depth
    default = max(retrieval.depth, retrieval.top_k)
    one = default if given is None or isinstance(given, dict) else given
    return {"dense": one, "bm25": one, **(given if isinstance(given, dict) else {})}


def _fusion(config: Config) -> ReciprocalRanks:
    """How the retriever fuses."""
    fusion = config.retrieval.retrievers[config.retrieval.retriever].signal_fusion
    return ReciprocalRanks(
        k=config.retrieval.rrf_k if fusion.k is None else fusion.k,
        dense=fusion.weights.get("dense", 1.0),
        words=fusion.weights.get("bm25", 1.0),
        depth=_depth(config)["dense"],
    )


def _embedded(
    store: Store,
    config: Config,
    *,
    variant: str,
    pool: Mapping[str, RankedUnit],
    serving: CompleteSet,
    log: Log,
) -> tuple[dict[str, np.ndarray], list[EmbeddedAhead]]:
    """The candidate's vectors of the units in `pool` that it has too, and what that cost."""
    recipe, serves = config.variant(variant), {name_of(pin.table) for pin in serving.pins}
    encoder = encoder_of(store, config, model=recipe.document_model)
    vectors: dict[str, np.ndarray] = {}
    done: list[EmbeddedAhead] = []
    for kind, is_of in (
        (CHUNK_VECTORS, lambda unit: unit.table is None),
        (ROW_VECTORS, lambda unit: unit.table is not None),
    ):
        source, target = kind.texts_of(config, recipe), kind.step(config, recipe).table
        wanted = [name for name, unit in pool.items() if is_of(unit)]
        if not wanted or not store.exists(source.name):
            continue
        if store.known_as(target) in serves:  # it is complete, and nobody's to touch
            vectors |= _vectors(store, target, wanted)
            continue
        part = embed_ahead(
            store,
            source=source,
            target=target,
            encoder=encoder,
            execution=config.execution,
            units=wanted,
            log=log,
        )
        vectors |= _vectors(store, part.table, wanted)
        done.append(part)
    return vectors, done


def _vectors(store: Store, table: str, units: Sequence[str]) -> dict[str, np.ndarray]:
    """The vectors of those among `units` that `table` has."""
    if not store.exists(table):
        return {}
    rows = store.read_keys(table, column="unit_id", keys=units, columns=["unit_id", "vector"])
    matrix = matrix_of(rows["vector"].combine_chunks())
    return dict(zip(rows["unit_id"].to_pylist(), matrix, strict=True))


def _known_to_both(
    measured: _Answers, pool: Mapping[str, RankedUnit], vectors: Mapping[str, np.ndarray]
) -> tuple[_Answers, dict[str, RankedUnit]]:
    """The questions all of whose gold the candidate has, and the units that it has."""
    keeps = [one.units.keys() <= vectors.keys() for one in measured.gold]
    kept = _Answers(
        gold=[*compress(measured.gold, keeps)],
        hits=measured.hits[keeps],
        dense={cutoff: hits[keeps] for cutoff, hits in measured.dense.items()},
        near=[*compress(measured.near, keeps)],
        unseen=measured.unseen,
        words=[*compress(measured.words, keeps)],
    )
    return kept, {name: unit for name, unit in pool.items() if name in vectors}


def _beside(
    measured: _Answers, found: Callable[[int], np.ndarray]
) -> list[tuple[BeforeAndNow, Paired]]:
    """For each cutoff dense search alone now, and what is `found` by the candidate at it."""
    asked, sides = [one.question for one in measured.gold], []
    for cutoff, hits in measured.dense.items():
        then = found(cutoff)
        paired = _paired(then, hits, asked)
        shown = BeforeAndNow(
            f"hit_rate@{cutoff}",
            serving=float(hits.mean()),
            candidate=float(then.mean()),
            difference=paired.difference(),
        )
        sides.append((shown, paired))
    return sides


def _sample(
    serving: Side, pool: Mapping[str, RankedUnit], *, count: int, unseen: Collection[DocumentKey]
) -> dict[str, RankedUnit]:
    """At most so many other units of the index, at random and always the same: ids are hashes."""
    joint = serving.complete_set.joint
    ids = serving.store.read(joint.table, columns=["unit_id"], version=joint.version)["unit_id"]
    chosen = sorted({*ids.to_pylist()} - pool.keys())[: max(count, 0)]
    columns = ["source", "uri", "table", "row_key", "pages"]
    rows = serving.index.read(chosen, columns).to_pylist() if chosen else []
    units = (RankedUnit(*(row[name] for name in ("unit_id", *columns))) for row in rows)
    return {unit.unit_id: unit for unit in units if (unit.source, unit.uri) not in unseen}


def _bound(
    queries: np.ndarray,
    matrix: np.ndarray,
    measured: _Answers,
    pool: Mapping[str, RankedUnit],
    *,
    config: Config,
) -> np.ndarray:
    """Whether each question may find its gold, as (questions,) bool."""
    questions, cutoff = pool_questions(measured.gold, pool), config.gate.cutoff
    if not measured.words:
        return dense_hits(queries, matrix, questions, cutoff=cutoff)
    words = [word_ranking(*one) for one in zip(measured.words, measured.gold, strict=True)]
    return fused_hits(queries, matrix, questions, words, cutoff=cutoff, fusion=_fusion(config))


def _paired(bound: np.ndarray, hits: np.ndarray, questions: Sequence[Question]) -> Paired:
    """The bound minus what serves, to be tested as the gate tests."""
    first = [question.gold[0] for question in questions]
    differences = bound.astype(float) - hits.astype(float)
    return Paired(differences, [gold.holder for gold in first], [gold.label for gold in first])


def _why_none(variant: str, *, serving: str) -> str:
    return (
        f"{variant} has none of the units with gold that {serving} has: it reads or cuts the "
        f"documents, or writes the rows, in another way, and that is not built yet. Run "
        f"`rag-assets variants backfill {variant}`; the gate judges it then"
    )
