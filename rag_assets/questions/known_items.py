"""Known items: a sentence cut from a text as the query that must find that text again.

Whoever asks it knows what must be found, so that a ranking can be scored without a judgement. It is
an easy test, which only shows that something is badly wrong. Azzopardi, de Rijke and Balog 2007,
Building Simulated Queries for Known-Item Topics.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable

WORDS = re.compile(r"\w+")


FEWEST_WORDS, MOST_WORDS = 5, 40
SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")


def sentences_to_ask(text: str) -> list[str]:
    """The sentences of `text`, as they stand there, that are neither short nor long."""
    parts = [part.strip() for part in SENTENCE_ENDS.split(text)]
    return [part for part in parts if FEWEST_WORDS <= len(WORDS.findall(part)) <= MOST_WORDS]


class Rarity:
    """How rare the words of a text are among the texts of a sample."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Count in how many of `texts` each word stands."""
        counted = [_words(text) for text in texts]
        self._texts = len(counted)
        self._with: Counter[str] = Counter(word for words in counted for word in words)

    def of(self, text: str) -> float:
        """Mean inverse document frequency of its distinct words."""
        words = _words(text)
        rare = sum(math.log((1 + self._texts) / (1 + self._with[word])) for word in words)
        return rare / max(len(words), 1)


def _words(text: str) -> set[str]:
    return {word.lower() for word in WORDS.findall(text)}
