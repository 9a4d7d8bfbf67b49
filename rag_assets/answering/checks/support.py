"""What of a sentence was compared with the sources that it cites, and what they do not have.

Only three comparisons say that a source supports a sentence: it stands there word for word, it is a
cell with its heading, or what it computes was computed again. That numbers and names agree does not
say so: who did what under which condition is for a judge (see `judging`).
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rag_assets.answering.checks.analysed_passages import DASHES, Passage, passage_of, sentences_of
from rag_assets.answering.checks.cells import foreign_values, wrong_headings
from rag_assets.answering.checks.matching import Match, covered_share, matches_of
from rag_assets.answering.checks.sources import SourcePlace, languages_differ, places_of
from rag_assets.citations.cited_sources import CitedText, Source
from rag_assets.citations.sentences import PROVEN, Compared

FEW_ATOMS = 2
"""Numbers and names that a source hardly has by chance: with fewer, words are looked at too."""
FEW_WORDS = 0.25
"""A sentence that shares fewer of its words with its sources is about something else."""
_HYPHEN = re.compile(r"(?<=[^\W\d])-\s*(?=[^\W\d])")
_SPOKEN = re.compile(r"[<>\u2264\u2265\u00b1~\u2248+-]?\s?\d+(?:[.,]\d+)*|[%\u00b0]|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence, compared with its sources."""

    compared: Compared
    """What was compared and agrees; nothing where something does not."""
    missing: tuple[Match, ...] = ()
    """The numbers, units, names, quotations and cells that no source has."""
    faults: tuple[str, ...] = ()
    """What else speaks against it, in words."""

    @property
    def agrees(self) -> bool:
        """Whether nothing that was compared speaks against it."""
        return not self.missing and not self.faults

    @property
    def is_proven(self) -> bool:
        """Whether the comparison alone says that the sources support it."""
        return self.compared in PROVEN


def check(sentence: str, sources: Sequence[Source]) -> Checked:
    """Compare `sentence` with what it cites."""
    if not sources:
        return Checked("nothing", faults=("it has no source",))
    if is_verbatim(sentence, sources):
        return Checked("verbatim")
    passage, places = passage_of(sentence), places_of(sources)
    matches = [
        each for each in matches_of(passage, places) if each.is_covered or not each.atom.is_counted
    ]
    missing = tuple(each for each in matches if not each.is_covered)
    faults = (*wrong_headings(passage, matches, places), *foreign_values(matches, places))
    if len(matches) - len(missing) < FEW_ATOMS and _is_foreign(passage, places):
        faults = (*faults, "its sources have hardly any of its words")
    compared: Compared = "numbers and names"
    if missing or faults or not matches:
        compared = "nothing"
    elif any(each.atom.kind == "cell" for each in matches):
        compared = "cell"
    return Checked(compared, missing, faults)


def _is_foreign(sentence: Passage, places: Sequence[SourcePlace]) -> bool:
    """Whether its sources are about something else, as far as words of one language tell."""
    return not languages_differ(sentence, places) and covered_share(sentence, places) < FEW_WORDS


def is_verbatim(sentence: str, sources: Sequence[Source]) -> bool:
    """Whether the sentence is all that is cited, word for word, or a whole sentence of a text.

    A part of a sentence is none: what stands before or behind it may limit or deny it.
    """
    said = _spoken(sentence)
    texts = [source.text for source in sources if isinstance(source, CitedText)]
    if not said:
        return False
    is_all = said == _spoken(" ".join(texts))
    return is_all or any(_has_sentences(said, _all_spoken(text)) for text in texts)


def _has_sentences(said: str, spoken: Sequence[str]) -> bool:
    """Whether neighbouring sentences of a text are `said` together."""
    for start in range(len(spoken)):
        joined = ""
        for each in spoken[start:]:
            joined = f"{joined} {each}".strip()
            if len(joined) >= len(said):
                break
        if joined == said:
            return True
    return False


@lru_cache(maxsize=1_024)
def _all_spoken(text: str) -> tuple[str, ...]:
    """The sentences of `text` as they are compared."""
    return tuple(filter(None, map(_spoken, sentences_of(text))))


def _spoken(text: str) -> str:
    """The words and numbers of `text`, each number with its sign and its decimals."""
    plain = unicodedata.normalize("NFKC", text).translate(DASHES).casefold()
    parts = _SPOKEN.findall(_HYPHEN.sub("", plain))
    return " ".join("".join(part.split()) for part in parts)
