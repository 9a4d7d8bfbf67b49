"""The main numbers of an evaluation as text, for `rag-assets evaluate` and `rag-assets refresh`."""

from typing import TYPE_CHECKING

from rag_assets.serving.replies import table

if TYPE_CHECKING:
    from rag_assets.evaluation.results import EvaluationResult

METRICS = ("hit_rate", "recall", "mrr", "ndcg")
"""Metrics that are shown, at the main cutoff; the report has all of them."""


def scores(result: "EvaluationResult") -> str:
    """The main numbers of an evaluation at the gold's own level, for people."""
    domains = dict.fromkeys(row["domain"] for row in result.summary_rows(level="gold", split="all"))
    rows = [
        _row(result, domain=str(domain), retriever=retriever)
        for domain in domains
        for retriever in result.record.retrievers
    ]
    title = f"Retrieval of variant {result.record.variant} on {result.record.questions:,} questions"
    unmeasured = [
        f"Not measured with {name}: {why}" for name, why in result.record.unmeasured.items()
    ]
    lines = [title, table(rows, columns=list(rows[0])), *_superseded(result), *unmeasured]
    return "\n".join([*lines, f"Report: {result.report}"])


def _superseded(result: "EvaluationResult") -> list[str]:
    """How many questions were left out, since their gold is superseded."""
    apart = result.record.superseded
    if not apart:
        return []
    count = "1 question" if len(apart) == 1 else f"{len(apart):,} questions"
    ids = ", ".join(each.question_id for each in apart)
    return [f"Not counted, as the gold lies in a superseded version: {count} ({ids})"]


def _row(result: "EvaluationResult", *, domain: str, retriever: str) -> dict[str, object]:
    from rag_assets.evaluation.wording import main_cutoff

    main, first = main_cutoff(result), min(result.record.cutoffs)
    shown: dict[str, object] = {"questions": domain, "retriever": retriever}
    for metric, cutoff in [("hit_rate", first), *((metric, main) for metric in METRICS)]:
        found = result.value(metric, retriever=retriever, domain=domain, cutoff=cutoff)
        if found is None:
            continue
        shown[f"{metric}@{cutoff}"] = found["value"]
        if (metric, cutoff) == ("hit_rate", main):
            low, high = found["low"], found["high"]
            shown["95 % interval"] = "-" if low is None else f"{low:.3f} to {high:.3f}"
    return shown
