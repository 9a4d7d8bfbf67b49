"""Hyphens at the ends of lines: of divided words, of compounds, of words that are shortened.

Parsers write `LINE_END` in their place, as PDFium does. Which of them goes is seen by the whole
document: a word is joined where the document has it in one piece, or the list of its language; all
others keep their hyphen, those before a conjunction (`in- och utlopp`) with a blank.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
_DIVIDED = re.compile(rf"\w*{LINE_END}\w*")
_WORD = re.compile(r"[^\W_]+(?:[-\u2010\u2011][^\W_]+)*")


def with_line_ends(elements: Sequence[Element]) -> list[Element]:
    """The elements of a document, each `LINE_END` resolved."""
    if not any(LINE_END in element.text for element in elements):
        return list(elements)
    ends = _LineEnds([element.text for element in elements])
    return [
        element._replace(
            text=ends.resolved(element.text),
            cells=element.cells and tuple(tuple(map(ends.resolved, row)) for row in element.cells),
        )
        for element in elements
    ]


class _LineEnds:
    """What a document says of its divided words."""

    def __init__(self, texts: Sequence[str]) -> None:
        found = Counter(filter(None, _languages(texts)))
        self._language = found.most_common(1)[0][0] if found else None
        whole = {word for text in texts for word in _WORD.findall(_DIVIDED.sub(" ", text))}
        plain = {re.sub("[\u2010\u2011]", "-", word).casefold() for word in whole}
        self._words = plain.union(*(word.split("-") for word in plain))

    def resolved(self, text: str) -> str:
        """`text` with what stands at the ends of its lines."""
        return _HALVES.sub(self._joined, text) if LINE_END in text else text

    def _joined(self, match: re.Match[str]) -> str:
        left, right = match.groups()
        start, end = match.span()
        before, after = match.string[max(0, start - NEAR) : end], match.string[start : end + NEAR]
        return f"{left}{self._sign(left, right, (before, after))}{right}"

    def _sign(self, left: str, right: str, near: Sequence[str]) -> str:
        """What stands between two halves: nothing, a hyphen, or a hyphen and a blank."""
        if not (left and right):
            return "-"
        joining = _words()["conjunctions"].get(right.casefold(), ())
        joined = f"{left}{right}"
        is_one_case = joined.isupper() or (right.islower() and not left[-1].isupper())
        if not joining and is_one_case and joined.casefold() in self._words:
            return ""
        languages = {*filter(None, (*_languages(near), self._language))}
        if joining and (not languages or languages.intersection(joining)):
            return "- "
        is_hyphened = f"{left}-{right}".casefold() in self._words
        if is_one_case and not is_hyphened and self._is_word(joined, languages):
            return ""
        return "- " if joining else "-"

    def _is_word(self, word: str, languages: Iterable[str]) -> bool:
        return word.casefold() in self._words or any(
            _is_listed(word, language) or _is_compound(word.lower(), language)
            for language in languages
        )


def _languages(texts: Sequence[str]) -> list[str | None]:
    """The language of each text, where its frequent words tell."""
    plain = [text.replace(LINE_END, "- ") for text in texts]
    return language_of_each(pa.array(plain, pa.string())).to_pylist()


def _is_listed(word: str, language: str) -> bool:
    return any(is_known(each, languages=(language,)) for each in {word, word.lower()})


def _is_compound(word: str, language: str) -> bool:
    """Whether two words of the list make `word`, in a language that writes them as one."""
    links = _words()["compounds"].get(language, ())
    return any(
        word[:size].endswith(link)
        and size - len(link) >= SHORTEST_PART
        and _is_listed(word[size:], language)
        and _is_listed(word[: size - len(link)], language)
        for size in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1)
        for link in links
    )


@cache
def _words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Languages by conjunction, and what joins the parts of a compound by language."""
    file = resources.files(__package__ or "").joinpath("line_ends.toml")
    found = tomllib.loads(file.read_text("utf-8"))
    listed = {language: words.split() for language, words in found["conjunctions"].items()}
    every = {word for words in listed.values() for word in words}
    return {
        "conjunctions": {
            word: [language for language, words in listed.items() if word in words]
            for word in every
        },
        "compounds": {
            language: [link.replace("-", "") for link in links.split()]
            for language, links in found["compounds"].items()
        },
    }
