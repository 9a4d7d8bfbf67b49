"""The section `experiments`: what is compared with what, under one protocol.

Each experiment names a design and may change its settings; all other settings are those of the
paper that the design comes from (P0 to P2: see docs/experiments.md). The variants that it compares
need not be in the config file: missing ones are added.
"""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field

from rag_assets.config.base import Section, Slug
from rag_assets.config.recipes import SERIALIZERS, SerializerName, Variant
from rag_assets.config.retrieval import (
    FusionMode,
    Retriever,
    RetrieverName,
    RewritingStrategy,
    Signal,
    Weight,
)

Count: TypeAlias = Annotated[int, Field(gt=0)]
Criterion: TypeAlias = Literal["mrr", "hit_rate", "ndcg", "recall", "map"]
DomainMode: TypeAlias = FusionMode | Literal["joint"]
Domain: TypeAlias = Literal["document", "table"]
Reading: TypeAlias = Literal["typed", "rules", "model", "full"]
"""Of a follow-up: as it was typed, made whole by rules or by a language model, or in full."""
Method: TypeAlias = Literal[
    "baseline",
    "simple_fusion",
    "late_fusion",
    "weighted_fusion",
    "bm25",
    "hybrid",
    "hybrid_late_fusion",
]


class Experiment(Section):
    """What all experiments have in common."""

    title: str | None = Field(None, description="shown instead of the design's own title")
    variant: Slug | None = Field(
        None, description="the variant from which those that are compared are made; the first"
    )
    questions: list[Slug] = Field([], description="question sets to use; all unless given")
    criterion: Criterion = Field(
        "mrr", description="settings are chosen by this metric at k = 10 over all dev questions"
    )
    reranker: Slug | None = Field(
        "late_interaction", description="orders the top_k units of every arm; null: their own order"
    )

    def recipes(self, base: Variant) -> list[Variant]:
        """The variants that are compared; `base` is what `variant` names."""
        return [base]

    def derived(self, variants: dict[Slug, Variant]) -> dict[Slug, Variant]:
        """The variants that are compared and that `variants` lacks, with a name for each.

        Raises:
            ValueError: `variants` has none called `variant`, or another one under a name needed.
        """
        name = self.variant or next(iter(variants))
        if name not in variants:
            known = ", ".join(variants)
            raise ValueError(f"an experiment asks for variant {name!r}; there are {known}")
        base = variants[name]
        lacking = [recipe for recipe in self.recipes(base) if recipe not in variants.values()]
        named = {_name_of(recipe, base=base, prefix=name): recipe for recipe in lacking}
        clashing = sorted(named.keys() & variants.keys())
        if clashing:
            raise ValueError(
                f"an experiment adds a variant {clashing[0]!r}, and the config has another one of "
                "that name: rename it"
            )
        return named


def _name_of(recipe: Variant, *, base: Variant, prefix: str) -> Slug:
    parts = recipe.model_dump()
    changed = [value for part, value in parts.items() if value != getattr(base, part)]
    return "_".join([prefix, *changed])


class SerializerExperiment(Experiment):
    """Which serializer finds rows best, and whether documents suffer (P0, 5.1)."""

    design: Literal["serializers"]
    serializers: list[SerializerName] = Field([*SERIALIZERS], min_length=1)
    top_k: Count = 20

    def recipes(self, base: Variant) -> list[Variant]:
        """One for each serializer."""
        return [base.model_copy(update={"serializer": name}) for name in self.serializers]


class IndexSizeExperiment(Experiment):
    """How retrieval suffers as documents are added (P0, 5.2)."""

    design: Literal["index_size"]
    collections: Path | None = Field(
        None,
        description="JSON with nested lists of document ids by size, under `collections`; derived "
        "by hash unless given",
    )
    sizes: int = Field(5, gt=1, description="derived: collections, each half of the next")
    top_k: Count = 20


class ChunkSizeExperiment(Experiment):
    """Chunk size and number of retrieved units together (P0, 5.3)."""

    design: Literal["chunk_size"]
    chunkings: list[Slug] = Field(["fixed_256", "fixed_512"], min_length=1)
    top_k: list[Count] = Field([10, 20, 30, 40, 50, 60, 70, 80], min_length=1)

    def recipes(self, base: Variant) -> list[Variant]:
        """One for each chunking."""
        return [base.model_copy(update={"chunking": name}) for name in self.chunkings]


class FusionModeExperiment(Experiment):
    """By which rule documents and rows, searched apart, become one ranking (P0, 5.4)."""

    design: Literal["fusion_modes"]
    chunking: Slug = "fixed_512"
    modes: list[FusionMode] = Field(
        ["reciprocal_rank", "relative_score", "distribution_based"], min_length=1
    )
    top_k: Count = 20

    def recipes(self, base: Variant) -> list[Variant]:
        """One, of the chunking."""
        return [base.model_copy(update={"chunking": self.chunking})]


class EmbeddingModelExperiment(Experiment):
    """Which embedding model finds gold best (P0, 4.6, stage 5)."""

    design: Literal["embedding_models"]
    models: list[Slug] = Field(min_length=1)
    top_k: Count = 20

    def recipes(self, base: Variant) -> list[Variant]:
        """One for each model."""
        return [base.model_copy(update={"model": name}) for name in self.models]


class WeightedRetrieverExperiment(Experiment):
    """How many units weigh a domain, and how sharply (P0, 5.5)."""

    design: Literal["weighted_retriever"]
    chunking: Slug = "fixed_512"
    top_j: list[Count] = Field([10, 20, 40], min_length=1, description="varied at `alpha_of_top_j`")
    alpha: list[Annotated[float, Field(gt=0)]] = Field(
        [0.25, 0.5, 1.0, 1.5, 2.0], min_length=1, description="varied at the largest top_j"
    )
    alpha_of_top_j: float = Field(0.5, gt=0)
    top_k: Count = 40

    def recipes(self, base: Variant) -> list[Variant]:
        """One, of the chunking."""
        return [base.model_copy(update={"chunking": self.chunking})]


class RetrievalMethodExperiment(Experiment):
    """The retrieval methods, each with the settings that are best on dev (P0, 4.6.6)."""

    design: Literal["retrieval_methods"]
    methods: list[Method] = Field(
        [*get_args(Method)],
        min_length=1,
        description="the first is what the others are compared with",
    )
    chunkings: list[Slug] = Field(["fixed_256", "fixed_512"], min_length=1)
    top_k: list[Count] = Field([20, 40], min_length=1)
    modes: list[FusionMode] = Field(
        ["relative_score", "distribution_based", "reciprocal_rank"], min_length=1
    )
    alpha: list[Annotated[float, Field(gt=0)]] = Field([0.1, 1.0], min_length=1)

    def recipes(self, base: Variant) -> list[Variant]:
        """One for each chunking."""
        return [base.model_copy(update={"chunking": name}) for name in self.chunkings]


class QueryFusionExperiment(Experiment):
    """Searching a reformulation as well, under fixed budgets, against a strong hybrid (P2)."""

    design: Literal["query_fusion"]
    chunking: Slug = "fixed_512"
    rewriter: Literal["rules", "file"] = "rules"
    path: Path | None = Field(None, description="file: JSONL with query and rewrites")
    top_k: Count = Field(10, description="units that are retrieved, reranked and kept")

    def recipes(self, base: Variant) -> list[Variant]:
        """One, of the chunking."""
        return [base.model_copy(update={"chunking": self.chunking})]


class RewritingExperiment(Experiment):
    """Who rewrites a query best: nobody, rules, a file, or a language model by a strategy (P2)."""

    design: Literal["rewriting"]
    chunking: Slug = "fixed_512"
    path: Path | None = Field(None, description="JSONL with query and rewrites, as another arm")
    model: Slug | None = Field(
        None, description="a name under language_models; the first one unless given"
    )
    strategies: list[RewritingStrategy] = Field([*get_args(RewritingStrategy)], min_length=1)
    top_k: Count = Field(10, description="units that are retrieved, reranked and kept")

    def recipes(self, base: Variant) -> list[Variant]:
        """One, of the chunking."""
        return [base.model_copy(update={"chunking": self.chunking})]


class CondensationExperiment(Experiment):
    """Follow-ups as they were typed, made whole by rules or by a language model, and in full."""

    design: Literal["condensation"]
    follow_ups: Path = Field(
        description="JSONL: history, follow_up, full and gold a line, as of questions"
    )
    documents: Path | None = Field(
        None, description="documents.jsonl that maps the gold's document ids to paths"
    )
    readings: list[Reading] = Field(
        ["typed", "rules", "full"],
        min_length=1,
        description="what is searched: typed, rules, model, full; the first is what the others "
        "are compared with",
    )
    language_model: Slug | None = Field(
        None, description="completes the follow-ups of the reading model; the first one"
    )
    retriever: RetrieverName | None = Field(
        None, description="what searches; that of `retrieval` unless given"
    )
    reranker: Slug | None = None


class HeaderExperiment(Experiment):
    """Chunks with a header in front and without (P1, table 2)."""

    design: Literal["headers"]
    without: Slug = "fixed_256"
    with_header: Slug = "fixed_256_header"
    signals: list[Signal] = Field(["dense"], min_length=1, description="what is searched")
    top_k: Count = 20
    reranker: Slug | None = None
    criterion: Criterion = "map"

    def recipes(self, base: Variant) -> list[Variant]:
        """One for each chunking."""
        names = (self.without, self.with_header)
        return [base.model_copy(update={"chunking": name}) for name in names]


class ParserComparisonExperiment(Experiment):
    """Parsers on the same files: what they keep, how fast, and how well it is found (P4, 3.2)."""

    design: Literal["parser_comparison"]
    parsers: list[Slug] = Field(
        ["pymupdf", "docling", "marker"],
        min_length=1,
        description="names under `parsers`; those that are not installed are left out, and named",
    )
    signals: list[Signal] = Field(["dense", "bm25"], min_length=1, description="what is searched")
    sample_pages: Count = Field(20, description="pages that each parser is timed on")
    top_k: Count = 20
    reranker: Slug | None = None

    def recipes(self, base: Variant) -> list[Variant]:
        """One for each parser."""
        return [base.model_copy(update={"parser": name}) for name in self.parsers]


class ReportRetrievalExperiment(Experiment):
    """One broad query against sub-questions, for prompts that ask for a report (P4, 3.7)."""

    design: Literal["report_retrieval"]
    prompts: Path = Field(
        description="JSON with the prompts, and of each the sections, pages and facts expected"
    )
    retriever: RetrieverName | None = Field(
        None, description="a name under retrieval.retrievers; retrieval.retriever unless given"
    )
    reranker: Slug | None = None


class SignalDomainExperiment(Experiment):
    """Fusion of signals times fusion of domains: which repairs which."""

    design: Literal["signal_domain_fusion"]
    signals: list[Annotated[list[Signal], Field(min_length=1)]] = Field(
        [["dense"], ["bm25"], ["dense", "bm25"]], min_length=1
    )
    signal_modes: list[FusionMode] = Field(
        ["reciprocal_rank", "relative_score"], min_length=1, description="where signals are several"
    )
    signal_weights: list[dict[Signal, Weight]] = Field(
        [{}], min_length=1, description="each with each mode where signals are several; {}: equal"
    )
    domain_modes: list[DomainMode] = Field(
        ["joint", "simple", "reciprocal_rank", "relative_score", "distribution_based", "weighted"],
        min_length=1,
        description="joint: one index, nothing to fuse",
    )
    domain_weights: list[dict[Domain, Weight]] = Field(
        [{}], min_length=1, description="each with each mode that takes weights; {}: equal"
    )
    alpha: float = Field(0.1, gt=0, description="temperature of the mode weighted")
    reranker: Slug | None = None
    top_k: Count = 20


class ComparedArm(Section):
    """One arm of an experiment of your own."""

    name: str = Field(min_length=1)
    variant: Slug | None = Field(None, description="that of the experiment unless given")
    retriever: RetrieverName | Retriever = Field("hybrid", description="a name, or its settings")


class ArmsExperiment(Experiment):
    """Arms of one's own."""

    design: Literal["arms"]
    arms: list[ComparedArm] = Field(
        min_length=1, description="the first is what the others are compared with"
    )


def _designed(value: object) -> object:
    """An experiment that lists arms is one of arms, and `NAME: {}` means the design NAME."""
    if isinstance(value, dict):
        return {name: _with_design(name, given) for name, given in value.items()}
    return value


def _with_design(name: object, given: object) -> object:
    settings = {} if given is None else given
    if not isinstance(settings, dict) or "design" in settings:
        return settings
    return {"design": "arms" if "arms" in settings else name, **settings}


AnyExperiment: TypeAlias = Annotated[
    SerializerExperiment
    | IndexSizeExperiment
    | ChunkSizeExperiment
    | FusionModeExperiment
    | EmbeddingModelExperiment
    | WeightedRetrieverExperiment
    | RetrievalMethodExperiment
    | QueryFusionExperiment
    | RewritingExperiment
    | CondensationExperiment
    | HeaderExperiment
    | ParserComparisonExperiment
    | ReportRetrievalExperiment
    | SignalDomainExperiment
    | ArmsExperiment,
    Field(discriminator="design"),
]
Experiments: TypeAlias = Annotated[dict[Slug, AnyExperiment], BeforeValidator(_designed)]
"""By name; `serializers:` alone is the design of that name with its defaults."""
