"""Figures over many answers: five numbers, never one, and ALCE's two unchanged beside them.

ALCE (Gao et al. 2023, its `eval.py`) is kept as it is, so that figures can be compared. Its faults,
which the five numbers do not have: an answer without sentences is left out; the precision of an
answer without citations is 0 by rule; a sentence that says `I do not know` lowers recall. So
refusals are counted apart here (`Refusals`), before either.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

from rag_assets.answering.answer import Answer
from rag_assets.answering.checks.atoms import folded
from rag_assets.answering.checks.citing import points_nowhere, sources_of
from rag_assets.answering.checks.sources import Source
from rag_assets.answering.checks.support import Support, check
from rag_assets.answering.checks.verifying import says_just_what_it_cites
from rag_assets.answering.citations import Cell, Citation, Computed, Span

SUPPORT_WEIGHTS: Mapping[Support, float] = {"full": 1.0, "part": 0.5, "none": 0.0, "unchecked": 0.0}
"""TREC RAG 2024, support evaluation (arXiv 2504.15205)."""
MOST_CITATIONS = 3
"""Citations of a sentence that ALCE looks at (`at_most_citations`)."""


class SupportJudge(Protocol):
    """Says what sources say of a sentence: our rule, or a model."""

    def judge(self, sentence: str, sources: Sequence[Source], /) -> Support:
        """The support of `sentence` by all of `sources` together."""
        ...


class RuleJudge:
    """The rule of `support`: no model."""

    def judge(self, sentence: str, sources: Sequence[Source], /) -> Support:
        """See `SupportJudge`."""
        return check(sentence, sources).support if sources else "none"


@dataclass(frozen=True, slots=True)
class AlceScores:
    """Citation recall and precision, from 0 to 1, each the mean of answers."""

    recall: float
    precision: float
    answers: int
    """Answers that were scored: those with sentences."""


def alce(
    answers: Sequence[Answer],
    *,
    judge: SupportJudge | None = None,
    units: Mapping[str, str] | None = None,
) -> AlceScores:
    """ALCE's citation recall and precision; full support is its entailment."""
    entails = _entailment(judge or RuleJudge(), units)
    scored = [_alce_of(answer, entails, units) for answer in answers if answer.sentences]
    if not scored:
        return AlceScores(0.0, 0.0, 0)
    recalls, precisions = zip(*scored, strict=True)
    return AlceScores(fmean(recalls), fmean(precisions), len(scored))


Entails = Callable[[str, Sequence[Citation]], bool]


def _entailment(judge: SupportJudge, units: Mapping[str, str] | None) -> Entails:
    return lambda sentence, cited: judge.judge(sentence, sources_of(cited, units)) == "full"


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
    """Mean support of sentences by all they cite: full 1, part 0.5."""
    support_precision: float | None
    """Mean support that a citation gives its sentence by itself."""
    completeness: float | None
    """Share of the gold quotes and cells that are cited."""


@dataclass(frozen=True, slots=True)
class GoldOfAnswer:
    """What a complete answer cites."""

    quotes: tuple[str, ...] = ()
    cells: tuple[tuple[str, str, str | None], ...] = ()
    """Table, row key and column; any column where it is None."""


def five_numbers(
    answers: Sequence[Answer],
    *,
    golds: Sequence[GoldOfAnswer] = (),
    judge: SupportJudge | None = None,
    units: Mapping[str, str] | None = None,
) -> FiveNumbers:
    """The five numbers of answers that answer; refusals are for `refusals`.

    Args:
        answers: Those without sentences are left out.
        golds: What each should cite, in their order; empty where it is not known.
        judge: Says what is supported; the rule unless given.
        units: Texts of the units by `unit_id`; None to take citations by their word.
    """
    judge = judge or RuleJudge()
    sentences = [sentence for answer in answers for sentence in answer.sentences]
    cited = [(each.text, citation) for each in sentences for citation in each.citations]
    recalls = [
        1.0
        if says_just_what_it_cites(each, units)
        else SUPPORT_WEIGHTS[judge.judge(each.text, sources_of(each.citations, units))]
        for each in sentences
    ]
    precisions = [
        SUPPORT_WEIGHTS[judge.judge(text, sources_of([citation], units))]
        for text, citation in cited
    ]
    valid = [
        _is_valid(citation, answer, units) for answer in answers for citation in answer.citations
    ]
    found = [each for pair in zip(answers, golds, strict=False) for each in _gold_found(*pair)]
    return FiveNumbers(
        coverage=_mean([bool(sentence.citations) for sentence in sentences]),
        validity=_mean(valid),
        support_recall=_mean(recalls),
        support_precision=_mean(precisions),
        completeness=_mean(found),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _is_valid(citation: Citation, answer: Answer, units: Mapping[str, str] | None) -> bool:
    if not isinstance(citation, Span | Cell) or citation.unit_id is None:
        return True
    shown = {each.unit_id for each in answer.shown}
    return not points_nowhere(citation, units) and (not shown or citation.unit_id in shown)


def _gold_found(answer: Answer, gold: GoldOfAnswer) -> list[bool]:
    """For each gold quote and cell, whether a citation touches it."""
    spans = [folded(each.text) for each in answer.citations if isinstance(each, Span)]
    cells = [each for each in answer.citations if isinstance(each, Cell)]
    cells += [
        cell for each in answer.citations if isinstance(each, Computed) for cell in each.inputs
    ]
    quotes = [folded(quote) for quote in gold.quotes]
    return [
        *(any(quote in span or span in quote for span in spans if span) for quote in quotes),
        *(
            any(
                (cell.table, cell.row_key) == (table, key) and column in (None, cell.column)
                for cell in cells
            )
            for table, key, column in gold.cells
        ),
    ]


@dataclass(frozen=True, slots=True)
class Refusals:
    """Questions by whether they can be answered and were."""

    answered: int
    """Of those that can be."""
    over_refused: int
    refused: int
    """Of those that cannot be answered."""
    over_answered: int


def refusals(answers: Sequence[Answer], answerable: Sequence[bool]) -> Refusals:
    """The two by two table; what was only found is a refusal."""
    pairs = [
        (answer.outcome in ("computed", "written"), can)
        for answer, can in zip(answers, answerable, strict=True)
    ]
    return Refusals(
        answered=pairs.count((True, True)),
        over_refused=pairs.count((False, True)),
        refused=pairs.count((False, False)),
        over_answered=pairs.count((True, False)),
    )
