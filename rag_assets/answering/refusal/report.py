"""What the rule of refusal does, for people: a text in Markdown and a plot."""

from collections.abc import Iterator

from rag_assets.answering.refusal.deciding import RefusalRule
from rag_assets.answering.refusal.measures import Choices, Measured
from rag_assets.answering.refusal.promise import Promise
from rag_assets.reports import plots

LABELS = {
    "answerable": "answerable, but an answer would cite no gold",
    "source_gone": "the document or table of the gold is left out",
    "value_gone": "the gold is left out, its topic stays",
    "neighbour": "asks for something that is not there",
}


def promise_sentence(rule: RefusalRule, *, unanswerable: float) -> str:
    """What is promised, or why nothing is.

    Args:
        rule: Of an index and a retriever.
        unanswerable: Share of questions without an answer, as in the config.
    """
    promise = rule.promise
    if promise.threshold is not None:
        return (
            f"At most {promise.risk:.0%} of the answers cite no gold or answer what has no answer, "
            f"with {promise.confidence:.0%} confidence, on questions like these {promise.questions}"
            f", of which {unanswerable:.0%} have no answer. Answers are given from a confidence of "
            f"{promise.threshold:.2f}."
        )
    if promise.needed is not None:
        return (
            f"Nothing is promised, and no answer is withheld: {promise.questions} questions of the "
            f"split dev with gold in the index are too few. About {promise.needed:,} questions "
            "like these would do; `evaluation.questions` in the config names files of questions."
            f"{_reachable(promise)}"
        )
    return (
        "Nothing is promised, and no answer is withheld: no threshold keeps wrong answers to "
        f"{promise.risk:.0%}, however many questions like these there were. A better retriever or "
        f"a larger `answering.risk` would help.{_reachable(promise)}"
    )


def _reachable(promise: Promise) -> str:
    if promise.reachable is None:
        return ""
    return f" A risk of {promise.reachable:.0%} could be promised on these questions."


def report_markdown(rule: RefusalRule, *, unanswerable: float) -> str:
    """The promise and the measures of `rule`; `unanswerable` as in `promise_sentence`."""
    lines = [promise_sentence(rule, unanswerable=unanswerable)]
    if rule.measured is not None:
        lines += ["", *_of_choices(rule.measured.choices), *_of_kinds(rule.measured)]
    return "\n".join(lines)


def risk_plot(rule: RefusalRule) -> str:
    """The share of wrong answers where only the surest questions are answered, as SVG."""
    measured = rule.measured
    series = {} if measured is None else {"wrong answers": list(measured.curve)}
    if measured is not None:
        series["risk that is asked for"] = [(0.0, rule.promise.risk), (1.0, rule.promise.risk)]
    return plots.line(
        series,
        title="Risk of answering the surest questions",
        x_label="share of questions that are answered",
        y_label="share of answers that are wrong",
    )


def _of_choices(found: Choices | None) -> Iterator[str]:
    if found is None:
        return
    yield from ("| measure | value | meaning |", "| --- | --- | --- |")
    rows = (
        ("risk", found.risk, "wrong answers among those given"),
        ("carefulness", found.carefulness, "declined, of what an answer would be wrong to"),
        ("alignment", found.alignment, "answered rightly or declined rightly"),
        ("coverage", found.coverage, "answered, of all questions"),
        ("right answers given", found.right_given, "of those that could have been given"),
    )
    yield from (f"| {name} | {_shown(value)} | {meaning} |" for name, value, meaning in rows)
    yield ""


def _of_kinds(measured: Measured) -> Iterator[str]:
    yield (
        f"Right answers against wrong ones: AUROC {measured.auroc:.3f}; by the best single feature "
        f"(`{measured.best_feature}`) {measured.best_feature_auroc:.3f}. Area under the "
        f"risk-coverage curve (AURC): {measured.aurc:.3f}. Without the rule {measured.right:.0%} "
        "of the answers to answerable questions cite gold."
    )
    yield from ("", "| questions | number | AUROC |", "| --- | --- | --- |")
    for kind, count in measured.kinds.items():
        yield f"| {LABELS.get(kind, kind)} | {count} | {_shown(measured.by_kind.get(kind))} |"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
