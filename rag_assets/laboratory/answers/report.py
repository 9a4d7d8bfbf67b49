"""The report of an experiment on answers, for people."""

from collections.abc import Iterator

from rag_assets.laboratory.answer_evaluation.report import shown
from rag_assets.laboratory.answers.measuring import NUMBERS
from rag_assets.laboratory.answers.ranks import rank_lines
from rag_assets.laboratory.answers.run import AnswerExperimentRecord, Estimate
from rag_assets.laboratory.judges.distributions import score_lines
from rag_assets.laboratory.judges.wording import LEGEND, judged_lines
from rag_assets.reports.text_tables import markdown_table


def experiment_report(record: AnswerExperimentRecord) -> str:
    """The experiment as Markdown: each arm's numbers, then its differences from the first arm."""
    return "\n".join(_lines(record))


def _lines(record: AnswerExperimentRecord) -> Iterator[str]:
    first, *others = record.arms
    yield f"# {record.title}"
    yield ""
    yield (
        f"{record.questions} questions of the split {record.split}, answered by {record.model} "
        f"from what the retriever {record.retriever} finds in the variant {record.variant}; "
        f"{record.evaluated_at}. The numbers of the first two tables come from the checks of "
        "`verify`, without a judge. Means with 95 % intervals."
    )
    rows = [
        {"number": name.replace("_", " "), "what it is": meaning}
        | {arm.name: _shown(arm.numbers.get(name)) for arm in record.arms}
        for name, meaning in NUMBERS.items()
    ]
    failed = {"number": "failed", "what it is": "questions without a usable answer"}
    rows.append(failed | {arm.name: str(arm.failed) for arm in record.arms})
    yield from ("", *markdown_table(rows))
    yield from ("", f"Differences from **{first.name}**, paired by question:", "")
    yield from markdown_table(
        [
            {"number": name.replace("_", " ")}
            | {arm.name: _shown(arm.differences.get(name), sign="+") for arm in others}
            for name in NUMBERS
        ]
    )
    if any(arm.judged for arm in record.arms):
        yield from ("", LEGEND, *judged_lines({arm.name: arm.judged for arm in record.arms}))
        yield f"\nDifferences from **{first.name}**, as judged:"
        changes = {arm.name: arm.judged_differences for arm in others}
        yield from judged_lines(changes, signed=True)
    yield from rank_lines(record.ranks)
    yield from score_lines(record.score_counts)


def _shown(estimate: Estimate | None, *, sign: str = "") -> str:
    return shown(estimate, sign=sign, more=f", n {estimate.questions}" if estimate else "")
