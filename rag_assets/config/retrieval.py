"""The section `retrieval`: retrievers, rerankers and the defaults of a search.

A retriever consists of stages, each of which may be left out: signals, which are searched in one
joint index or in an index for each domain; fusion of the signals; fusion of the domains; fusion
over reformulated queries; reranking; collapse of duplicates. What a reranker is stands in
`rerankers`. The retrievers and rerankers in `retrieval.yaml` exist in every config.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, TypeAdapter, model_validator

from rag_assets.api import CustomArm
from rag_assets.config.base import (
    ExtendedSection,
    Section,
    Slug,
    check_named,
    merged_with_defaults,
    read_data,
)
from rag_assets.config.custom import OrCustom
from rag_assets.config.indexes import AnnSearch
from rag_assets.config.rerankers import RerankerSettings
from rag_assets.schemas import DOMAINS

RetrieverName: TypeAlias = Slug
"""A key of `retrieval.retrievers`, or of those in `retrieval.yaml`."""
Signal: TypeAlias = Literal["dense", "sparse", "bm25", "node_selection"]
"""What searches an index: similarity of vectors, lexical weights of a model, words by BM25; and
paper P3's selection of nodes, which others are compared with."""
BY_MODEL: frozenset[Signal] = frozenset({"dense", "sparse"})
"""The signals that need the query embedded."""
ArmName: TypeAlias = Annotated[str, OrCustom(CustomArm, ("lookup",))]
"""What finds units beside the signals: `lookup` reads the question as a plan over one table;
`module:NAME` is an arm of somebody's own."""
TextNameKind: TypeAlias = Literal["title", "key", "name"]
"""What a name in running text may be of: see `LinkStage.in_text`."""
FusionMode: TypeAlias = Literal[
    "simple",
    "reciprocal_rank",
    "relative_score",
    "sum",
    "max_norm",
    "distribution_based",
    "weighted",
]
RewritingStrategy: TypeAlias = Literal["conservative", "precise", "diverse"]
"""How a language model words a query anew: prompt types 1, 2 and 3 of paper P2, A.4.3."""
Versions: TypeAlias = Literal["current", "all"]
"""The documents that are searched where some are versions of one: only those that no other
replaces, or all."""
UNWEIGHTED = ("simple", "weighted")
"""Modes of fusion that take no weights from the config."""
RERANK_ARMS = ("candidates", "reranked")
"""What `Retriever.rerank_fusion` fuses: the units before reranking, and in the reranker's order."""
Weight: TypeAlias = Annotated[float, Field(ge=0)]
Depth: TypeAlias = Annotated[int, Field(gt=0)]


class Fusion(ExtendedSection):
    """How the rankings of several arms become one."""

    mode: FusionMode = Field("reciprocal_rank", description="weighted is for domains alone")
    weights: dict[str, Weight] = Field({}, description="weight of an arm, 1 unless given")
    k: int | None = Field(None, ge=0, description="constant of reciprocal ranks; retrieval.rrf_k")

    @model_validator(mode="after")
    def _settings_fit_the_mode(self) -> Self:
        if self.mode in UNWEIGHTED and self.weights:
            raise ValueError(f"{self.mode} fusion takes no weights from the config")
        return self

    def check_arms(self, arms: list[str]) -> None:
        """Check that the settings fit `arms`.

        Raises:
            ValueError: `weights` names an arm that is not in `arms`, or the mode is `weighted` and
                the arms are not the domains.
        """
        if self.mode == "weighted" and arms != [*DOMAINS]:
            raise ValueError(f"mode: weighted fuses domains, not {arms}")
        unknown = sorted(self.weights.keys() - set(arms))
        if unknown:
            raise ValueError(f"weights: there is no arm {unknown[0]!r}; there are {arms}")


class DomainFusion(Fusion):
    """How documents and table rows, searched apart, become one ranking."""

    mode: FusionMode = "relative_score"
    depth: Depth | None = Field(None, description="units that each domain contributes")
    reranker: Slug = Field("late_interaction", description="weighted: what scores relevance")
    alpha: float = Field(1.0, gt=0, description="weighted: temperature; large evens weights out")
    top_j: int = Field(20, gt=0, description="weighted: units of each domain that are scored")


class QueryFusion(ExtendedSection):
    """Searching a reformulation of a query (Q2) beside the query itself (Q1)."""

    added_keys: ClassVar[frozenset[str]] = frozenset({"strategy", "model"})

    rewriter: Literal["rules", "file", "model"] = Field("rules", description="where Q2 comes from")
    path: Path | None = Field(None, description="file: JSONL with query and rewrites")
    strategy: RewritingStrategy = Field(
        "conservative",
        description="model: conservative asks the same in other words, precise words it for "
        "search, diverse looks from another side",
    )
    model: Slug | None = Field(
        None, description="model: a name under language_models; the first one unless given"
    )
    anchor: Literal["q1", "q2"] | None = Field(
        None, description="query that the fused list is reranked on"
    )

    @model_validator(mode="after")
    def _file_is_named(self) -> Self:
        if (self.rewriter == "file") != (self.path is not None):
            raise ValueError("rewriter: file needs a path, and a path needs rewriter: file")
        return self

    @model_validator(mode="after")
    def _model_is_asked(self) -> Self:
        if self.rewriter != "model" and (self.model or self.strategy != "conservative"):
            raise ValueError("strategy and model need rewriter: model")
        return self


class Collapse(Section):
    """Leaving out units that repeat a better one; exact copies always go."""

    near: float | None = Field(
        None, gt=0, le=1, description="cosine from which texts count as the same; null: copies only"
    )


class Expansion(Section):
    """What is read around a hit; the ranking stays as it is."""

    neighbours: int = Field(0, ge=0, description="chunks before and after, of the same section")
    rows: int = Field(0, ge=0, description="all rows of a table that has at most so many")


class LinkStage(ExtendedSection):
    """Following links from the first hits to what they name, and to what names them."""

    weight: float = Field(
        0.5, gt=0, description="share of a hit's score that passes over a link, on top of a unit's"
    )
    in_text: list[TextNameKind] = Field(
        ["name"],
        description="names that are looked for in the running text of first hits: title (of "
        "documents), key (of rows), name (in the columns of links.entities)",
    )


class Retriever(ExtendedSection):
    """A way to search, stage by stage."""

    added_keys: ClassVar[frozenset[str]] = frozenset(
        {"glossary", "arms", "arm_fusion", "first_of_each", "links"}
    )

    signals: list[Signal] = Field(["dense"], min_length=1, description="arms that are searched")
    depth: Depth | dict[Signal, Depth] | None = Field(
        None, description="units of each arm; retrieval.depth where arms are fused"
    )
    signal_fusion: Fusion = Fusion()
    domain_fusion: DomainFusion | None = Field(
        None, description="search documents and rows apart; null searches one joint index"
    )
    query_fusion: QueryFusion | None = None
    candidates: int = Field(40, gt=0, description="units that are reranked, for each query")
    first_of_each: int = Field(
        0,
        ge=0,
        description="so many first units of each signal are among the candidates of a reranker, "
        "wherever fusion puts them: what one signal alone finds is read too",
    )
    reranker: Slug | None = Field(None, description="a name under rerankers")
    rerank_fusion: Fusion | None = Field(
        None, description="fuse the reranker's scores with those of the candidates"
    )
    collapse: Collapse | None = None
    expand: Expansion | None = None
    glossary: bool = Field(
        True, description="use the glossary, if the config has one: by bm25 and by rewriter: rules"
    )

    links: LinkStage | None = Field(
        None, description="follow links between documents and rows; nothing where there are none"
    )
    arms: tuple[ArmName, ...] = Field(
        (),
        description="lookup: rows that a question asks for by their values join the ranking; "
        "module:NAME: an arm of your own",
    )

    @model_validator(mode="after")
    def _stages_fit(self) -> Self:
        if len(set(self.signals)) != len(self.signals):
            raise ValueError(f"signals {self.signals} name one twice")
        self.signal_fusion.check_arms([*self.signals])
        if self.rerank_fusion:
            self.rerank_fusion.check_arms([*RERANK_ARMS])
            if not self.reranker:
                raise ValueError("rerank_fusion needs a reranker")
        if self.domain_fusion:
            self.domain_fusion.check_arms([*DOMAINS])
        if len(set(self.arms)) != len(self.arms):
            raise ValueError(f"arms {[*self.arms]} name one twice")
        if self.query_fusion and self.query_fusion.anchor and not self.reranker:
            raise ValueError("query_fusion.anchor needs a reranker")
        return self

    @property
    def needs_one_model(self) -> bool:
        """Whether it compares what models give of documents with what they give of table rows.

        Scores that were fused over the signals of a domain are no cosines any more, unless fusion
        left them as they were. What a reranker orders anew may come from both domains searched
        apart.
        """
        fuses = len(self.signals) > 1 and self.signal_fusion.mode != "simple"
        fusion = self.domain_fusion
        if fusion is None:
            is_joint = not (fuses and self.reranker)
        else:
            is_joint = fusion.mode == "simple" and not fuses
        has_near = self.collapse is not None and self.collapse.near is not None
        return (self.needs_vectors and is_joint) or has_near

    @property
    def needs_vectors(self) -> bool:
        """Whether it searches by what an embedding model gives."""
        return not BY_MODEL.isdisjoint(self.signals)

    def searches_domains(self, *, has_two_models: bool) -> bool:
        """Whether it searches documents and rows apart.

        It does wherever both have a model each: then there is no joint list by vectors.
        """
        return self.domain_fusion is not None or (has_two_models and self.needs_vectors)

    @property
    def rerankers(self) -> list[str]:
        """Names of the rerankers that it uses."""
        weighs = self.domain_fusion is not None and self.domain_fusion.mode == "weighted"
        weighing = self.domain_fusion.reranker if self.domain_fusion and weighs else None
        return [name for name in (self.reranker, weighing) if name]


OF_TWO_MODELS = "reranked"
"""What answers where documents and rows have a model each, unless another is named: there is no
joint list by vectors, and a reranker makes one."""
DEFAULTS = Path(__file__).with_suffix(".yaml")


_SHIPPED = TypeAdapter(dict[str, dict[str, dict[str, object]]]).validate_python(read_data(DEFAULTS))
DEFAULT_ENTRIES: Mapping[str, Mapping[str, Section]] = {
    key: {name: section.model_validate(entry) for name, entry in _SHIPPED[key].items()}
    for key, section in (("retrievers", Retriever), ("rerankers", RerankerSettings))
}
"""The entries of `DEFAULTS`, by key of the section `retrieval`."""


class Retrieval(ExtendedSection):
    """Defaults of a search, and the retrievers to choose from."""

    added_keys: ClassVar[frozenset[str]] = frozenset({"ann"})

    retriever: RetrieverName = Field(
        "best",
        description="what answers unless another is named; reranked if what serves has two models",
    )
    top_k: int = Field(10, gt=0, description="units to return")
    versions: Versions = Field(
        "current", description="versions of documents that a search returns: current or all"
    )
    depth: int = Field(100, gt=0, description="units that each arm of a fusion contributes")
    rrf_k: int = Field(60, ge=0, description="constant of reciprocal rank fusion")
    ann: AnnSearch = AnnSearch()
    retrievers: dict[Slug, Retriever] = Field({}, validate_default=True)
    rerankers: dict[Slug, RerankerSettings] = Field({}, validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return value | {
            name: merged_with_defaults(value.get(name) or {}, defaults=defaults)
            for name, defaults in DEFAULT_ENTRIES.items()
        }

    @model_validator(mode="after")
    def _names_resolve(self) -> Self:
        self.check_retriever(self.retriever, key="retriever")
        for name, retriever in self.retrievers.items():
            self.check_rerankers(retriever, key=f"retrievers.{name}")
        return self

    def check_retriever(self, name: str, *, key: str) -> None:
        """Refuse a name that no retriever has.

        Raises:
            RequestError: There is none of that name; `key` is where it was given.
        """
        check_named(name, self.retrievers, kind="retriever", key=key)

    def check_rerankers(self, retriever: Retriever, *, key: str) -> None:
        """Refuse a retriever whose rerankers are not all in the config.

        Raises:
            RequestError: There is none of that name; `key` is where the retriever was given.
        """
        for name in retriever.rerankers:
            check_named(name, self.rerankers, kind="reranker", key=key)
