"""Hyphens at the ends of lines: of divided words, of compounds, of words that are shortened.

Parsers write `LINE_END` in their place, as PDFium does. Which of them goes is seen by the whole
document: a word is joined where the document has it in one piece, or the list of its language; all
others keep their hyphen, those before a conjunction (`in- och utlopp`) with a blank.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from importlib import resources

import pyarrow as pa

from rag_assets.documents.elements.element import LINE_END, Element
from rag_assets.quality.languages import language_of_each
from rag_assets.terms.lemmas import is_known

NEAR = 120
"""The characters on either side of a line's end that tell its language: a text may have several."""
SHORTEST_PART = 3
"""Letters of a part of a compound."""

_HALVES = re.compile(rf"([^\W\d_]*){LINE_END}\s*([^\W\d_]*)")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


def with_line_ends(elements: Sequence[Element]) -> list[Element]:
    """The elements of a document, each `LINE_END` resolved."""
    texts = [element.text for element in elements]
    if not any(LINE_END in text for text in texts):
        return list(elements)
    text = re.sub(rf"\w*{LINE_END}\w*", " ", " ".join(texts).replace("\u2011", "-"))
    words = {*_WORD.findall(text.casefold())}
    words = words.union(*(word.split("-") for word in words))
    main = Counter(filter(None, _languages(texts))).most_common(1)

    def resolved(text: str) -> str:
        return _HALVES.sub(lambda halves: _read(halves, words, {each for each, _ in main}), text)

    def whole(element: Element) -> Element:
        cells = element.cells and tuple(tuple(map(resolved, row)) for row in element.cells)
        return element._replace(text=resolved(element.text), cells=cells)

    return [*map(whole, elements)]


def _read(halves: re.Match[str], words: AbstractSet[str], main: AbstractSet[str]) -> str:
    """Two halves joined, or with their hyphen, by the words and the main language of a document."""
    left, right = halves.groups()
    joined, (start, end) = left + right, halves.span()
    lists = _word_lists()["conjunctions"]
    joining = {language for language, listed in lists.items() if right.casefold() in listed}
    is_one_case = joined.isupper() or (right.islower() and not left[-1:].isupper())
    if not (left and right):
        return f"{left}-{right}"
    if is_one_case and not joining and joined.casefold() in words:
        return joined
    near = halves.string[max(0, start - NEAR) : end], halves.string[start : end + NEAR]
    languages = {*filter(None, _languages(near)), *main}
    if joining and (not languages or languages & joining):
        return f"{left}- {right}"
    is_word = joined.casefold() in words or (
        f"{left}-{right}".casefold() not in words
        and any(_is_word(joined.lower(), language) for language in languages)
    )
    if is_one_case and is_word:
        return joined
    return f"{left}-{' ' if joining else ''}{right}"


def _languages(texts: Sequence[str]) -> list[str | None]:
    """The language of each text, where its frequent words tell."""
    plain = [text.replace(LINE_END, "- ") for text in texts]
    return language_of_each(pa.array(plain, pa.string())).to_pylist()


def _is_word(word: str, language: str) -> bool:
    """Whether the list of a language has `word`, or two words that make it where one writes so."""
    return is_known(word, languages=(language,)) or any(
        word[:size].endswith(link)
        and is_known(word[size:], languages=(language,))
        and is_known(word[: size - len(link)], languages=(language,))
        for link in _word_lists()["compounds"].get(language, ())
        for size in range(SHORTEST_PART + len(link), len(word) - SHORTEST_PART + 1)
    )


@cache
def _word_lists() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Conjunctions, and what joins the parts of a compound, by language."""
    file = resources.files(__package__ or "").joinpath("line_ends.toml")
    return tomllib.loads(file.read_text("utf-8"))
