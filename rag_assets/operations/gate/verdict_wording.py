"""What a verdict says to people: sentences, text for a terminal, Markdown for the UI."""

from collections.abc import Iterator, Sequence
from textwrap import indent

from rag_assets.evaluation.non_inferiority import PairedDifference
from rag_assets.operations.gate.slices import SliceDifference
from rag_assets.operations.gate.verdicts import (
    BeforeAndNow,
    Compared,
    KnownItems,
    NamedQuestion,
    Verdict,
)
from rag_assets.reports.plots import Bar, bars
from rag_assets.reports.text_tables import markdown_table, table

NAMED = 10
"""Questions of each kind that are shown; the record has more."""


def difference_text(difference: PairedDifference, *, metric: str) -> str:
    """A sentence on how much a metric changes, and on how many questions."""
    return (
        f"{metric} changes by {interval_text(difference)} on {counted(difference.questions)}: "
        f"{difference.wins} won, {difference.losses} lost"
    )


def interval_text(difference: PairedDifference) -> str:
    """The estimate with its interval."""
    low, high = max(difference.low, -1.0), min(difference.high, 1.0)
    return f"{difference.estimate:+.3f} [{low:+.3f}, {high:+.3f}]"


def slice_text(found: SliceDifference, *, margin: float) -> str:
    """What became worse in a slice."""
    says = (
        f"a loss beyond the margin of {margin:.3f} is shown"
        if found.status == "is worse"
        else f"it looks like a loss, and one beyond the margin of {margin:.3f} is not ruled out"
    )
    return (
        f"{found.by} {found.name}: {interval_text(found.difference)} on "
        f"{counted(found.difference.questions)}; {says}."
    )


def dense_text(measured: BeforeAndNow, *, is_shown: bool, margin: float) -> str:
    """What dense search alone loses."""
    beyond = f"a loss beyond the margin of {margin:.3f}"
    says = f"{beyond} is shown" if is_shown else f"it looks like {beyond}, which is not shown yet"
    return (
        f"Dense search alone finds less: {measured.metric} {measured.serving:.3f} -> "
        f"{measured.candidate:.3f}; {says}."
    )


def known_items_text(items: KnownItems) -> str:
    """How well both sides find known items."""
    moved = (
        f"; of {items.unchanged} whose unit did not change, {items.moved} have another first hit"
        if items.unchanged and not items.by_words
        else ""
    )
    before = "by the words of what serves, whose model is gone" if items.by_words else "before"
    return (
        f"Of {items.queries} queries, each cut from a unit of the index, {items.serving:.1%} found "
        f"that unit among the first {items.seen} {before}, and {items.candidate:.1%} do now{moved}."
    )


def smoke_text(count: int) -> str:
    """A sentence that says that questions which a program made decide nothing."""
    are = "question is" if count == 1 else "questions are"
    return (
        f"{count:,} generated {are} a smoke test and decide nothing: no experiment "
        "question_origin shows that such questions order retrievers as people's questions do."
    )


def counted(questions: int) -> str:
    """The number of questions."""
    return f"{questions:,} question{'' if questions == 1 else 's'}"


def headline(verdict: Verdict) -> str:
    """The verdict in one line."""
    candidate, serving = sides(verdict.compared)
    return f"{verdict.words}: {candidate}{f' against {serving}' if serving else ''}"


def sides(compared: Compared) -> tuple[str, str]:
    """What was held against what; with the retrievers, where these differ too."""
    if compared.serving is None or compared.serving_retriever == compared.retriever:
        return compared.candidate, compared.serving or ""
    return (
        f"{compared.candidate} with {compared.retriever}",
        f"{compared.serving} with {compared.serving_retriever}",
    )


def verdict_text(verdict: Verdict) -> str:
    """The verdict for a terminal."""
    parts = [headline(verdict), *(f"  {reason}" for reason in verdict.reasons)]
    if rows := measured_rows(verdict):
        parts += ["", indent(table(rows, columns=[*rows[0]]), "  ")]
    for title, questions in _groups(verdict):
        parts += ["", title, *(f"  {_question(one)}" for one in questions[:NAMED])]
        parts += _rest(questions)
    if verdict.remedy:
        parts += ["", f"What to do: {verdict.remedy}"]
    return "\n".join(parts)


def measured_rows(verdict: Verdict) -> list[dict[str, str]]:
    """What served and the candidate side by side: dense search alone, then what serves."""
    dense, rows = verdict.dense, []
    for name, measured, items in (
        ("dense alone", dense.measured if dense else (), dense.known_items if dense else None),
        (f"what serves ({verdict.compared.retriever})", verdict.measured, verdict.known_items),
    ):
        rows += [
            {
                "searched by": name,
                "metric": each.metric,
                "before": f"{each.serving:.3f}",
                "now": f"{each.candidate:.3f}",
                "difference": interval_text(each.difference),
                "won": str(each.difference.wins),
                "lost": str(each.difference.losses),
            }
            for each in measured
        ]
        if items:
            rows.append(
                {
                    "searched by": name,
                    "metric": f"known items@{items.seen}",
                    "before": f"{items.serving:.3f}",
                    "now": f"{items.candidate:.3f}",
                    "difference": f"{items.candidate - items.serving:+.3f}",
                    "won": "",
                    "lost": "",
                }
            )
    return rows


def in_short(verdict: Verdict) -> str:
    """The metric of the gate before and now, by what serves and by dense search alone."""
    serves = _of_gate(verdict, verdict.measured)
    both = ((f"{verdict.compared.metric} ", serves), ("dense alone ", _of_dense(verdict)))
    return ", ".join(
        f"{name}{each.serving:.3f} -> {each.candidate:.3f}" for name, each in both if each
    )


def _of_dense(verdict: Verdict) -> BeforeAndNow | None:
    return _of_gate(verdict, verdict.dense.measured) if verdict.dense else None


def _of_gate(verdict: Verdict, measured: Sequence[BeforeAndNow]) -> BeforeAndNow | None:
    """The metric that the gate judges by."""
    return next((each for each in measured if each.metric == verdict.compared.metric), None)


def verdict_markdown(verdict: Verdict) -> str:
    """The verdict for the Dagster UI."""
    parts = [f"**{headline(verdict)}**", "", *(f"- {reason}" for reason in verdict.reasons)]
    if verdict.remedy:
        parts += ["", f"**What to do:** {verdict.remedy}"]
    if rows := measured_rows(verdict):
        parts += ["", *markdown_table(rows)]
    if verdict.slices:
        parts += ["", *markdown_table([_slice_row(each) for each in verdict.slices])]
    for title, questions in _groups(verdict):
        rows = [
            {
                "question": one.text,
                "what happened": one.reason,
                "what stands there now": one.found_now,
            }
            for one in questions[:NAMED]
        ]
        parts += ["", f"**{title}**", "", *markdown_table(rows), *_rest(questions)]
    return "\n".join(parts)


def verdict_plot(verdict: Verdict) -> str:
    """The differences of all questions and of each slice, with their intervals, as SVG.

    Empty where no questions were asked.
    """
    if verdict.difference is None or verdict.margin is None:
        return ""
    shown = {"all": verdict.difference}
    if dense := _of_dense(verdict):
        shown["dense alone"] = dense.difference
    for each in verdict.slices:
        remark = "" if each.status == "fine" else f" ({each.status})"
        shown[f"{each.by} {each.name}{remark}"] = each.difference
    candidate, serving = sides(verdict.compared)
    metric = verdict.compared.metric
    return bars(
        {metric: [Bar(one.estimate, one.low, one.high) for one in shown.values()]},
        groups=[f"{name}: {counted(one.questions)}" for name, one in shown.items()],
        title=f"{candidate} minus {serving}: a loss of {verdict.margin:.3f} is accepted",
        y_label=f"difference of {metric}",
    )


def _groups(verdict: Verdict) -> Iterator[tuple[str, Sequence[NamedQuestion]]]:
    """The questions that are named, under a title each."""
    lost = verdict.difference.losses if verdict.difference else 0
    dense, lost_alone = _of_dense(verdict), verdict.dense.lost if verdict.dense else ()
    losses = dense.difference.losses if dense else 0
    for title, questions in (
        (f"Questions on which it is worse ({lost})", verdict.lost),
        (f"Questions on which dense search alone is worse ({losses})", lost_alone),
        (
            f"Left out, as their gold is gone or changed: correct them ({len(verdict.left_out)})",
            verdict.left_out,
        ),
        (
            f"Apart, as a newer version replaced their document ({len(verdict.superseded)})",
            verdict.superseded,
        ),
    ):
        if questions:
            yield title, questions


def _question(one: NamedQuestion) -> str:
    now = f"; now: {one.found_now}" if one.found_now else ""
    return f"{one.question_id} {one.text!r}: {one.reason}{now}"


def _rest(questions: Sequence[NamedQuestion]) -> list[str]:
    left = len(questions) - NAMED
    return ["", f"  and {left} more"] if left > 0 else []


def _slice_row(each: SliceDifference) -> dict[str, object]:
    found = each.difference
    return {
        "slice": f"{each.by} {each.name}",
        "questions": found.questions,
        "difference": interval_text(found),
        "won": found.wins,
        "lost": found.losses,
        "": each.status,
    }
