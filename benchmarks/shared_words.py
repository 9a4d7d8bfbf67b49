"""Which content words two texts have in common, judged strictly: inflected forms count as one word.

Two words are the same if they, or their dictionary forms, begin with the same five letters; shorter
ones must be equal. Words that carry grammar only do not count.
"""

import re
from functools import cache

PREFIX = 5
WORD = re.compile(r"[^\W_]{2,}")
MORE_STOP_WORDS = {
    "en": "also could every get got many may might much must one shall without would",
    "sv": "bara blivit borde få får fick finns kommer måste ska skall också per två utan",
    "de": "bereits darf dürfen gibt hätte müssen nur sollen wurde wurden zwei",
}
"""Beyond those of `bm25s`."""


def shared_words(question: str, passage: str, *, language: str) -> list[str]:
    """The content words of `question` that are in `passage`, sorted."""
    found = {stem for word in _content_words(passage, language) for stem in _stems(word, language)}
    words = _content_words(question, language)
    return sorted(word for word in words if not found.isdisjoint(_stems(word, language)))


def _content_words(text: str, language: str) -> set[str]:
    return {word.casefold() for word in WORD.findall(text)} - _stop_words(language)


@cache
def _stems(word: str, language: str) -> frozenset[str]:
    from simplemma import lemmatize

    lemma = lemmatize(word, lang=language).casefold()
    return frozenset({word[:PREFIX], lemma[:PREFIX]})


@cache
def _stop_words(language: str) -> frozenset[str]:
    from bm25s import stopwords

    listed = {
        "en": stopwords.STOPWORDS_EN_PLUS,
        "sv": stopwords.STOPWORDS_SWEDISH,
        "de": stopwords.STOPWORDS_GERMAN,
    }
    return frozenset([*listed[language], *MORE_STOP_WORDS[language].split()])
