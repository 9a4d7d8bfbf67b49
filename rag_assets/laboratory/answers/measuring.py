"""What is said of an answer without a judge: is it in what was found, does it cite, does it answer?

`grounded` looks for each sentence in all that was found, whatever it cites, so that answers with
and without citations, and with and without sources, are measured alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rag_assets.answering.checks.support import check
from rag_assets.answering.generation.writing import Written
from rag_assets.answering.quoting.unit_citations import cells_of, span_of
from rag_assets.citations.citing import sources_of
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import RowCells
from rag_assets.terms.coverage import HeldTerms, coverage, terms_of

NUMBERS = {
    "answered": "questions for which a sentence was written",
    "grounded": "sentences of which the units found have every number and name, whatever is cited",
    "cited": "sentences that cite a unit that was shown",
    "agreeing": "sentences of which what they cite has every number and name",
    "holds_answer": "terms of the reference answer that the answer holds",
    "sentences": "sentences of an answer",
}
"""By name, what each is: a share from 0 to 1, `COUNTED` aside."""
COUNTED = "sentences"


@dataclass(frozen=True, slots=True)
class AnswerMeasured:
    """One answer of one arm, measured."""

    question_id: str
    failed: bool
    """Whether the model gave no usable answer."""
    may_pass: bool
    """Whether a call failed in a way that may pass."""
    values: Mapping[str, float | None]
    """`NUMBERS`; None where there is nothing to measure."""


def measure(
    question_id: str,
    written: Written,
    *,
    hits: Sequence[Hit],
    rows: Mapping[str, RowCells],
    reference: str | None,
) -> AnswerMeasured:
    """What is said of an answer.

    Args:
        question_id: Of its question.
        written: The answer.
        hits: What was found, whether or not it was shown.
        rows: The cells of those that are rows.
        reference: The answer that the question set gives; None if it gives none.
    """
    found = sources_of(
        [
            citation
            for hit in hits
            for citation in (
                cells_of(rows[hit.unit_id], hit)
                if hit.unit_id in rows
                else (span_of(hit, 0, len(hit.text)),)
            )
        ]
    )
    sentences = written.sentences
    text = HeldTerms(" ".join(each.text for each in sentences))
    values: dict[str, float | None] = {
        "answered": float(bool(sentences)),
        "grounded": _share([check(each.text, found).agrees for each in sentences]),
        "cited": _share([bool(each.citations) for each in sentences]),
        "agreeing": _share(
            [bool(each.citations) and each.judged is not False for each in sentences]
        ),
        "holds_answer": coverage(terms_of(reference), [text]) if reference else None,
        "sentences": float(len(sentences)),
    }
    return AnswerMeasured(question_id, not written.is_written, written.may_pass, values)


def _share(holds: Sequence[bool]) -> float | None:
    return fmean(holds) if holds else None
