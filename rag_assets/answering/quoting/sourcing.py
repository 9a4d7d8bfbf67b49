"""Sources for the sentences of an answer from anywhere, and open disagreement with wrong ones.

See `references` for how sentences are matched with units.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_assets.answering.quoting.references import (
    NULL,
    RelevanceScorer,
    disagreements,
    match_references,
)


@dataclass(frozen=True, slots=True)
class SourcedSentence:
    """A sentence of an answer with the unit that it comes from."""

    text: str
    cited: tuple[int, ...]
    """Places of the units that it cites itself."""
    given: int | None
    """Place of the unit that it was given, as it cites none; None where none is relevant enough."""
    better: int | None
    """Place of the unit that fits better than all that it cites; None where none does."""
    score: float
    """Relevance of the unit that it was matched with, 0 to 1; of none, the threshold."""

    @property
    def units(self) -> tuple[int, ...]:
        """Its sources: what it cites, else what it was given."""
        return self.cited or (() if self.given is None else (self.given,))


def give_references(
    sentences: Sequence[tuple[str, Sequence[int]]],
    units: Sequence[str],
    scorer: RelevanceScorer,
    *,
    null: float = NULL,
) -> list[SourcedSentence]:
    """A source for each sentence that cites none, and a better one where a citation is wrong.

    Args:
        sentences: Of the answer, in order: its text, and the places of the units that it cites.
        units: Texts of the units that it may come from, best first.
        scorer: Says how relevant a unit is.
        null: Relevance from which a unit is a source.
    """
    texts = [text for text, _ in sentences]
    cited = [tuple(places) for _, places in sentences]
    segments = match_references(texts, units, scorer, null=null)
    wrong = {
        each.sentence: each
        for each in disagreements(segments, cited, sentences=texts, units=units, scorer=scorer)
    }
    found = []
    for segment in segments:
        for place in range(segment.start, segment.end):
            disagreement = wrong.get(place)
            found.append(
                SourcedSentence(
                    text=texts[place],
                    cited=cited[place],
                    given=None if cited[place] else segment.unit,
                    better=disagreement.matched if disagreement else None,
                    score=disagreement.score if disagreement else segment.score,
                )
            )
    return found
