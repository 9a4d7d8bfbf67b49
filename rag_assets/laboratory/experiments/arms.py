"""Running one arm: its rankings, what each question scored, its latency and its cost.

The result of an arm is stored under the fingerprint of everything that it depends on: the content
of the units, the settings and models of the retriever, the questions. So an arm that several
experiments share is run once, and after a refresh only arms whose index has changed are run again.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.config import Config, DomainFusion, Retriever
from rag_assets.evaluation.agreement import agreement
from rag_assets.evaluation.experiment_runs import ARM_RECORD, ARMS, TOP_N, ArmRecord, root_of
from rag_assets.evaluation.indexed_gold import read_indexed_gold, source_documents
from rag_assets.evaluation.latency import latencies
from rag_assets.evaluation.projection import IndexedGold, Level
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.scores import GoldItemsByLevel, gold_items_by_level, scored, units_of
from rag_assets.identity import fingerprint
from rag_assets.laboratory.experiments.design import DEEP_CUTOFFS, ExperimentArm
from rag_assets.laboratory.experiments.node_selection import select_nodes
from rag_assets.models.rerankers import replaceable
from rag_assets.retrieval import rewriters
from rag_assets.retrieval.arms import revisions_of
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.fusion import domain_weights
from rag_assets.retrieval.glossary import glossary_of
from rag_assets.retrieval.rankings import Ranking
from rag_assets.schemas import DOMAINS, column
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.complete_sets import set_of_recipe
from rag_assets.table_lookup.arm import arms_of

if TYPE_CHECKING:
    from rag_assets.retrieval.search import Ranked, VariantIndex

REVISION = 3
"""Raise it when the same index and settings should give other numbers."""
DEPTH = 50
"""Units kept of a ranking: several of them may belong to one document."""
LEVELS: tuple[Level, ...] = ("gold", "document")
TIMED_QUESTIONS = 6
"""Questions that an arm is timed on: experiments have many arms."""
TABLES = ("scores", "extras")

EXTRAS = pa.schema(
    [
        column("question_id", pa.string(), "set/id of the question"),
        column("document_weight", pa.float64(), "weighted fusion: weight of documents, 0 to 1"),
        column("overlap", pa.float64(), "query fusion: units among the first 10 of Q1 and Q2"),
        column("jaccard", pa.float64(), "overlap divided by union"),
        column("union", pa.float64(), "units among the first 10 of Q1 or Q2"),
        column("unique_sources", pa.float64(), "documents and rows in the union"),
    ]
)
"""Measures other than relevance; NULL if the arm has no such stage."""


@dataclass(frozen=True, slots=True)
class ArmResult:
    """The result of an arm."""

    arm: ExperimentArm
    record: ArmRecord
    scores: pa.Table
    """One row for each level and question: `scores.QUESTION_COLUMNS`, then the metrics."""
    extras: pa.Table
    """One row for each question: `EXTRAS`."""
    is_new: bool = False


class ArmRunner:
    """Runs arms on one list of questions; index and gold of a variant are read once."""

    def __init__(
        self,
        store: Store,
        config: Config,
        questions: Sequence[Question],
        *,
        log: Callable[[str], None],
    ) -> None:
        """Run arms on `questions`, in the indexes of `store`."""
        self.store = store
        self.config = config
        self.questions = questions
        self._asked = arms_of(store, config)
        self._log = log
        self._keys: dict[str, str] = {}
        self._indexes: dict[str, VariantIndex] = {}
        self._indexed_gold: dict[str, IndexedGold] = {}
        self._gold_items: dict[str, GoldItemsByLevel] = {}

    def run(self, arm: ExperimentArm) -> ArmResult:
        """The result of `arm`: stored earlier, or computed now.

        Raises:
            MissingIndexError: Its variant has no complete index.
            RerankerError, ModelMismatchError, EncoderError: A model is missing or is another.
        """
        folder = root_of(self.store) / ARMS / self.key_of(arm)
        result = _stored(folder, arm)
        if result is None:
            result = self.measure(arm, index=self.index_of(arm.variant))
            _store(result, folder)
        return result

    def key_of(self, arm: ExperimentArm) -> str:
        """Fingerprint of everything that the result of `arm` depends on; computed once."""
        if arm.name not in self._keys:
            self._keys[arm.name] = self._key_of(arm)
        return self._keys[arm.name]

    def _key_of(self, arm: ExperimentArm) -> str:
        config, index = self.config, self.index_of(arm.variant)
        fusion = arm.retriever.query_fusion
        rewrites = fusion.path if fusion else None
        rerankers = {name: config.retrieval.rerankers[name] for name in arm.retriever.rerankers}
        models = replaceable(rerankers, home=self.store.encoders)
        glossary = glossary_of(config) if arm.retriever.glossary else None
        return fingerprint(
            REVISION,
            [pin.data_version for pin in index.complete_set.pins],
            *(
                config.models[model].model_dump(mode="json")
                for model in config.variant(arm.variant).models
            ),
            index.state(arm.retriever),
            _settings_of(arm.retriever),
            {name: one.model_dump(mode="json") for name, one in rerankers.items()},
            rewriters.text_of(rewrites) if rewrites else None,
            [config.retrieval.depth, config.retrieval.rrf_k, config.index.ann_from_rows],
            arm.filters.condition() if arm.filters else None,
            self._questions_key,
            self._documents_key,
            {source.name: source.url for source in config.sources.documents},
            *([models] if models else []),
            *([glossary.content] if glossary else []),
            *([sorted(map(list, arm.texts.items()))] if arm.texts else []),
            *revisions_of(self._asked, arm.retriever),
            *([ann] if (ann := config.retrieval.ann.model_dump(exclude_defaults=True)) else []),
        )[:32]

    @cached_property
    def _questions_key(self) -> str:
        content = [
            [one.question_id, one.text, one.domain, one.split, one.language, repr(one.gold)]
            for one in self.questions
        ]
        return fingerprint(content)

    @cached_property
    def _documents_key(self) -> str:
        return fingerprint([list(document) for document in source_documents(self.store)])

    def index_of(self, variant: str) -> "VariantIndex":
        """The index of `variant`, opened once.

        Raises:
            MissingTableError: No refresh has built it yet.
        """
        if variant not in self._indexes:
            from rag_assets.retrieval.opening import open_index

            self._indexes[variant] = open_index(
                self.store,
                self.config,
                variant,
                complete_set=set_of_recipe(self.store, self.config, variant),
                arms=self._asked,
                select_nodes=select_nodes,
            )
        return self._indexes[variant]

    @property
    def spending(self) -> Mapping[str, Mapping[str, int | float | str]]:
        """What each language model was used for, by its name and, of several, the variant."""
        every = {variant: index.spending for variant, index in self._indexes.items()}
        if len(every) == 1:
            return next(iter(every.values()))
        return {
            f"{model}, {variant}": spending
            for variant, found in every.items()
            for model, spending in found.items()
        }

    def measure(self, arm: ExperimentArm, *, index: "VariantIndex") -> ArmResult:
        """Run `arm` in `index`, without reading or writing stored results."""
        started = time.monotonic()
        self._log(f"{arm.name}: {len(self.questions):,} questions on variant {arm.variant}")
        filters = replace(arm.filters or Filters(), versions="all")  # gold may be superseded
        texts = [arm.texts.get(one.question_id, one.text) for one in self.questions]
        ranked = index.rank(
            texts,
            retriever=arm.retriever,
            top_k=TOP_N,
            length=DEPTH,
            filters=filters,
        )
        count = len(self.questions)
        scores = scored(
            units_of(ranked.table(), count=count),
            self.questions,
            self._gold_items_of(arm.variant),
            retriever=arm.name,
            cutoffs=DEEP_CUTOFFS,
            depth=DEPTH,
        )
        [latency] = latencies(
            index,
            texts,
            {arm.name: arm.retriever},
            top_k=TOP_N,
            filters=filters,
            most=TIMED_QUESTIONS,
        ).values()
        record = ArmRecord(
            key=self.key_of(arm),
            milliseconds=latency.stages,
            latency=latency.p50,
            p95=latency.p95,
            probed=latency.questions,
            cost={what: amount / count for what, amount in ranked.work.items()},
            seconds=time.monotonic() - started,
        )
        extras = _extras(ranked, self.questions, retriever=arm.retriever)
        return ArmResult(arm, record, scores, extras, is_new=True)

    def indexed_gold_of(self, variant: str) -> IndexedGold:
        """The gold of the questions in the index of `variant`, read once."""
        if variant not in self._indexed_gold:
            self._indexed_gold[variant] = read_indexed_gold(
                self.store,
                self.config,
                variant=variant,
                joint=self.index_of(variant).complete_set.joint,
                gold=[piece for question in self.questions for piece in question.gold],
            )
        return self._indexed_gold[variant]

    def _gold_items_of(self, variant: str) -> GoldItemsByLevel:
        if variant not in self._gold_items:
            self._gold_items[variant] = gold_items_by_level(
                self.questions, indexed=self.indexed_gold_of(variant), levels=LEVELS
            )
        return self._gold_items[variant]


def mark_used(folder: Path) -> None:
    """Note that a stored run or arm was used now: see `evaluation.experiment_retention`."""
    os.utime(folder)


def _settings_of(retriever: Retriever) -> dict:
    """The settings of `retriever`, without the path of its rewrites: their text counts."""
    settings = retriever.model_dump(mode="json", exclude={"expand"})
    if settings["query_fusion"]:
        settings["query_fusion"].pop("path")
    return settings


def _extras(ranked: "Ranked", questions: Sequence[Question], *, retriever: Retriever) -> pa.Table:
    columns: dict[str, Sequence[float | None]] = {}
    fusion = retriever.domain_fusion
    if fusion and fusion.mode == "weighted":
        columns["document_weight"] = [
            _document_weight(ranking, fusion=fusion) for ranking in ranked.rankings
        ]
    if retriever.query_fusion:
        columns |= _agreement_of_queries(ranked)
    ids = [question.question_id for question in questions]
    empty = [None] * len(ids)
    return pa.table(
        {"question_id": ids}
        | {name: columns.get(name, empty) for name in EXTRAS.names if name != "question_id"},
        schema=EXTRAS,
    )


def _below(ranking: Ranking, name: str) -> Ranking:
    """The topmost ranking called `name` that `ranking` was made from."""
    found = [
        (path.count("/"), stage)
        for path, stage in ranking.stages().items()
        if path.rpartition("/")[2] == name
    ]
    return min(found, key=lambda entry: entry[0])[1]


def _document_weight(ranking: Ranking, *, fusion: DomainFusion) -> float:
    scores = [_below(ranking, domain).scores for domain in DOMAINS]
    weights = domain_weights(scores, alpha=fusion.alpha)
    return weights[DOMAINS.index("document")]


def _agreement_of_queries(ranked: "Ranked") -> dict[str, Sequence[float]]:
    """How similar the lists of Q1 and Q2 are (P2, table 5); without a Q2, Q1 replaces it."""
    lists = []
    for name in ("q1", "q2"):
        chosen = [
            _below(ranking, name if _has(ranking, name) else "q1") for ranking in ranked.rankings
        ]
        lists.append(units_of(replace(ranked, rankings=chosen).table(), count=len(chosen)))
    found = agreement(*lists, k=TOP_N)
    return {
        "overlap": found.overlap.tolist(),
        "jaccard": found.jaccard.tolist(),
        "union": found.union.tolist(),
        "unique_sources": found.items.tolist(),
    }


def _has(ranking: Ranking, name: str) -> bool:
    return any(path.rpartition("/")[2] == name for path in ranking.stages())


def _stored(folder: Path, arm: ExperimentArm) -> ArmResult | None:
    import pyarrow.parquet as pq

    try:
        record = ArmRecord(**json.loads((folder / ARM_RECORD).read_text("utf-8")))
        scores, extras = (pq.read_table(folder / f"{name}.parquet") for name in TABLES)
    except (OSError, ValueError, TypeError, pa.ArrowInvalid):
        return None
    mark_used(folder)
    place = scores.schema.get_field_index("retriever")
    names = pa.array([arm.name] * scores.num_rows, pa.string())
    named = scores.set_column(place, scores.schema.field(place), names)
    return ArmResult(arm, record, named, extras)


def _store(found: ArmResult, folder: Path) -> None:
    import pyarrow.parquet as pq

    fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name, table in zip(TABLES, (found.scores, found.extras), strict=True):
        pq.write_table(table, fresh / f"{name}.parquet", compression="zstd")
    write_atomically(fresh / ARM_RECORD, json.dumps(asdict(found.record), indent=1))
    shutil.rmtree(folder, ignore_errors=True)
    try:
        fresh.rename(folder)
    except OSError:  # another experiment has stored the same arm meanwhile
        shutil.rmtree(fresh)
        if not (folder / ARM_RECORD).is_file():
            raise
