"""The designs of paper P2: searching a query and what it was reworded to, under fixed budgets."""

from collections.abc import Mapping, Sequence

from rag_assets.config import (
    Config,
    QueryFusion,
    QueryFusionExperiment,
    Retriever,
    RewritingExperiment,
)
from rag_assets.evaluation.experiments.design import (
    METRIC,
    QUESTIONS,
    Design,
    ExperimentArm,
    Figure,
    Layout,
    Runtimes,
)
from rag_assets.evaluation.experiments.papers import DOCUMENTS_ALONE
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.model_rewriter import prompt_label

BASELINE = "baseline"
TOPS = {"Top-1": ("hit_rate", 1), "Top-3": ("hit_rate", 3), "Hit@10": ("hit_rate", 10)}
BY_RULES = "Q2 comes from rules, not from a language model: see docs/retrieval.md."
BY_FILE = "Q2 comes from the file of rewrites."


def query_fusion(settings: QueryFusionExperiment, *, config: Config, base: str) -> Design:
    """One Q2: P2, tables 1, 4, 5 and 6, and the slices of 6.6."""
    baseline = _baseline(settings)
    fusion = QueryFusion(rewriter=settings.rewriter, path=settings.path)
    return _compared(
        {BASELINE: baseline} | _fused(baseline, fusion),
        factors=["method"],
        title="Query fusion under fixed budgets",
        settings=settings,
        config=config,
        base=base,
        notes=[BY_RULES if settings.rewriter == "rules" else BY_FILE],
    )


def rewriting(settings: RewritingExperiment, *, config: Config, base: str) -> Design:
    """One Q2 after the other: P2, tables 1 to 6, and the slices of 6.6."""
    baseline, (model, _) = _baseline(settings), config.language_model(settings.model)
    retrievers = {f"none: {BASELINE}": baseline}
    for rewriter, fusion in _rewriters(settings).items():
        fused = _fused(baseline, fusion)
        retrievers |= {f"{rewriter}: {method}": one for method, one in fused.items()}
    return _compared(
        retrievers,
        factors=["rewriter", "method"],
        title="Rewriting of queries",
        settings=settings,
        config=config,
        base=base,
        runtimes=Runtimes(title="Time for a question (P2, table 6)", rows=["rewriter", "method"]),
        notes=[
            f"Q2 by {', '.join(settings.strategies)} comes from the language model {model} "
            f"({', '.join(map(prompt_label, settings.strategies))}); where it fails, the query is "
            "searched alone. Its time for a question is that of the call as it was made, when "
            "others may have run beside it.",
        ],
    )


def _rewriters(settings: RewritingExperiment) -> dict[str, QueryFusion]:
    """Where Q2 comes from, by name."""
    found = {"rules": QueryFusion()}
    if settings.path:
        found["file"] = QueryFusion(rewriter="file", path=settings.path)
    return found | {
        strategy: QueryFusion(rewriter="model", strategy=strategy, model=settings.model)
        for strategy in settings.strategies
    }


def _baseline(settings: QueryFusionExperiment | RewritingExperiment) -> Retriever:
    return Retriever(
        signals=["dense", "bm25"], candidates=settings.top_k, reranker=settings.reranker
    )


def _fused(baseline: Retriever, fusion: QueryFusion) -> dict[str, Retriever]:
    """The three ways of the paper to search Q2 beside Q1, by its names."""
    anchors = {"rrf_q1_q2": None}
    if baseline.reranker:
        anchors |= {"rerank_on_rrf_q1": "q1", "rerank_on_rrf_q2": "q2"}
    return {
        name: baseline.model_copy(
            update={"query_fusion": fusion.model_copy(update={"anchor": anchor})}
        )
        for name, anchor in anchors.items()
    }


def _compared(
    retrievers: Mapping[str, Retriever],
    *,
    factors: Sequence[str],
    title: str,
    settings: QueryFusionExperiment | RewritingExperiment,
    config: Config,
    base: str,
    notes: Sequence[str],
    runtimes: Runtimes | None = None,
) -> Design:
    """The arms of `retrievers`; the others are compared with the first.

    A name consists of the arm's values of `factors`, with a colon between.
    """
    [recipe] = settings.recipes(config.variant(base))
    reference = next(iter(retrievers))
    return Design(
        title=title,
        source="P2",
        arms=[
            ExperimentArm(
                name=name,
                variant=config.variant_like(recipe),
                retriever=retriever,
                factors=dict(zip(factors, name.split(": "), strict=True)),
                filters=Filters(domain="document"),
            )
            for name, retriever in retrievers.items()
        ],
        reference=reference,
        chooses=False,
        level="document",
        domain="document",
        compared=[*TOPS.values()],
        tables=[
            Layout(
                title="Top-1, Top-3 and Hit@10 of documents (P2, tables 1 to 3)",
                rows=factors,
                columns=[QUESTIONS],
                measures=TOPS,
                domains=("document",),
            )
        ],
        figures=[
            Figure(
                title=title.removesuffix(" under fixed budgets"),
                kind="bars",
                x=METRIC,
                series=factors,
                panel=[QUESTIONS],
                measures=TOPS,
                domains=("document",),
            )
        ],
        runtimes=runtimes,
        notes=[
            DOCUMENTS_ALONE,
            f"Each query has the same budget of {settings.top_k} units, in retrieval, in reranking "
            "and in the end; lists are fused after each was reranked.",
            *notes,
        ],
        scarce_below=reference,
        by_length=True,
    )
