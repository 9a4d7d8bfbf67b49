"""Names of a question, and which of them stand in what was found.

A name is a code (`316L`, `fi-7160`), or words with capitals, with the numbers that follow them
(`RTX 5090`). A number of three digits and more that is no quantity and no year names something too
(`6082`). All parts of a name must stand in one unit; letters and digits are compared, whatever
stands between them, and a word also by its ending or by the first letters of neighbouring words.
"""

import calendar
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import RowCells
from rag_assets.terms.compared_words import ENGLISH, GERMAN, SWEDISH
from rag_assets.terms.coverage import begins_sentence
from rag_assets.terms.formulas import formula
from rag_assets.terms.numbers import numbers_of
from rag_assets.terms.spelling import plainly_spelled
from rag_assets.terms.text_units import PATTERN
from rag_assets.terms.words import JOINING

NEAREST = 3
"""Names that are told instead of one that is not there."""
LIKENESS = 0.6
"""A name is told for another one from this likeness on (`difflib`)."""
SHORTEST_STEM = 4
"""Two forms of a word share at least so many letters."""
LONGEST_ENDING = 2
LONG_CODE = 5
"""A code of so many letters and digits may be parted otherwise: `SrCo 1-x Nb x O 3`."""
SHORTEST_NUMBER = 3
"""The fewest digits of a number that names something."""
MOST_CAPITALS = 0.5
"""Capitals tell nothing in a text with a larger share of words that have them."""

_TOKEN = re.compile(r"[^\W_]+(?:[-./:+'\u2019][^\W_]+)*")
_PART = re.compile(r"[^\W\d_]+|\d+")
_PLAIN_END = re.compile(r"(?:-[^\W\d_A-Z]{3,})+$")
"""`EPDM-gummi`: what kind of thing the name is of."""
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_NO_NAME = re.compile(r"\d+(?:st|nd|rd|th|s|:[ae])|\d+-[^\W\d_A-Z]{2,}|\d+[xX]\d+(?:[xX]\d+)?")
"""`2nd`, `1990s`, `3-phase`, `60x40`."""
_UNIT = re.compile(PATTERN)
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATES = frozenset(filter(None, (*calendar.month_name, *calendar.day_name, *calendar.month_abbr)))


@dataclass(frozen=True, slots=True)
class Name:
    """A name of a question."""

    text: str
    """The name as the question has it."""
    words: tuple[str, ...]

    @property
    def is_code(self) -> bool:
        """Whether it has a digit: there is one way to write it."""
        return any(map(str.isdigit, self.text))


class HeldNames:
    """What a text names, to be asked for the names of a question."""

    def __init__(self, text: str) -> None:
        """Read `text`."""
        self._parts = [part.casefold() for part in _PART.findall(plainly_spelled(text))]
        self._joined = f" {' '.join(self._parts)} "
        self._squashed = "".join(self._parts)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(self._parts)

    @cached_property
    def _initials(self) -> str:
        return "".join(part[0] for part in self._parts)

    def has(self, name: Name) -> bool:
        """Whether each word of `name` is there."""
        return all(map(self._has_word, name.words))

    def _has_word(self, word: str) -> bool:
        parts = [part.casefold() for part in _PART.findall(word)]
        if f" {' '.join(parts)} " in self._joined:
            return True
        if any(map(str.isdigit, parts)):
            return len(parts) > 1 and self._has_squashed("".join(parts))
        [*_, last] = parts
        if word.isupper() and len(parts) == 1:
            return last in self._initials
        return all(any(_are_forms(part, each) for each in self._words) for part in parts)

    def _has_squashed(self, code: str) -> bool:
        """Whether a code stands there, whatever parts it, and no digit more at its ends."""
        if len(code) < LONG_CODE:
            return False
        before = r"(?<!\d)" if code[0].isdigit() else ""
        after = r"(?!\d)" if code[-1].isdigit() else ""
        return re.search(f"{before}{re.escape(code)}{after}", self._squashed) is not None


def names_of(question: str) -> tuple[Name, ...]:
    """The names of `question`, in their order, each once."""
    question = plainly_spelled(question)
    quantities = [
        (number.start, number.end)
        for number in numbers_of(question)
        if number.comparator not in ("=", "~") or (number.measure and " " in number.text)
    ]
    tokens = [
        match
        for match in _TOKEN.finditer(question)
        if not any(start < match.end() and match.start() < end for start, end in quantities)
    ]
    found: list[list[re.Match[str]]] = []
    has_capitals, is_german = _capitals_tell(tokens), _is_german(tokens)
    for before, token in zip([None, *tokens], tokens, strict=False):
        follows = before is not None and question[before.end() : token.start()] == " "
        if _is_named(token, question, has_capitals=has_capitals, is_german=is_german):
            if follows and found and found[-1][-1] is before:
                found[-1].append(token)
            else:
                found.append([token])
        elif token[0].isdigit() and follows and found and found[-1][-1] is before:
            found[-1].append(token)
        elif _is_number_that_names(token[0], before[0] if before else ""):
            found.append([token])
    names = [
        Name(" ".join(each), each)
        for group in found
        if (each := tuple(_plain(match[0]) for match in group))
    ]
    return tuple(dict.fromkeys(names))


def missing_of(
    names: Sequence[Name], hits: Iterable[Hit], rows: Mapping[str, RowCells] | None = None
) -> tuple[Name, ...]:
    """The names that no unit holds whole, its title and address included.

    A chemical formula may be a cell of a row that is written in another way.

    Args:
        names: The names of a question.
        hits: The units.
        rows: The cells of those that are rows, by their unit.
    """
    held = [HeldNames(f"{hit.title} {hit.section} {hit.uri} {hit.text}") for hit in hits]
    formulas = {formula(cell.value) for row in (rows or {}).values() for cell in row.cells}
    return tuple(
        name
        for name in names
        if not any(text.has(name) for text in held)
        and (formula(name.text) is None or formula(name.text) not in formulas)
    )


def nearest_names(name: Name, hits: Iterable[Hit]) -> tuple[str, ...]:
    """Names in the texts of `hits` that are spelled most like `name`, the nearest first."""
    known = {
        each.text.casefold(): each.text
        for hit in hits
        for line in f"{hit.title}\n{hit.text}".splitlines()
        for each in names_of(line)
    }
    near = difflib.get_close_matches(name.text.casefold(), known, n=NEAREST, cutoff=LIKENESS)
    return tuple(known[each] for each in near)


def _capitals_tell(tokens: Sequence[re.Match[str]]) -> bool:
    """Whether few enough words have capitals for these to mark names."""
    words = [token[0] for token in tokens[1:] if token[0].isalpha() and len(token[0]) > 1]
    capitals = sum(word[0].isupper() for word in words)
    return capitals <= max(MOST_CAPITALS * len(words), 2)


def _is_german(tokens: Sequence[re.Match[str]]) -> bool:
    """Whether it has more small words of German, in which every noun has a capital, than others."""
    words = [token[0].casefold() for token in tokens]
    return sum(each in GERMAN for each in words) > sum(each in ENGLISH | SWEDISH for each in words)


def _is_named(token: re.Match[str], question: str, *, has_capitals: bool, is_german: bool) -> bool:
    word = token[0]
    if word.casefold() in JOINING or _NO_NAME.fullmatch(word) or word.capitalize() in _DATES:
        return False
    has_digit, has_letter = any(map(str.isdigit, word)), any(map(str.isalpha, word))
    if has_digit and has_letter:
        return True
    capitals = sum(map(str.isupper, word))
    if not has_letter or not capitals or len(word) < 2 or not has_capitals:
        return False
    if capitals > 1:
        return _UNIT.fullmatch(word) is None
    return word[0].isupper() and not is_german and not begins_sentence(question[: token.start()])


def _is_number_that_names(word: str, before: str) -> bool:
    if not word.isdigit() or len(word) < SHORTEST_NUMBER or _YEAR.fullmatch(word):
        return False
    return len(word) > SHORTEST_NUMBER or (before != "" and before.casefold() not in JOINING)


def _plain(word: str) -> str:
    """A word of a name without what is no part of it."""
    return _PLAIN_END.sub("", _POSSESSIVE.sub("", word))


def _are_forms(one: str, other: str) -> bool:
    """Whether two words differ by an ending alone."""
    shorter, longer = sorted((one, other), key=len)
    is_near = len(longer) - len(shorter) <= LONGEST_ENDING
    return len(shorter) >= SHORTEST_STEM and is_near and longer.startswith(shorter)
