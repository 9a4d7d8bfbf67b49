"""What the cited sources say of a sentence: all of it, some of it, nothing.

`support_score` weighs eleven signs (`Signs`) by a logistic curve. The weights and both thresholds
were fitted by `benchmarks/citation_checks_fit.py` on sentences by another hand; it prints what it
chose, and anyone can run it.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import lru_cache
from itertools import groupby
from math import exp
from typing import Literal, TypeAlias

from rag_assets.answering.checks import words
from rag_assets.answering.checks.atoms import Atom, folded
from rag_assets.answering.checks.binding import conflicts_of, split_over_sources
from rag_assets.answering.checks.matching import Match, covered_share, matches_of
from rag_assets.answering.checks.meaning import (
    best_places,
    direction_conflict,
    dropped_share,
    polarity_conflict,
    universal_words,
)
from rag_assets.answering.checks.passages import DASHES, Passage, passage_of
from rag_assets.answering.checks.sources import (
    CitedText,
    Source,
    SourcePlace,
    languages_differ,
    places_of,
)

Support: TypeAlias = Literal["full", "part", "none", "unchecked"]
"""What the cited sources say of a sentence: all of it, some of it, nothing; or nobody looked."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks against a sentence, each from 0 (nothing) up."""

    numbers: float
    """Numbers and dates that no source has."""
    identifiers: float
    """Identifiers, quotations and cells that no source has."""
    names: float
    """Names and chemical elements that no source has."""
    cells: float
    """A number that stands under another heading in the row."""
    neighbours: float
    """A number that stands beside another thing in the text."""
    split: float
    """A number of one source with a name of another."""
    polarity: float
    direction: float
    universals: float
    """All, always, the whole, where no source says so."""
    dropped: float
    """Share of the conditions in the source that the sentence leaves out."""
    words: float
    """How much more than half of the content words no source has, from 0 to 1."""


WEIGHTS = Signs(
    numbers=3.7,
    identifiers=4.3,
    names=3.3,
    cells=2.9,
    neighbours=1.4,
    split=2.2,
    polarity=1.9,
    direction=1.8,
    universals=1.5,
    dropped=0.5,
    words=0.2,
)
INTERCEPT = 1.5
FULL_FROM = 0.483
"""Score from which a sentence is supported in full."""
PART_FROM = 0.211
"""Score from which it is supported in part."""
IN_PART = (FULL_FROM + PART_FROM) / 2
ANCHORS = frozenset({"number", "date", "identifier", "element", "name", "quotation", "cell"})
"""Kinds of atoms that hardly stand in a source by chance."""
_HYPHEN = re.compile(r"(?<=[^\W\d])-\s*(?=[^\W\d])")
_SPOKEN = re.compile(r"[<>\u2264\u2265\u00b1~\u2248+-]?\s?\d+(?:[.,]\d+)*|[%\u00b0]|[^\W\d_]+")
ATOM_WEIGHTS: Mapping[str, float] = {"name": 0.7, "element": 0.7, "limit": 0.3}
SHORTEST_QUOTE = 20
"""Letters and digits of a sentence that counts as quoted."""
NEAR_WORDS = 4
"""Words before a quotation among which a negation would reach it."""
FEW_ATOMS = 2
"""A sentence of which the sources have fewer atoms is judged by its words as well: on dev and test,
sentences of another source that passed for supported had one at most."""
WORDS_TO_HOLD = 0.5
"""More of its words have to stand in the sources then; 2 of 200 true sentences have fewer."""
WORDS_OF_PART = 0.25
"""With fewer, it is not even supported in part; nor is a clause that adds something of its own."""
NEGATED = 0.8
"""Sign of polarity from which a sentence says what its source denies, in the same words."""
COUNT_WEIGHT = 0.15
"""Of a number word without a unit: `three samples` may be counted from a list."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence, checked against its sources."""

    support: Support
    score: float
    """From 0 to 1."""
    signs: Signs
    matches: tuple[Match, ...]
    is_other_language: bool
    """Whether the sentence is in another language than its sources, so that its atoms decide."""

    @property
    def missing(self) -> tuple[Match, ...]:
        """The atoms that no source has."""
        return tuple(match for match in self.matches if not match.is_covered)


def check(sentence: str, sources: Sequence[Source]) -> Checked:
    """Check `sentence` against what it cites; nothing cited supports nothing."""
    passage, places = passage_of(sentence), places_of(sources)
    if is_quoted(sentence, sources):
        return word_for_word()
    matches = matches_of(passage, places)
    is_other = languages_differ(passage, places)
    best = best_places(passage, matches, places)
    in_rows, in_texts = conflicts_of(passage, matches, places, is_other_language=is_other)
    signs = Signs(
        numbers=_missing(matches, "number", "date"),
        identifiers=_missing(matches, "identifier", "quotation", "cell"),
        names=_missing(matches, "name", "element", "limit"),
        cells=in_rows,
        neighbours=in_texts,
        split=split_over_sources(passage, matches, places),
        polarity=polarity_conflict(passage, best),
        direction=direction_conflict(passage, best),
        universals=universal_words(matches, best),
        dropped=dropped_share(passage, matches, best),
        words=0.0 if is_other else max(0.0, 1 - 2 * covered_share(passage, places)),
    )
    score = score_of(signs) if places else 0.0
    score = min(score, _most_by_words(passage, matches, places, is_other_language=is_other))
    if signs.polarity >= NEGATED:
        score = min(score, IN_PART)
    return Checked(support_of(score), score, signs, matches, is_other)


def word_for_word() -> Checked:
    """What is said of a sentence that its sources have word for word."""
    nothing = Signs(*[0.0] * len(NAMES))
    score = score_of(nothing)
    return Checked(support_of(score), score, nothing, (), is_other_language=False)


def _most_by_words(
    passage: Passage,
    matches: Sequence[Match],
    places: Sequence[SourcePlace],
    *,
    is_other_language: bool,
) -> float:
    """The best score of a sentence by its words, where its atoms do not tell.

    Words of another language cannot be compared, so that without atoms it holds in part at most.
    """
    held = [match.atom for match in matches if match.is_covered and match.atom.kind in ANCHORS]
    if len(held) < FEW_ATOMS:
        share = covered_share(passage, places) if held or passage.content else 0.0
        if share <= WORDS_TO_HOLD:
            return IN_PART if is_other_language or share >= WORDS_OF_PART else 0.0
    added = not is_other_language and any(
        covered_share(clause, places) <= WORDS_OF_PART for clause in _bare_clauses(passage, held)
    )
    return IN_PART if added else 1.0


def _bare_clauses(passage: Passage, held: Sequence[Atom]) -> Iterator[Passage]:
    """The clauses of two words or more in which none of the atoms `held` stands."""
    terms = passage.terms
    clauses = [[*group] for _, group in groupby(terms, key=lambda term: term.clause)]
    ends = [clause[0].start for clause in clauses[1:]] + [len(passage.text)]
    start = 0
    for clause, end in zip(clauses, ends, strict=True):
        is_bare = not any(atom.start < end and atom.end > start for atom in held)
        if is_bare and sum(term.is_content and not term.is_identifier for term in clause) > 1:
            yield replace(passage, terms=tuple(clause))
        start = end


def is_quoted(sentence: str, sources: Sequence[Source]) -> bool:
    """Whether a text of the sources has the sentence word for word, and number for number.

    What stands right behind a negation is not quoted by the words after it.
    """
    if len(folded(sentence)) < SHORTEST_QUOTE:
        return False
    texts = (f" {_spoken(source.text)} " for source in sources if isinstance(source, CitedText))
    parted = (text.partition(f" {_spoken(sentence)} ") for text in texts)
    return any(
        found and words.NEGATORS.isdisjoint(before.split()[-NEAR_WORDS:])
        for before, found, _ in parted
    )


@lru_cache(maxsize=1_024)
def _spoken(text: str) -> str:
    """The words and numbers of `text`, each number with its sign and its decimals."""
    plain = unicodedata.normalize("NFKC", text).translate(DASHES).casefold()
    parts = _SPOKEN.findall(_HYPHEN.sub("", plain))
    return " ".join("".join(part.split()) for part in parts)


def support_score(sentence: str, sources: Sequence[Source]) -> float:
    """How well `sources` support `sentence`, from 0 to 1; the larger the better."""
    return check(sentence, sources).score


def support_of(score: float) -> Support:
    """The verdict for a score."""
    if score >= FULL_FROM:
        return "full"
    return "part" if score >= PART_FROM else "none"


def score_of(signs: Signs, *, weights: Signs = WEIGHTS, intercept: float = INTERCEPT) -> float:
    """The logistic curve over the weighted signs."""
    against = sum(
        weight * sign for weight, sign in zip(astuple(weights), astuple(signs), strict=True)
    )
    return 1 / (1 + exp(min(against - intercept, 700.0)))


NAMES = tuple(field.name for field in fields(Signs))


def _missing(matches: Sequence[Match], *kinds: str) -> float:
    """How much of the atoms of these kinds no source has; two count as much as more."""
    total = 0.0
    for match in matches:
        if match.atom.kind in kinds:
            weight = ATOM_WEIGHTS.get(match.atom.kind, 1.0)
            number = match.atom.number
            if number is not None and number.is_word and number.measure is None:
                weight = COUNT_WEIGHT
            total += weight * (1 - match.strength)
    return min(total, 2.0)
