"""Sources for the sentences of an answer from anywhere, and open disagreement with wrong ones.

Reference matching tells which unit each part of an answer comes from.

After P1, section 3.4 and algorithm 1. An answer is cut into segments of neighbouring sentences,
each with one unit or none. With p(i, j, t) the relevance of unit t to the sentences i to j-1, in
[0, 1]:

    b(i, j) = max(max over t of p(i, j, t), null)
    best[0] = 0
    best[j] = max over j - longest <= i < j of best[i] + (j - i) * b(i, j) - cut

Ties go to fewer segments, then to the unit that comes first. This departs from the printed
algorithm, which cannot run as it stands: it has no segment of one sentence, no sum over the
segments before, and shifts an index. And from the authors' code: segments count by their length, so
that the number of segments does not hang on the level of the scores; `cut` is the price of a
segment; and `null` leaves a sentence without a unit, where theirs gives one to every sentence.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from rag_assets.answering.checks.cited_texts import read_cited
from rag_assets.citations.cited_sources import CitedText
from rag_assets.config import Config
from rag_assets.retrieval.hits import Hit
from rag_assets.store import Store

RERANKER = "late_interaction"
"""The reranker whose scores are moved to probabilities; the curve was fitted for it."""
NULL = 0.5
"""Relevance from which a unit is a reference; P1, figure 10, has the same."""
CUT = 0.005
"""The price of a segment, in sentences; larger ones joined what comes from two units, on dev."""
LONGEST = 4
UNITS_A_SENTENCE = 2
"""Units that are compared with the segments of a sentence: those nearest to the sentence alone."""
_DIGITS = 9
"""Values that agree to so many digits are a tie."""
SLOPE, OFFSET = 30.0, -24.1
"""The logistic curve that makes relevance of the scores of late interaction: fitted on dev by
`benchmarks/citation_checks_fit.py`."""

Bounds: TypeAlias = tuple[int, int]
"""First sentence of a segment, and one past its last."""


class RelevanceScorer(Protocol):
    """Scores pairs; every reranker does."""

    def score(self, pairs: Sequence[tuple[str, str]], /) -> np.ndarray:
        """Relevance of each pair's text to its query, (pairs,) float64 in [0, 1]."""
        ...


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A scorer whose scores are moved to probabilities by a logistic curve.

    A cosine of 0.8 means little and one of 0.95 much: the curve says how much.
    """

    scorer: RelevanceScorer
    slope: float = SLOPE
    offset: float = OFFSET

    def score(self, pairs: Sequence[tuple[str, str]], /) -> np.ndarray:
        """See `RelevanceScorer`."""
        raw = self.scorer.score(pairs)
        return 1 / (1 + np.exp(-(self.slope * raw + self.offset)))


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring sentences of an answer with their unit."""

    start: int
    """First sentence, from 0."""
    end: int
    """One past the last sentence."""
    unit: int | None
    """Place of the unit among the units; None where none is relevant enough."""
    score: float
    """Relevance of the unit; of none, the threshold."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A sentence that cites another unit than the one it was matched with."""

    sentence: int
    cited: tuple[int, ...]
    matched: int
    score: float
    """Relevance of the matched unit."""


def match_references(
    sentences: Sequence[str],
    units: Sequence[str],
    scorer: RelevanceScorer,
    *,
    null: float = NULL,
) -> tuple[Segment, ...]:
    """The segments of an answer, each with its unit.

    Args:
        sentences: The sentences of the answer, in order.
        units: Texts of the units that it may come from, best first.
        scorer: Says how relevant a unit is: `Calibrated`, or a cross-encoder as it is.
        null: Relevance below which a segment has no unit.
    """
    if not sentences:
        return ()
    alone = _scored(
        scorer,
        [
            ((place, place + 1), place_of_unit)
            for place in range(len(sentences))
            for place_of_unit in range(len(units))
        ],
        sentences,
        units,
    )
    kept = [
        sorted(range(len(units)), key=lambda unit: (-alone[(place, place + 1), unit], unit))[
            :UNITS_A_SENTENCE
        ]
        for place in range(len(sentences))
    ]
    wanted = [
        ((start, end), unit)
        for start in range(len(sentences))
        for end in range(start + 2, min(start + LONGEST, len(sentences)) + 1)
        for unit in sorted({unit for sentence in kept[start:end] for unit in sentence})
    ]
    return best_segments(
        len(sentences),
        alone | _scored(scorer, wanted, sentences, units),
        null=null,
        cut=CUT,
        longest=LONGEST,
    )


def _scored(
    scorer: RelevanceScorer,
    wanted: Sequence[tuple[Bounds, int]],
    sentences: Sequence[str],
    units: Sequence[str],
) -> dict[tuple[Bounds, int], float]:
    """Relevance of units to segments; equal pairs are scored once, all in one batch."""
    pairs = [(" ".join(sentences[slice(*bounds)]), units[unit]) for bounds, unit in wanted]
    distinct = list(dict.fromkeys(pairs))
    if not distinct:
        return {}
    scores = dict(zip(distinct, scorer.score(distinct).tolist(), strict=True))
    return {key: scores[pair] for key, pair in zip(wanted, pairs, strict=True)}


def best_segments(
    count: int,
    scores: Mapping[tuple[Bounds, int], float],
    *,
    null: float,
    cut: float,
    longest: int,
) -> tuple[Segment, ...]:
    """The best cut of `count` sentences, in O(count * longest) after scoring.

    Args:
        count: Number of sentences.
        scores: Relevance by segment and unit; a pair that is not there is not considered.
        null: See `match_references`.
        cut: See there.
        longest: See there.
    """
    chosen = _choices(scores, null=null)
    best: list[tuple[float, int, tuple[Segment, ...]]] = [(0.0, 0, ())]
    for end in range(1, count + 1):
        found = []
        for start in range(max(0, end - longest), end):
            segment = Segment(start, end, *chosen((start, end)))
            value, number, before = best[start]
            value += (end - start) * segment.score - cut
            found.append((value, number + 1, (*before, segment)))
        best.append(min(found, key=_order))
    return best[count][2]


def _order(found: tuple[float, int, tuple[Segment, ...]]) -> tuple[float, int, list[float]]:
    """Smaller is better: the value, then fewer segments, then units that come first."""
    value, number, segments = found
    units = [float("inf") if each.unit is None else each.unit for each in segments]
    return -round(value, _DIGITS), number, units


def _choices(
    scores: Mapping[tuple[Bounds, int], float], *, null: float
) -> Callable[[Bounds], tuple[int | None, float]]:
    """For a segment its unit and relevance."""
    by_bounds: dict[Bounds, list[tuple[float, int]]] = {}
    for (bounds, unit), score in scores.items():
        by_bounds.setdefault(bounds, []).append((-score, unit))

    def chosen(bounds: Bounds) -> tuple[int | None, float]:
        score, unit = min(by_bounds.get(bounds, []), default=(0.0, -1))
        return (unit, -score) if unit >= 0 and -score >= null else (None, null)

    return chosen


def disagreements(
    segments: Iterable[Segment],
    cited: Sequence[Sequence[int]],
    *,
    sentences: Sequence[str],
    units: Sequence[str],
    scorer: RelevanceScorer,
) -> tuple[Disagreement, ...]:
    """The sentences that cite units, and none of those that they were matched with.

    Args:
        segments: What `match_references` found.
        cited: For each sentence the places of the units that it cites.
        sentences: Of the answer.
        units: Texts of the units.
        scorer: What found the segments.
    """
    found = []
    for segment in segments:
        for sentence in range(segment.start, segment.end):
            own = [unit for unit in cited[sentence] if 0 <= unit < len(units)]
            if segment.unit is None or not own or segment.unit in own:
                continue
            compared = [(sentences[sentence], units[unit]) for unit in [segment.unit, *own]]
            matched, *others = scorer.score(compared).tolist()
            if matched > max(others):
                found.append(Disagreement(sentence, tuple(own), segment.unit, matched))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class PossibleSource:
    """What a sentence may come from."""

    name: str
    """The source as the text has it, or where the unit is from."""
    text: str
    unit_id: str | None = None


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
        """The places of its sources: what it cites, else what it was given."""
        return self.cited or (() if self.given is None else (self.given,))


def give_references(
    sentences: Sequence[tuple[str, Sequence[int]]],
    units: Sequence[str],
    scorer: RelevanceScorer,
) -> list[SourcedSentence]:
    """A source for each sentence that cites none, and a better one where a citation is wrong.

    Args:
        sentences: Of the answer, in order: its text, and the places of the units that it cites.
        units: Texts of the units that it may come from, best first.
        scorer: Says how relevant a unit is.
    """
    texts = [text for text, _ in sentences]
    cited = [tuple(places) for _, places in sentences]
    segments = match_references(texts, units, scorer)
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


@dataclass(frozen=True, slots=True)
class SourcedText:
    """A text whose sentences were matched with sources."""

    sentences: Sequence[SourcedSentence]
    sources: Sequence[PossibleSource]
    """The sources that sentences may come from; they name them by their places here."""


def sourced(
    text: str,
    scorer: RelevanceScorer,
    *,
    search: Callable[[str], Sequence[Hit]],
    from_index: bool,
) -> SourcedText:
    """Match the sentences of `text` with the sources that it lists, or with units.

    Args:
        text: Markdown or text, with [1] and a list of sources where it has them.
        scorer: Says how relevant a source is.
        search: Finds units for a sentence; each is a possible source once.
        from_index: Also search where the text lists sources; it is searched if it lists none.

    Raises:
        CitedTextError: Its citations cannot be told from its words.
    """
    listed: list[str] = []

    def remembered(source: str) -> str:
        listed.append(source)
        return source

    sentences = read_cited(text, find=remembered)
    sources = [PossibleSource(each, each) for each in dict.fromkeys(listed)]
    if from_index or not sources:
        hits = [hit for each in sentences for hit in search(each.text)]
        distinct = {hit.unit_id: hit for hit in hits}
        sources += [
            PossibleSource(_place_of(hit), hit.text, hit.unit_id) for hit in distinct.values()
        ]
    places = {source.text: place for place, source in reversed([*enumerate(sources)])}
    cited = [
        [places[each.text] for each in sentence.sources if isinstance(each, CitedText)]
        for sentence in sentences
    ]
    found = give_references(
        [(sentence.text, own) for sentence, own in zip(sentences, cited, strict=True)],
        [source.text for source in sources],
        scorer,
    )
    return SourcedText(found, sources)


def open_scorer(store: Store, config: Config) -> RelevanceScorer:
    """The reranker that says how relevant a source is, its scores moved to probabilities.

    Raises:
        RerankerError: It cannot be loaded.
    """
    from rag_assets.models.rerankers import load_reranker

    settings = config.retrieval.rerankers[RERANKER]
    return Calibrated(load_reranker(settings, name=RERANKER, home=store.encoders))


def _place_of(hit: Hit) -> str:
    """The place of a unit: a document with its page, or a row with its key."""
    if hit.domain == "table":
        return f"{hit.source}/{hit.table}, row {hit.row_key}"
    return f"{hit.uri}#page={hit.pages[0]}" if hit.pages else hit.uri
