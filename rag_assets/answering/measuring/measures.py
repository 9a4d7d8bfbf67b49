"""Figures over many answers: five numbers, never one.

The citation recall and precision of ALCE (Gao et al. 2023) are not among them: by rule an answer
without citations has the precision 0, and a sentence that says `I do not know` lowers recall.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rag_assets.answering.answer import Answer
from rag_assets.answering.checks.citing import sources_of
from rag_assets.answering.checks.support import check
from rag_assets.citations.kinds import Citation


@dataclass(frozen=True, slots=True)
class FiveNumbers:
    """What is said of citations, each from 0 to 1; None where there is nothing to measure."""

    coverage: float | None
    """The share of sentences that cite something."""
    validity: float | None
    """The share of citations whose unit is there and was shown."""
    support_recall: float | None
    """The share of sentences that are supported: proven by comparing, or by the judge of the
    config."""
    support_precision: float | None
    """The share of citations that agree with their sentence by themselves."""
    completeness: float | None = None
    """The share of the gold that is cited; for whoever knows it."""


def five_numbers(
    answers: Sequence[Answer], *, units: Mapping[str, str] | None = None
) -> FiveNumbers:
    """The five numbers of answers.

    Args:
        answers: Those without sentences are left out.
        units: Texts of the units by `unit_id`; None to take citations by their word.
    """
    sentences = [sentence for answer in answers for sentence in answer.sentences]
    cited = [(each.text, citation) for each in sentences for citation in each.citations]
    valid = [
        _is_valid(citation, answer, units) for answer in answers for citation in answer.citations
    ]
    return FiveNumbers(
        coverage=_mean([bool(sentence.citations) for sentence in sentences]),
        validity=_mean(valid),
        support_recall=_mean([sentence.is_supported for sentence in sentences]),
        support_precision=_mean(
            [check(text, sources_of([citation], units)).agrees for text, citation in cited]
        ),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _is_valid(citation: Citation, answer: Answer, units: Mapping[str, str] | None) -> bool:
    if citation.cited_unit is None:
        return True
    shown = {each.unit_id for each in answer.shown}
    return not citation.points_nowhere(units) and (not shown or citation.cited_unit in shown)
