"""The main numbers of an evaluation as text, for `rag-assets evaluate` and `rag-assets refresh`."""

from typing import TYPE_CHECKING

from rag_assets.reports.text_tables import table

if TYPE_CHECKING:
    from rag_assets.evaluation.choosing import RetrieverChoice
    from rag_assets.evaluation.results import EvaluationResult

METRICS = ("hit_rate", "recall", "mrr", "ndcg")
"""Metrics that are shown, at the main cutoff; the report has all of them."""
FIRST_SHOWN = 5
"""Retrievers that are shown with their mean where one was chosen."""


def scores(result: "EvaluationResult") -> str:
    """The main numbers of an evaluation at the gold's own level, for people."""
    from rag_assets.evaluation.evaluation_wording import sets_table, smoke_sentence

    rows = [
        _row(result, domain=domain, retriever=retriever)
        for domain in result.domains()
        for retriever in result.record.retrievers
    ]
    sets = sets_table(result, result.record.main_retriever)
    apart = (
        [
            "",
            "By question set (the report has all retrievers)",
            table(sets, columns=list(sets[0])),
            "",
        ]
        if sets
        else []
    )
    title = f"Retrieval of variant {result.record.variant} on {result.record.questions:,} questions"
    ids = result.scores.questions["question_id"].unique().to_pylist()
    if ids and {each.partition("/")[0] for each in ids} <= {*result.record.smoke_tests}:
        title += " that a program made: a smoke test"
    unmeasured = [
        f"Not measured with {name}: {why}" for name, why in result.record.unmeasured.items()
    ]
    lines = [
        title,
        table(rows, columns=list(rows[0])),
        *apart,
        *smoke_sentence(result.record.smoke_tests),
    ]
    lines += [*_superseded(result), *unmeasured]
    return "\n".join([*lines, f"Report: {result.report}"])


def choice(found: "RetrieverChoice") -> str:
    """Text that says which retriever is proposed, why, and what to write into the config."""
    import yaml

    from rag_assets.evaluation.evaluation_wording import clusters_sentence, verdict
    from rag_assets.reports.text_tables import signed

    chosen_by = f"{found.criterion}@{found.cutoff} where chosen"
    first = sorted(found.means, key=lambda name: -found.means[name])[:FIRST_SHOWN]
    rows = [
        {"retriever": name, chosen_by: found.means[name], **_shown(found, name)}
        for name in dict.fromkeys([found.serving, found.best, *first])
    ]
    lines = [
        f"{len(found.means)} retrievers were compared. {found.protocol}.",
        table(rows, columns=list(rows[0])),
        *(f"Not compared: {name}: {why}" for name, why in found.unmeasured.items()),
        *_without_gold(found),
        *clusters_sentence(found.summary),
        "",
    ]
    says = "; ".join(
        f"{row['metric']}@{row['cutoff']} {signed(row)}, {verdict(row, margin=found.margin)}"
        for row in found.differences
    )
    elsewhere = "on questions that did not choose it"
    if found.best == found.serving:
        lines.append(f"Keep {found.serving}: none of the others came before it.")
    elif not found.better:
        lines.append(
            f"Keep {found.serving}: {found.best} came first, but it is not shown to be better "
            f"{elsewhere}: {says}."
        )
    else:
        lines += [
            f"Proposed: {found.best}. It is better than {found.serving} {elsewhere}: {says}.",
            "To search with it, write into the config:",
            "",
            yaml.safe_dump(
                {"retrieval": dict(found.config)}, default_flow_style=None, sort_keys=False
            ).rstrip(),
        ]
    return "\n".join(lines)


def _without_gold(found: "RetrieverChoice") -> list[str]:
    """How many questions have gold that the index does not hold, so that none can find it."""
    if not found.without_gold:
        return []
    count = "1 question" if found.without_gold == 1 else f"{found.without_gold:,} questions"
    return [f"Gold of {count} is not in the index: it counts as missed."]


def _shown(found: "RetrieverChoice", name: str) -> dict[str, object]:
    """The cells of a retriever on the questions that show the choice, and its time."""
    from rag_assets.reports.text_tables import with_interval

    called = found.serving if name == found.serving else found.called
    if name not in found.latency:
        return {}
    means = {row["metric"]: row for row in found.summary if row["retriever"] == called}
    shown = {
        f"{one}@{found.cutoff} shown": with_interval(means[one])
        for one in (found.criterion, "hit_rate")
    }
    return {**shown, "ms a question": found.latency[name].p50}


def _superseded(result: "EvaluationResult") -> list[str]:
    """How many questions were left out, since their gold is superseded."""
    apart = result.record.superseded
    if not apart:
        return []
    count = "1 question" if len(apart) == 1 else f"{len(apart):,} questions"
    ids = ", ".join(each.question_id for each in apart)
    return [f"Not counted, as the gold lies in a superseded version: {count} ({ids})"]


def _row(result: "EvaluationResult", *, domain: str, retriever: str) -> dict[str, object]:

    main, first = result.main_cutoff, min(result.record.cutoffs)
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
