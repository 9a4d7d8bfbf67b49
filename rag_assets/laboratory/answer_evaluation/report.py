"""The report of an evaluation of answers, for people."""

from collections.abc import Iterator
from typing import get_args

from rag_assets.answering.answer import Outcome
from rag_assets.laboratory.answer_evaluation.answer_means import AnswerNumber, AnswersOfDomain
from rag_assets.laboratory.answer_evaluation.bench import NUMBERS, UNITS
from rag_assets.laboratory.answer_evaluation.evaluating import JUDGED, AnswerEvaluation
from rag_assets.laboratory.judges.wording import LEGEND, judged_lines
from rag_assets.reports.text_tables import markdown_table

MEANINGS = {
    "coverage": "sentences that cite something",
    "validity": "citations whose unit is there and was shown",
    "support_recall": "sentences that their citations support, by the rule of `verify`",
    "support_precision": "citations that support their sentence by themselves",
    "completeness": "gold quotes, pages and rows that are cited",
    UNITS: "units that must be read for an answer",
}
FEW = 20
"""Clusters below which an interval is not reliable."""


def report_of(evaluation: AnswerEvaluation) -> str:
    """The evaluation as Markdown: outcomes, then the numbers of each domain."""
    return "\n".join(_lines(evaluation))


def _lines(evaluation: AnswerEvaluation) -> Iterator[str]:
    yield (
        f"Answers of variant **{evaluation.variant}** with the retriever "
        f"**{evaluation.retriever}**, {evaluation.evaluated_at}. Outcomes are counted apart; "
        "the numbers below are means over what was told, with 95 % intervals."
    )
    counts = [
        {"questions": each.domain, "count": each.questions}
        | {name: each.outcomes.get(name, 0) for name in get_args(Outcome)}
        for each in evaluation.domains
    ]
    yield from ("", *markdown_table(counts), "")
    yield from markdown_table(
        [
            {"number": name.replace("_", " "), "what it is": MEANINGS[name]}
            | {each.domain: shown(each.numbers.get(name)) for each in evaluation.domains}
            for name in (*NUMBERS, UNITS)
        ]
    )
    yield from map(_doubt, evaluation.domains)
    if any(evaluation.judged.values()):
        yield from ("", LEGEND, *judged_lines(evaluation.judged))
        told = sum(each.outcome in JUDGED for each in evaluation.answers)
        yield (
            f"\nAnswers were judged where there was one: {told} of {len(evaluation.answers)} "
            "questions. These means say nothing of the others."
        )
    if evaluation.failed:
        yield (
            f"\nIn {evaluation.failed} of {len(evaluation.answers)} answers the language model "
            "failed: what was found is measured instead. The next run asks for these again."
        )


def shown(number: AnswerNumber | None, *, sign: str = "", more: str = "") -> str:
    """`0.512 (0.401 to 0.623)`, with `more` behind the interval; `sign` is that of its format."""
    if number is None:
        return "-"
    if number.low is None or number.high is None:
        return f"{number.mean:{sign}.3f}"
    return f"{number.mean:{sign}.3f} ({number.low:{sign}.3f} to {number.high:{sign}.3f}{more})"


def _doubt(domain: AnswersOfDomain) -> str:
    if domain.clusters >= FEW:
        return ""
    return (
        f"\nThe answers about {domain.domain} come from {domain.clusters} clusters only: their "
        "intervals are not reliable."
    )
