"""What each sentence of a language model cites, and whether that supports it.

The model gives numbers; the citation is made here. It is first the whole unit, and where a part of
the unit supports the sentence as well, that part: the fewer words a reader has to look at the
better. A row is judged as a whole, as its other cells tell that a value stands under another
heading. Numbers that stand for nothing are no citation, and a fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Compared, Sentence
from rag_assets.answering.checks.cited_texts import MarkedSentence
from rag_assets.answering.checks.citing import sources_of
from rag_assets.answering.checks.verifying import CitedSentence, SentenceVerdict, verdicts_of
from rag_assets.answering.citations import Cell, Citation
from rag_assets.answering.generation.numbered_units import NumberedUnit, NumberedUnits
from rag_assets.answering.pieces import pieces_of
from rag_assets.answering.unit_citations import cells_of, span_of
from rag_assets.answering.wording import Vocabulary, folded, terms

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_NAMED = 3
"""What a fault names of what no source has."""


@dataclass(frozen=True, slots=True)
class ProvenSentence:
    """A sentence with its citations, what was compared, and what is wrong with it."""

    sentence: Sentence
    faults: tuple[str, ...]
    """In words; none where it is supported in full and cites nothing that is not there."""


def prove(sentences: Sequence[MarkedSentence], units: NumberedUnits) -> list[ProvenSentence]:
    """Each sentence of an answer, checked against the units that it cites."""
    return [_proven(sentence, units) for sentence in sentences]


def _proven(sentence: MarkedSentence, units: NumberedUnits) -> ProvenSentence:
    cited = [unit for number in sentence.numbers if (unit := units.of_number(number))]
    nowhere = [number for number in sentence.numbers if units.of_number(number) is None]
    narrow = tuple(each for unit in cited for each in _narrow(sentence.text, unit))
    whole = tuple(each for unit in cited for each in _whole(unit))
    texts = {unit.hit.unit_id: unit.hit.text for unit in cited}
    citations, verdict = whole, _verdict(sentence.text, whole, texts)
    narrower = _verdict(sentence.text, narrow, texts)
    is_as_good = narrower.support == "full" or narrower.score >= verdict.score
    if is_as_good and (verdict.support == "full" or not any(unit.row for unit in cited)):
        citations, verdict = narrow, narrower
    faults = [f"[{number}] is no source" for number in nowhere]
    faults += [] if cited or nowhere else ["it cites no source"]
    faults += _faults_of(verdict) if cited and verdict.support != "full" else []
    compared: Compared = "numbers and names" if verdict.support == "full" else "nothing"
    written = Sentence(sentence.text, citations, compared, is_written=True)
    return ProvenSentence(written, tuple(faults))


def _verdict(
    text: str, citations: Sequence[Citation], texts: "Mapping[str, str]"
) -> SentenceVerdict:
    [verdict] = verdicts_of([CitedSentence(text, sources_of(citations, texts))])
    return verdict


def _faults_of(verdict: SentenceVerdict) -> Iterator[str]:
    if verdict.uncovered:
        names = ", ".join(repr(each.text) for each in verdict.uncovered[:MOST_NAMED])
        yield f"its sources do not have {names}"
    yield from verdict.reasons
    if not verdict.uncovered and not verdict.reasons:
        yield "its sources do not say this"


def _whole(unit: NumberedUnit) -> tuple[Citation, ...]:
    if unit.row is not None and unit.row.cells:
        return cells_of(unit.row, unit.hit)
    return (span_of(unit.hit, 0, len(unit.hit.text)),)


def _narrow(sentence: str, unit: NumberedUnit) -> tuple[Citation, ...]:
    """The cells whose values the sentence holds, or the piece of the text that is most like it."""
    if unit.row is not None and unit.row.cells:
        cells = cells_of(unit.row, unit.hit)
        return tuple(cell for cell in cells if _is_told(cell, sentence)) or cells
    words = terms(sentence)
    pieces = pieces_of(unit.hit.text)
    if not pieces or not words:
        return _whole(unit)
    best = max(pieces, key=lambda piece: _shared(words, unit.hit.text[piece.start : piece.end]))
    return tuple(span_of(unit.hit, start, end) for start, end in best.ranges)


def _is_told(cell: Cell, sentence: str) -> bool:
    return f" {folded(str(cell.value))} " in f" {_parted(sentence)} "


def _parted(sentence: str) -> str:
    """The words of a sentence, without the punctuation at their ends."""
    return " ".join(word.strip(".,;:()[]'\"") for word in folded(sentence).split())


def _shared(words: Sequence[str], text: str) -> float:
    held = Vocabulary(terms(text))
    return sum(map(held.share_of, words))
