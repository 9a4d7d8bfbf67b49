"""Questions in German, with the words in English that say how a question is meant.

`Wie viele Module wiegen mehr als 20 kg?` becomes `how many Module wiegen more than 20 kg?`: what is
counted, compared and left out is then read by the rules for English, and all else is left to what
a model finds alike. The phrases stand in `de.toml`. Numbers are written with a point.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from rag_assets.table_lookup.words.word_lists import word_lists

LONGEST_PHRASE = 3
"""Words of a phrase, at most."""
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![\d.])")
_DECIMAL = re.compile(r"(?<=\d),(?=\d)")


def in_english(question: str) -> str:
    """`question`, which is in German, with English words for its phrases."""
    text = _DECIMAL.sub(".", _THOUSANDS.sub(lambda found: found[0].replace(".", ""), question))
    return "".join(_parts(text))


def _parts(text: str) -> Iterator[str]:
    """The words of the translation, and what stands between them."""
    tokens, end, place = [*_TOKEN.finditer(text)], 0, 0
    while place < len(tokens):
        yield text[end : tokens[place].start()]
        size, english = _phrase(text, tokens[place : place + LONGEST_PHRASE])
        yield english or tokens[place][0]
        end = tokens[place + size - 1].end()
        place += size
    yield text[end:]


def _phrase(text: str, tokens: list[re.Match[str]]) -> tuple[int, str]:
    """How many of `tokens` are a phrase, and its translation; one, and nothing, if none is."""
    for size in range(len(tokens), 0, -1):
        said = text[tokens[0].start() : tokens[size - 1].end()].casefold()
        if english := _english().get(said):
            return size, english
    return 1, ""


@cache
def _english() -> Mapping[str, str]:
    """For each German phrase its English."""
    listed = word_lists("de").by_key["english"].items()
    return {german.casefold(): english for english, every in listed for german in every}
