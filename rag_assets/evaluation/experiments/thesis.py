"""The designs of the thesis (P0): its experiments 5.1 and 5.3 to 5.5, its stages 5 and 6."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from rag_assets.config import (
    ChunkSizeExperiment,
    Config,
    DomainFusion,
    EmbeddingModelExperiment,
    FusionModeExperiment,
    Method,
    RetrievalMethodExperiment,
    Retriever,
    SerializerExperiment,
    WeightedRetrieverExperiment,
)
from rag_assets.evaluation.experiments.design import (
    ALL_FIVE,
    HIT_AND_MRR,
    METRIC,
    QUESTIONS,
    TOP_N,
    Design,
    ExperimentArm,
    Figure,
    Layout,
    Runtimes,
    bars_by_questions,
)

METHOD_NAMES: Mapping[Method, str] = {
    "baseline": "Baseline",
    "bm25": "BM25",
    "hybrid": "Hybrid",
    "simple_fusion": "Simple Fusion",
    "late_fusion": "Late Fusion",
    "weighted_fusion": "Weighted Fusion",
    "hybrid_late_fusion": "Hybrid + Late Fusion",
}


def retrieved(top_k: int, reranker: str | None) -> Retriever:
    """Search of the joint index for `top_k` units, which are reranked."""
    return Retriever(depth=top_k, candidates=top_k, reranker=reranker)


def fused(
    top_k: int,
    reranker: str | None,
    *,
    mode: str,
    weighing: Mapping[str, float | str | None] | None = None,
) -> Retriever:
    """Separate searches of documents and rows, for `top_k` units each; fused, then reranked.

    Unless `weighing` names a reranker, `reranker` also weights the domains.
    """
    given = {"mode": mode, "depth": top_k, "reranker": reranker, **(weighing or {})}
    fusion = DomainFusion.model_validate(
        {name: value for name, value in given.items() if value is not None}
    )
    return retrieved(top_k, reranker).model_copy(update={"domain_fusion": fusion})


def weighted(
    top_k: int, reranker: str | None, *, alpha: float, top_j: int, weighs: str | None
) -> Retriever:
    """Domains weighted by the relevance of their best `top_j` units to `weighs` (P0, 4.4.5)."""
    weighing = {"alpha": alpha, "top_j": top_j, "reranker": weighs}
    return fused(top_k, reranker, mode="weighted", weighing=weighing)


def serializers(settings: SerializerExperiment, *, config: Config, base: str) -> Design:
    """P0, 5.1: table 5.1 and figure 5.1."""
    recipes = settings.recipes(config.variant(base))
    arms = [
        ExperimentArm(
            name=recipe.serializer,
            variant=config.variant_like(recipe),
            retriever=retrieved(settings.top_k, settings.reranker),
            factors={"serializer": recipe.serializer},
        )
        for recipe in recipes
    ]
    own = config.variant(base).serializer
    return Design(
        title="Table serializers",
        source="P0, 5.1",
        arms=arms,
        reference=own if own in settings.serializers else arms[0].name,
        tables=[
            Layout(
                title="Hit rate@10 and MRR of each serializer (P0, table 5.1)",
                rows=["serializer"],
                columns=[QUESTIONS],
                measures=HIT_AND_MRR,
                domains=("table", "document"),
            )
        ],
        figures=[
            Figure(
                title="Serializers",
                kind="bars",
                x="serializer",
                series=[METRIC],
                panel=[QUESTIONS],
                measures=HIT_AND_MRR,
                domains=("table", "document"),
            )
        ],
    )


def chunk_size(settings: ChunkSizeExperiment, *, config: Config, base: str) -> Design:
    """P0, 5.3: table E.2, figures 5.3 and 5.4."""
    methods: Mapping[str, Callable[[int], Retriever]] = {
        "Baseline": lambda k: retrieved(k, settings.reranker),
        "Late Fusion": lambda k: fused(k, settings.reranker, mode="relative_score"),
    }
    recipes = settings.recipes(config.variant(base))
    arms = [
        ExperimentArm(
            name=f"{method}, {recipe.chunking}, top_k {top_k}",
            variant=config.variant_like(recipe),
            retriever=retriever(top_k),
            factors={"method": method, "chunking": recipe.chunking, "top_k": top_k},
            group=method,
        )
        for (method, retriever), recipe, top_k in product(methods.items(), recipes, settings.top_k)
    ]
    return Design(
        title="Chunk size and number of retrieved units",
        source="P0, 5.3",
        arms=arms,
        tables=[
            Layout(
                title="Hit rate@10 and MRR over chunking and top_k (P0, table E.2)",
                rows=[QUESTIONS, "top_k"],
                columns=["method", "chunking"],
                measures={"HR": ("hit_rate", TOP_N), "MRR": ("mrr", TOP_N)},
            )
        ],
        figures=[
            Figure(
                title="top_k",
                kind="lines",
                x="top_k",
                series=[QUESTIONS],
                panel=[METRIC, "method", "chunking"],
                measures=HIT_AND_MRR,
            )
        ],
    )


def fusion_modes(settings: FusionModeExperiment, *, config: Config, base: str) -> Design:
    """P0, 5.4: table 5.3 and figure 5.5."""
    [recipe] = settings.recipes(config.variant(base))
    arms = [
        ExperimentArm(
            name=mode,
            variant=config.variant_like(recipe),
            retriever=fused(settings.top_k, settings.reranker, mode=mode),
            factors={"mode": mode},
        )
        for mode in settings.modes
    ]
    return Design(
        title="Fusion modes",
        source="P0, 5.4",
        arms=arms,
        reference=arms[0].name,
        tables=[
            Layout(
                title="Hit rate@10 and MRR of each fusion mode (P0, table 5.3)",
                rows=[QUESTIONS],
                columns=["mode"],
                measures=HIT_AND_MRR,
            )
        ],
        figures=[bars_by_questions("Fusion modes", series="mode")],
        notes=[
            "No unit is in both domains, so reciprocal ranks alternate between the two lists, "
            "and what reranking changes afterwards is the same for all modes."
        ],
    )


def embedding_models(settings: EmbeddingModelExperiment, *, config: Config, base: str) -> Design:
    """P0, stage 5: hit rate and MRR of each embedding model."""
    arms = [
        ExperimentArm(
            name=recipe.model_label,
            variant=config.variant_like(recipe),
            retriever=retrieved(settings.top_k, settings.reranker),
            factors={"model": recipe.model_label},
        )
        for recipe in settings.recipes(config.variant(base))
    ]
    return Design(
        title="Embedding models",
        source="P0, 4.6, stage 5",
        arms=arms,
        reference=arms[0].name,
        tables=[
            Layout(
                title="Scores of each embedding model",
                rows=["model", QUESTIONS],
                measures=ALL_FIVE,
            )
        ],
        figures=[bars_by_questions("Embedding models", series="model")],
    )


def weighted_retriever(
    settings: WeightedRetrieverExperiment, *, config: Config, base: str
) -> Design:
    """P0, 5.5: tables 5.4 to 5.6 and figure 5.6."""
    [recipe] = settings.recipes(config.variant(base))
    widest = max(settings.top_j)
    pairs = [(top_j, settings.alpha_of_top_j) for top_j in settings.top_j]
    pairs += [(widest, alpha) for alpha in settings.alpha]
    arms = [
        ExperimentArm(
            name=f"top_j {top_j}, alpha {alpha:g}",
            variant=config.variant_like(recipe),
            retriever=weighted(
                settings.top_k,
                settings.reranker,
                alpha=alpha,
                top_j=top_j,
                weighs=settings.reranker,
            ),
            factors={"top_j": top_j, "alpha": alpha},
        )
        for top_j, alpha in dict.fromkeys(pairs)
    ]
    return Design(
        title="Weighted retriever",
        source="P0, 5.5",
        arms=arms,
        reference=arms[0].name,
        tables=[
            Layout(
                title="Scores over top_j (P0, table 5.4)",
                rows=["top_j"],
                measures=ALL_FIVE,
                where={"alpha": settings.alpha_of_top_j},
                domains=("combined",),
            ),
            Layout(
                title="Scores over alpha (P0, table 5.6)",
                rows=["alpha"],
                measures=ALL_FIVE,
                where={"top_j": widest},
                domains=("combined",),
            ),
        ],
        figures=[
            Figure(
                title="alpha",
                kind="lines",
                x="alpha",
                series=[QUESTIONS],
                panel=[METRIC],
                measures=HIT_AND_MRR,
                where={"top_j": widest},
            )
        ],
        runtimes=Runtimes(
            title="Milliseconds for a question over top_j (P0, table 5.5)",
            rows=["top_j"],
            where={"alpha": settings.alpha_of_top_j},
        ),
        shows_weights=True,
        notes=[
            "Weights are multiplied with scores in [0, 1]. If a reranker orders the fused units "
            "again, as in the paper, the weights only decide which units it gets."
        ],
    )


def retrieval_methods(settings: RetrievalMethodExperiment, *, config: Config, base: str) -> Design:
    """P0, 4.6.6: the best settings of each method."""
    arms = [
        ExperimentArm(
            name=", ".join([METHOD_NAMES[method], recipe.chunking, *shown]),
            variant=config.variant_like(recipe),
            retriever=retriever,
            factors={"method": METHOD_NAMES[method], "chunking": recipe.chunking},
            group=METHOD_NAMES[method],
        )
        for method, recipe in product(settings.methods, settings.recipes(config.variant(base)))
        for shown, retriever in _settings_of(method, settings)
    ]
    return Design(
        title="Retrieval methods, each at its best",
        source="P0, 4.6.6",
        arms=arms,
        tables=[
            Layout(
                title="The settings of each method that are best on dev",
                rows=["method", QUESTIONS],
                measures=ALL_FIVE,
                is_of_chosen=True,
            )
        ],
        figures=[bars_by_questions("Methods at their best", series="method", is_of_chosen=True)],
        notes=["Tables and figures show the arm of each method that was chosen on dev."],
    )


def _settings_of(
    method: Method, settings: RetrievalMethodExperiment
) -> Iterator[tuple[list[str], Retriever]]:
    """The settings to choose from for a method: parts of the name, and the retriever."""
    rerankers = list(dict.fromkeys([None, settings.reranker]))
    for top_k, reranker in product(settings.top_k, rerankers):
        shown = [f"top_k {top_k}", *([reranker] if reranker else [])]
        plain = retrieved(top_k, reranker)
        match method:
            case "baseline":
                yield shown, plain
            case "bm25":
                yield shown, plain.model_copy(update={"signals": ["bm25"]})
            case "hybrid":
                yield shown, _hybrid(plain)
            case "simple_fusion":
                yield shown, fused(top_k, reranker, mode="simple")
            case "late_fusion":
                for mode in settings.modes:
                    yield [mode, *shown], fused(top_k, reranker, mode=mode)
            case "hybrid_late_fusion":
                for mode in settings.modes:
                    yield [mode, *shown], _hybrid(fused(top_k, reranker, mode=mode))
            case "weighted_fusion":
                for alpha in settings.alpha:
                    retriever = weighted(
                        top_k, reranker, alpha=alpha, top_j=top_k, weighs=settings.reranker
                    )
                    yield [f"alpha {alpha:g}", *shown], retriever


def _hybrid(retriever: Retriever) -> Retriever:
    return retriever.model_copy(update={"signals": ["dense", "bm25"], "depth": None})
