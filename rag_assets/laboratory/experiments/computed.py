"""What a design cannot say as data: values that are computed from its settings, or from a corpus.

What these functions return fills gaps of the file of their design: see `designs`. Designs that read
a corpus or a file of their own, or have somebody answer, have modules: `index_size`,
`parser_comparison`, `follow_ups`, `graph_answers` and `report_design`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag_assets.config import UNWEIGHTED, Config, Experiment, Fusion, QueryFusion
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.experiments.design import ExperimentError
from rag_assets.retrieval.model_rewriter import prompt_label
from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class Given:
    """What values may be computed from."""

    store: Store
    config: Config
    experiment: Experiment
    base: str
    """The variant that those compared are made from."""
    questions: Sequence[Question]

    def paths(self) -> dict[str, str]:
        """The path of each document id of the question sets."""
        paths: dict[str, str] = {}
        for one in self.config.question_files:
            paths |= question_sets.document_paths(one)
        return paths


Values = Mapping[str, object]


def _weighted_retriever(given: Given) -> Values:
    """Each top_j at one alpha, then each alpha at the largest top_j; no pair twice."""
    one = given.experiment
    top_j, fixed = one.value("top_j", list), one.value("alpha_of_top_j", float)
    largest = max(top_j)
    pairs = [
        *((each, fixed) for each in top_j),
        *((largest, alpha) for alpha in one.value("alpha", list)),
    ]
    return {"pairs": list(dict.fromkeys(pairs)), "largest_top_j": largest}


def _retrieval_methods(given: Given) -> Values:
    return {"orderers": list(dict.fromkeys([None, given.experiment.reranker]))}


def _headers(given: Given) -> Values:
    """One signal contributes what is reranked; several contribute `retrieval.depth` each."""
    one = given.experiment
    is_alone = len(one.value("signals", list)) == 1
    return {"depth": one.value("top_k", int) if is_alone else None}


def _query_fusion(given: Given) -> Values:
    one = given.experiment
    rewriter = one.value("rewriter", str)
    fusion = QueryFusion.model_validate({"rewriter": rewriter, "path": one.files.get("path")})
    return {"fusions": _fusions({rewriter: fusion}, is_reranked=one.reranker is not None)}


def _rewriting(given: Given) -> Values:
    one = given.experiment
    model, strategies = one.named("language_model").get("model"), one.value("strategies", list)
    rewriters = {"rules": QueryFusion()}
    if path := one.files.get("path"):
        rewriters["file"] = QueryFusion(rewriter="file", path=path)
    for strategy in strategies:
        rewriters[strategy] = QueryFusion(rewriter="model", strategy=strategy, model=model)
    return {
        "fusions": _fusions(rewriters, is_reranked=one.reranker is not None),
        "by_model": ", ".join(strategies),
        "asked": given.config.language_model(model)[0],
        "prompts": ", ".join(map(prompt_label, strategies)),
    }


def _fusions(
    rewriters: Mapping[str, QueryFusion], *, is_reranked: bool
) -> list[tuple[str, str, QueryFusion | None]]:
    """Q1 alone, then the three ways of P2 to search Q2 beside it: rewriter, method and fusion."""
    anchors = {"rrf_q1_q2": None}
    if is_reranked:
        anchors |= {"rerank_on_rrf_q1": "q1", "rerank_on_rrf_q2": "q2"}
    return [
        ("none", "baseline", None),
        *(
            (rewriter, method, fusion.model_copy(update={"anchor": anchor}))
            for rewriter, fusion in rewriters.items()
            for method, anchor in anchors.items()
        ),
    ]


def _signal_domain_fusion(given: Given) -> Values:
    """Each way to fuse signals, and each to fuse domains, with a label that names its weights."""
    one = given.experiment
    fused_signals = {}
    for signals in one.value("signals", list):
        for mode in one.value("signal_modes", list) if len(signals) > 1 else [None]:
            is_weighted = mode is not None and mode not in UNWEIGHTED
            for weights in one.value("signal_weights", list) if is_weighted else [{}]:
                label = _labelled(" + ".join([*signals, *([mode] if mode else [])]), weights)
                fusion = Fusion(mode=mode or "reciprocal_rank", weights=weights)
                fused_signals[label] = (label, signals, fusion)
    top_k, reranker = one.value("top_k", int), {"reranker": one.reranker} if one.reranker else {}
    fused_domains = {}
    for mode in one.value("domain_modes", list):
        is_weighted = mode not in ("joint", *UNWEIGHTED)
        for weights in one.value("domain_weights", list) if is_weighted else [{}]:
            fusion = {"mode": mode, "weights": weights, "depth": top_k, "top_j": top_k, **reranker}
            fused_domains[_labelled(mode, weights)] = (
                None if mode == "joint" else {**fusion, "alpha": one.value("alpha", float)}
            )
    return {
        "fused_signals": list(fused_signals.values()),
        "fused_domains": [*fused_domains.items()],
    }


def _labelled(name: str, weights: Mapping[str, float]) -> str:
    """`dense + bm25 + max_norm (dense 0.3, bm25 0.7)`."""
    shown = ", ".join(f"{arm} {weight:g}" for arm, weight in weights.items())
    return f"{name} ({shown})" if shown else name


def _arms(given: Given) -> Values:
    retrievers = given.config.retrieval.retrievers
    return {
        "own": [
            (
                arm.name,
                arm.variant or given.base,
                retrievers[arm.retriever] if isinstance(arm.retriever, str) else arm.retriever,
            )
            for arm in given.experiment.listed
        ]
    }


def _question_origin(given: Given) -> Values:
    retrievers = given.config.retrieval.retrievers
    return {
        "named": [(name, retrievers[name]) for name in given.experiment.value("retrievers", list)]
    }


def _fine_tuning(given: Given) -> Values:
    """Each reranker with each number of units that it reads, and none; one named twice counts once.

    A turn is: units to retrieve, reranker, its label, units that it reads, and these in words.
    """
    one, known = given.experiment, given.config.retrieval.rerankers
    named = dict.fromkeys([one.reranker, *one.value("rerankers", list)])
    if lacking := sorted(name for name in named if name is not None and name not in known):
        raise ExperimentError(
            f"no reranker is named {lacking[0]!r}; there are {', '.join(known)}: name one under "
            "retrieval.rerankers"
        )
    turns: list[tuple[object, ...]] = [(one.value("top_k", int), None, "none", None, None)]
    for name in filter(None, named):
        turns += [(k, name, name, k, f"{k} units") for k in one.value("candidates", list)]
    return {"turns": turns, "shipped": one.value("models", list)[:1]}


COMPUTED: Mapping[str, Callable[[Given], Values]] = {
    "weighted_retriever": _weighted_retriever,
    "retrieval_methods": _retrieval_methods,
    "query_fusion": _query_fusion,
    "rewriting": _rewriting,
    "headers": _headers,
    "signal_domain_fusion": _signal_domain_fusion,
    "arms": _arms,
    "question_origin": _question_origin,
    "fine_tuning": _fine_tuning,
}
"""By design."""
