"""The design of the paper P1, fusion of signals and domains, and arms of the user."""

from collections.abc import Mapping
from itertools import product

from rag_assets.config import (
    UNWEIGHTED,
    ArmsExperiment,
    Config,
    Domain,
    DomainFusion,
    Fusion,
    HeaderExperiment,
    Retriever,
    Signal,
    SignalDomainExperiment,
)
from rag_assets.evaluation.experiments.design import (
    ALL_FIVE,
    HIT_AND_MRR,
    METRIC,
    QUESTIONS,
    Design,
    ExperimentArm,
    Figure,
    Layout,
    bars_by_questions,
)
from rag_assets.evaluation.experiments.thesis import retrieved
from rag_assets.retrieval.filters import Filters

DOCUMENTS_ALONE = "Only documents are searched, as in the paper: no rows."
MAPS = {"MAP@1": ("map", 1), "MAP@5": ("map", 5), "MAP@10": ("map", 10)}


def headers(settings: HeaderExperiment, *, config: Config, base: str) -> Design:
    """P1, table 2: MAP with and without a header in front of each chunk."""
    without, with_header = settings.recipes(config.variant(base))
    recipes = {"without header": without, "with header": with_header}
    retriever = retrieved(settings.top_k, settings.reranker)
    if len(settings.signals) > 1:
        retriever = retriever.model_copy(update={"depth": None})
    return Design(
        title="A header in front of each chunk",
        source="P1, 4.3",
        arms=[
            ExperimentArm(
                name=name,
                variant=config.variant_like(recipe),
                retriever=retriever.model_copy(update={"signals": settings.signals}),
                factors={"chunks": name},
                filters=Filters(domain="document"),
            )
            for name, recipe in recipes.items()
        ],
        reference="without header",
        chooses=False,
        domain="document",
        compared=[*MAPS.values()],
        tables=[
            Layout(
                title="MAP with and without a header (P1, table 2)",
                rows=["chunks"],
                measures=MAPS,
                domains=("document",),
            )
        ],
        figures=[
            Figure(
                title="A header in front of each chunk",
                kind="bars",
                x=METRIC,
                series=["chunks"],
                measures=MAPS,
                domains=("document",),
            )
        ],
        notes=[DOCUMENTS_ALONE],
    )


def signal_domain_fusion(settings: SignalDomainExperiment, *, base: str) -> Design:
    """Signals (and how they are fused) times domains (and how they are fused)."""
    ways = {
        _labelled(" + ".join([*signals, *([mode] if mode else [])]), weights): (
            signals,
            Fusion(mode=mode or "reciprocal_rank", weights=weights),
        )
        for signals in settings.signals
        for mode in (settings.signal_modes if len(signals) > 1 else [None])
        for weights in (
            map(_named, settings.signal_weights) if mode not in (None, *UNWEIGHTED) else [{}]
        )
    }
    domains = {
        _labelled(mode, weights): _domain_fusion(settings, mode, weights)
        for mode in settings.domain_modes
        for weights in (
            map(_named, settings.domain_weights) if mode not in ("joint", *UNWEIGHTED) else [{}]
        )
    }
    arms = [
        ExperimentArm(
            name=f"{label}; {domain}",
            variant=base,
            retriever=Retriever(
                signals=signals,
                signal_fusion=signal_fusion,
                domain_fusion=domain_fusion,
                candidates=settings.top_k,
                reranker=settings.reranker,
            ),
            factors={"signals": label, "domains": domain},
        )
        for (label, (signals, signal_fusion)), (domain, domain_fusion) in product(
            ways.items(), domains.items()
        )
    ]
    return Design(
        title="Fusion of signals and of domains",
        source="own",
        arms=arms,
        reference=arms[0].name,
        tables=[
            Layout(
                title=f"{name} at 10",
                rows=[QUESTIONS, "signals"],
                columns=["domains"],
                measures={name: measure},
            )
            for name, measure in HIT_AND_MRR.items()
        ],
        figures=[
            Figure(
                title="Signals and domains",
                kind="bars",
                x="domains",
                series=["signals"],
                panel=[QUESTIONS],
                measures={"MRR": HIT_AND_MRR["MRR"]},
            )
        ],
    )


def _named(weights: Mapping[Signal, float] | Mapping[Domain, float]) -> dict[str, float]:
    return {str(arm): weight for arm, weight in weights.items()}


def _labelled(name: str, weights: Mapping[str, float]) -> str:
    """`dense + bm25 + max_norm (dense 0.3, bm25 0.7)`."""
    shown = ", ".join(f"{arm} {weight:g}" for arm, weight in weights.items())
    return f"{name} ({shown})" if shown else name


def _domain_fusion(
    settings: SignalDomainExperiment, mode: str, weights: Mapping[str, float]
) -> DomainFusion | None:
    if mode == "joint":
        return None
    given = {
        "mode": mode,
        "weights": weights,
        "depth": settings.top_k,
        "alpha": settings.alpha,
        "top_j": settings.top_k,
        "reranker": settings.reranker,
    }
    return DomainFusion.model_validate(
        {name: value for name, value in given.items() if value is not None}
    )


def own_arms(settings: ArmsExperiment, *, config: Config, base: str) -> Design:
    """The arms that the config lists."""
    return Design(
        title="Arms",
        source="own",
        arms=[
            ExperimentArm(
                name=arm.name,
                variant=arm.variant or base,
                retriever=config.retrieval.retrievers[arm.retriever]
                if isinstance(arm.retriever, str)
                else arm.retriever,
                factors={"arm": arm.name},
            )
            for arm in settings.arms
        ],
        reference=settings.arms[0].name,
        tables=[Layout(title="Scores of each arm", rows=["arm", QUESTIONS], measures=ALL_FIVE)],
        figures=[bars_by_questions("Arms", series="arm")],
    )
