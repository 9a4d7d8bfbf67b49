"""Figures over many answers: five numbers, never one, and ALCE's two unchanged beside them.

ALCE (Gao et al. 2023, its `eval.py`) is kept as it is, so that figures can be compared. Its faults,
which the five numbers do not have: an answer without sentences is left out; the precision of an
answer without citations is 0 by rule; a sentence that says `I do not know` lowers recall.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rag_assets.answering.answer import Answer
from rag_assets.answering.checks.citing import points_nowhere, sources_of
from rag_assets.answering.checks.judging import SupportJudge
from rag_assets.answering.checks.support import check
from rag_assets.answering.citations import Cell, Citation, Span

MOST_CITATIONS = 3
"""Citations of a sentence that ALCE looks at (`at_most_citations`)."""


@dataclass(frozen=True, slots=True)
class AlceScores:
    """Citation recall and precision, from 0 to 1, each the mean of answers."""

    recall: float
    precision: float
    answers: int
    """Answers that were scored: those with sentences."""


def alce(
    answers: Sequence[Answer], *, judge: SupportJudge, units: Mapping[str, str] | None = None
) -> AlceScores:
    """ALCE's citation recall and precision; what the judge supports is its entailment."""
    scored = [
        _alce_of(answer, _entailment(judge, units), units) for answer in answers if answer.sentences
    ]
    if not scored:
        return AlceScores(0.0, 0.0, 0)
    recalls, precisions = zip(*scored, strict=True)
    return AlceScores(fmean(recalls), fmean(precisions), len(scored))


Entails = Callable[[str, Sequence[Citation]], bool]


def _entailment(judge: SupportJudge, units: Mapping[str, str] | None) -> Entails:
    return lambda sentence, cited: judge.judge(sentence, sources_of(cited, units)) is True


def _alce_of(
    answer: Answer, entails: Entails, units: Mapping[str, str] | None
) -> tuple[float, float]:
    """Recall and precision of one answer."""
    supported = precise = total = 0
    for sentence in answer.sentences:
        cited = sentence.citations[:MOST_CITATIONS]
        if not cited or any(points_nowhere(each, units) for each in cited):
            continue  # recall 0; citations that point nowhere are not counted, as in ALCE
        total += len(cited)
        if not entails(sentence.text, cited):
            continue
        supported += 1
        precise += sum(not _is_needless(sentence.text, cited, each, entails) for each in cited)
    return supported / len(answer.sentences), precise / total if total else 0.0


def _is_needless(
    sentence: str, cited: Sequence[Citation], citation: Citation, entails: Entails
) -> bool:
    """Whether a citation alone does not entail the sentence, and the others still do."""
    if len(cited) == 1 or entails(sentence, [citation]):
        return False
    return entails(sentence, [each for each in cited if each is not citation])


@dataclass(frozen=True, slots=True)
class FiveNumbers:
    """What is said of citations, each from 0 to 1; None where there is nothing to measure."""

    coverage: float | None
    """Share of sentences that cite something."""
    validity: float | None
    """Share of citations whose unit is there and was shown."""
    support_recall: float | None
    """Share of sentences that are supported: proven by comparing, or by the judge of the config."""
    support_precision: float | None
    """Share of citations that agree with their sentence by themselves."""
    completeness: float | None = None
    """Share of the gold that is cited; for whoever knows it."""


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
    if not isinstance(citation, Span | Cell) or citation.unit_id is None:
        return True
    shown = {each.unit_id for each in answer.shown}
    return not points_nowhere(citation, units) and (not shown or citation.unit_id in shown)
