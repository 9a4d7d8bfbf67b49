"""What each sentence of a language model cites, and what of it is there.

The model gives numbers; the citation is made here. It is first the whole unit, and where a part of
the unit agrees with the sentence as well, that part: the fewer words a reader has to look at the
better. A row is compared as a whole, as its other cells tell that a value stands under another
heading. Numbers that stand for nothing are no citation, and a fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag_assets.answering.checks.cited_texts import MarkedSentence
from rag_assets.answering.checks.judging import SupportJudge
from rag_assets.answering.checks.support import Checked, check
from rag_assets.answering.generation.numbered_units import (
    NumberedResult,
    NumberedUnit,
    NumberedUnits,
)
from rag_assets.answering.quoting.pieces import Piece, pieces_of
from rag_assets.answering.quoting.unit_citations import cells_of, span_of
from rag_assets.citations.citing import sources_of
from rag_assets.citations.kinds import Cell, Citation, Span
from rag_assets.citations.sentences import Sentence
from rag_assets.terms.words import Vocabulary, folded, terms

MOST_NAMED = 3
"""What a fault names of what no source has."""


@dataclass(frozen=True, slots=True)
class ProvenSentence:
    """A sentence with its citations, what was compared, and what is wrong with it."""

    sentence: Sentence
    faults: tuple[str, ...]
    """What is wrong with it, in words; none where it agrees with what it cites and cites nothing
    that is not there."""

    @property
    def holds(self) -> bool:
        """Whether it cites something, and nothing that was compared or judged speaks against it."""
        return self.sentence.judged is not False

    def without_belief(self) -> "ProvenSentence":
        """This sentence as one that does not hold: its model said so before it had a source."""
        sentence = replace(self.sentence, compared="nothing", judged=False)
        return ProvenSentence(sentence, (*self.faults, "you said so before a source did"))


def prove(
    sentences: Sequence[MarkedSentence], units: NumberedUnits, *, judge: SupportJudge | None = None
) -> list[ProvenSentence]:
    """Each sentence of an answer, compared with what it cites."""
    return [_proven(sentence, units, judge) for sentence in sentences]


def missing_in_all(sentence: str, units: NumberedUnits) -> Iterator[str]:
    """The numbers and names of a sentence that nothing shown has, as they are compared."""
    every = [citation for unit in units.all for citation in _whole(unit)]
    yield from (each.atom.key for each in check(sentence, sources_of(every)).missing)


def _proven(
    marked: MarkedSentence, units: NumberedUnits, judge: SupportJudge | None
) -> ProvenSentence:
    cited = [unit for number in marked.numbers if (unit := units.of_number(number))]
    nowhere = [number for number in marked.numbers if units.of_number(number) is None]
    citations, checked = _compared(marked.text, cited)
    faults = [f"[{number}] is no source" for number in nowhere]
    faults += [] if cited or nowhere else ["it cites no source"]
    faults += _faults_of(checked) if cited else []
    judged = None
    if judge is not None and checked.agrees and not checked.is_proven:
        judged = judge.judge(marked.text, sources_of(citations))
        faults += ["its sources do not say this"] if judged is False else []
    judged = judged if checked.agrees else False
    sentence = Sentence(marked.text, citations, checked.compared, judged, is_written=True)
    return ProvenSentence(sentence, tuple(faults))


def _compared(
    text: str, cited: Sequence[NumberedUnit | NumberedResult]
) -> tuple[tuple[Citation, ...], Checked]:
    """The fewest citations that agree with a sentence as well as all that it may mean."""
    pieces = [_narrow(text, unit) for unit in cited]
    narrow = tuple(each for piece in pieces for each in piece.citations)
    whole = tuple(each for unit in cited for each in _whole(unit))
    around = tuple(each for unit in cited for each in _around(text, unit))
    texts = {each.unit_id or "": "" for each in whole if isinstance(each, Cell)}
    texts |= {unit.hit.unit_id: unit.hit.text for unit in cited if isinstance(unit, NumberedUnit)}
    of_narrow, of_whole = (check(text, sources_of(each, texts)) for each in (narrow, whole))
    if of_whole.agrees:
        is_quoted = of_narrow.compared == "verbatim" and all(each.is_whole for each in pieces)
        return (narrow if of_narrow.agrees else whole), (of_narrow if is_quoted else of_whole)
    for wider in ((*narrow, *around), (*whole, *around)) if around else ():
        checked = check(text, sources_of(wider, texts))
        if checked.agrees:
            return wider, checked
    return whole, of_whole


def _faults_of(checked: Checked) -> Iterator[str]:
    if checked.missing:
        names = ", ".join(repr(each.atom.text) for each in checked.missing[:MOST_NAMED])
        yield f"its sources do not have {names}"
    yield from checked.faults


def _whole(unit: NumberedUnit | NumberedResult) -> tuple[Citation, ...]:
    if isinstance(unit, NumberedResult):
        return tuple(citation for each in unit.sentences for citation in each.citations)
    if unit.row is not None and unit.row.cells:
        return cells_of(unit.row, unit.hit)
    return (span_of(unit.hit, 0, len(unit.hit.text)),)


@dataclass(frozen=True, slots=True)
class _Narrowed:
    citations: tuple[Citation, ...]
    is_whole: bool = False
    """Whether it is a whole sentence or item of a text."""


def _narrow(sentence: str, unit: NumberedUnit | NumberedResult) -> _Narrowed:
    """The cells whose values the sentence holds, or the piece of the text that is most like it."""
    if isinstance(unit, NumberedResult):
        return _Narrowed(_whole(unit))
    if unit.row is not None and unit.row.cells:
        cells = cells_of(unit.row, unit.hit)
        return _Narrowed(tuple(cell for cell in cells if _is_told(cell, sentence)) or cells)
    piece = _likest(sentence, unit.hit.text)
    if piece is None:
        return _Narrowed(_whole(unit))
    spans = tuple(span_of(unit.hit, start, end) for start, end in piece.ranges)
    return _Narrowed(spans, is_whole=piece.kind != "fragment")


def _around(sentence: str, unit: NumberedUnit | NumberedResult) -> Iterator[Span]:
    """The piece around a chunk that is most like the sentence; it is in no unit that was found."""
    if isinstance(unit, NumberedUnit) and unit.row is None and unit.text != unit.hit.text:
        text = unit.text.replace(unit.hit.text, "\n\n")
        if piece := _likest(sentence, text):
            words = text[piece.start : piece.end]
            span = span_of(unit.hit, 0, len(words))
            yield replace(span, unit_id=None, text_hash=None, text=words)


def _likest(sentence: str, text: str) -> Piece | None:
    words, pieces = terms(sentence), pieces_of(text)
    if not words or not pieces:
        return None
    return max(pieces, key=lambda piece: _shared(words, text[piece.start : piece.end]))


def _is_told(cell: Cell, sentence: str) -> bool:
    return f" {folded(str(cell.value))} " in f" {_parted(sentence)} "


def _parted(sentence: str) -> str:
    """The words of a sentence, without the punctuation at their ends."""
    return " ".join(word.strip(".,;:()[]'\"") for word in folded(sentence).split())


def _shared(words: Sequence[str], text: str) -> float:
    held = Vocabulary(terms(text))
    return sum(map(held.share_of, words))
