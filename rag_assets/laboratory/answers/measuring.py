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
    "units_cited": "units found that the answer cites",
    "sentences": "sentences of an answer",
    "citations": "units that it cites",
    "documents": "documents and tables that the units found are of",
    "pages": "pages that they stand on",
    "headings": "headings that they stand under",
}
"""By name, what each is: a share from 0 to 1, `COUNTED` aside. P4's table 3 has the coverage of
citations, how many there are, and what single queries find, by document, page and section."""
COUNTED = frozenset({"sentences", "citations", "documents", "pages", "headings"})


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
    values |= _of_units(written, hits)
    return AnswerMeasured(question_id, not written.is_written, written.may_pass, values)


def _of_units(written: Written, hits: Sequence[Hit]) -> dict[str, float | None]:
    """How many of the units found are cited, and how many different places they come from."""
    units = {hit.unit_id for hit in hits}
    said = [citation for each in written.sentences for citation in each.citations]
    cited = units & {citation.cited_unit for citation in said}
    pages = {(hit.source, hit.uri, page) for hit in hits for page in hit.pages or (0,)}
    return {
        "units_cited": len(cited) / len(units) if units and written.sentences else None,
        "citations": float(len({citation.cited_unit or citation.place for citation in said})),
        "documents": float(len({(hit.source, hit.uri) for hit in hits})),
        "pages": float(len(pages)),
        "headings": float(len({(hit.source, hit.uri, hit.section) for hit in hits})),
    }


def _share(holds: Sequence[bool]) -> float | None:
    return fmean(holds) if holds else None
