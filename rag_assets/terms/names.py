"""When two spellings are one name: words, identifiers and formulas, each in one canonical form.

Two names are one only where their spellings differ in what carries no meaning: capitals, letters
that Unicode spells in two ways, punctuation, how the parts of an identifier are separated, the
order of the elements of a formula. What is nearly the same is another name.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from math import gcd
from typing import TypeAlias

from rag_assets.terms.formulas import formula, formula_of
from rag_assets.terms.spelling import UNSEEN

SHORTEST, MOST_WORDS = 3, 10
"""The fewest letters and digits of a name, and the most words: more is a sentence."""
LONGEST_IDENTIFIER = 40
"""The most characters of an identifier."""
SECONDS_A_TEXT = 5.0
"""What patterns of the user may take in one text."""

Find: TypeAlias = Callable[[str], Iterable["re.Match[str]"]]

_MARKS = "".join(c for c in map(chr, range(0x300, 0x1B00)) if unicodedata.category(c)[0] == "M")
_NO_WORD = re.compile(rf"(?:[^\w+#{_MARKS}]|_|#(?=\w))+")
_MINUS = re.compile(r"(?<![\w)\]])-(?=\d)")
_BRACKETS = re.compile(r"(?<!\S)[({][^(){}]*[)}](?!\w)|\[[^\[\]]*\](?!\w)")
_BETWEEN_NAMES = re.compile(r"\s*(?:[;|/•\n,]|\s(?:and|och|und|&|with|vs\.?|feat\.?)\s)\s*")
_RUN = re.compile(r"[^\W\d_]+|\d+")
_FORMULA = re.compile(
    r"(?<![\w.·-])(?<!\w[(\[])(?:[A-Z][a-z]?(?:\d+(?:\.\d+)?)?){2,}"
    r"(?![\w-]|\.\d|[)\]]\w|\+(?!\w)|\s?[·•∙⋅]\s?\d*H2O)"
)
_EDITION = re.compile(r":(?:19|20)\d\d$")
_UNSEEN = re.compile(f"[{UNSEEN}]")
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_BLANKS = "\u00a0\u2007\u2008\u2009\u200a\u202f\u3000"
_PLAIN = str.maketrans(_DASHES + _BLANKS + "₀₁₂₃₄₅₆₇₈₉", "-" * 7 + " " * 7 + "0123456789")
_PLAIN |= {0xFEE0 + code: code for code in range(0x21, 0x7F)}
"""Dashes, blanks, lowered digits and wide letters, each as the usual character."""


def name_of(text: str) -> str:
    """The canonical form of a name in words; empty where it is too short, too long or a number."""
    plain = unicodedata.normalize("NFKC", _plain(text)).casefold()
    name = _NO_WORD.sub(" ", _MINUS.sub(" minus ", plain)).strip()
    is_name = len(name) >= SHORTEST and any(map(str.isalpha, name))
    return name if is_name and name.count(" ") < MOST_WORDS else ""


def parts_of_cell(text: str) -> Iterator[str]:
    """What of a cell may be a name: all of it, all but what is in brackets, and each of a list."""
    plain = " ".join(_BRACKETS.sub(" ", text).split())
    parts = _BETWEEN_NAMES.split(plain)
    return iter(dict.fromkeys(part.strip() for part in (text, plain, *parts) if part.strip()))


def titles_in(text: str) -> list[str]:
    """A title, and what it is without a qualifier: `Mercury (planet)`, `Spokane, Washington`."""
    plain = " ".join(_BRACKETS.sub(" ", text).split())
    return [text, plain, plain.partition(", ")[0]]


def is_like_identifier(text: str) -> bool:
    """Whether all of a short text may be an identifier, however it is spelled: `S 355 J2`."""
    kinds = {run.isdigit() for run in _RUN.findall(text)}
    return len(kinds) == len({True, False}) and SHORTEST < len(text) <= LONGEST_IDENTIFIER


def identifier_of(text: str) -> str:
    """The canonical form of an identifier: its runs of letters and of digits, joined by hyphens.

    `NHS 3101`, `nhs-3101` and `NHS3101` are one; `AB 12-3` and `AB 1-23` are two. The year of an
    edition (`EN 10025-2:2019`) is left out.
    """
    plain = unicodedata.normalize("NFKC", _plain(text).strip())
    runs = _RUN.findall(_EDITION.sub("", plain).upper())
    return "-".join(runs)


def identifiers_in(text: str, *, patterns: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """The places of identifiers in `text`; `patterns` are those of the user, beside the shipped.

    Raises:
        ValueError: A pattern of the user takes longer than `SECONDS_A_TEXT`.
    """
    try:
        for start, end in _spans(_identifiers(tuple(patterns)), text):
            name = text[start:end]
            if len(_RUN.findall(name)) > 1 and sum(map(str.isalnum, name)) > SHORTEST:
                yield start, end
    except TimeoutError:
        raise ValueError(
            f"links.identifiers: {' or '.join(map(repr, patterns))} takes more than "
            f"{SECONDS_A_TEXT:g} s in one text ({text[:60]!r}): repeat no part that repeats itself"
        ) from None


def canonical_formula(text: str) -> str:
    """Elements in alphabetical order, each with its share of the atoms; empty for no formula.

    A formula that could be shortened, and does not count in per cent, is of a molecule: C2H4 and
    C3H6 are two.
    """
    packed = "".join(_plain(text).split())
    if packed in _data().words or formula_of(packed) is None:
        return ""
    amounts = formula(packed) or ()
    if any(amount > _data().most for _, amount in amounts):
        return ""
    total = sum(amount for _, amount in amounts)
    whole = [int(amount) for _, amount in amounts if amount % 1 == 0]
    if len(whole) == len(amounts) and gcd(*whole) > 1 and abs(total - 100) > 1:
        total = 1
    return " ".join(f"{symbol}{amount / total:.6g}" for symbol, amount in amounts)


def formulas_in(text: str) -> Iterator[tuple[int, int]]:
    """The places in `text` of what is spelled like a formula."""
    return _spans(_FORMULA.finditer, text)


def _plain(text: str) -> str:
    """`text` in the usual characters, without those that nobody sees."""
    return text if text.isascii() else _UNSEEN.sub("", text).translate(_PLAIN)


def _spans(find: Find, text: str) -> Iterator[tuple[int, int]]:
    """The places in `text` of what `find` finds in it as `_plain` writes it."""
    unseen = set() if text.isascii() else {match.start() for match in _UNSEEN.finditer(text)}
    places = [place for place in range(len(text)) if place not in unseen] if unseen else None
    for match in find(_plain(text)):
        start, end = match.span()
        yield (places[start], places[end - 1] + 1) if places else (start, end)


@dataclass(frozen=True, slots=True)
class _Data:
    """What `identifiers.toml` says."""

    patterns: Sequence[str]
    words: frozenset[str]
    most: float


@cache
def _data() -> _Data:
    found = tomllib.loads(
        resources.files(__package__ or "").joinpath("identifiers.toml").read_text("utf-8")
    )
    formulas = found["formulas"]
    return _Data([*found["patterns"].values()], frozenset(formulas["words"]), formulas["most"])


@cache
def _identifiers(patterns: tuple[str, ...]) -> Find:
    import regex

    own = [rf"(?:{pattern})(?!\w)" for pattern in patterns]
    shipped = rf"(?:{'|'.join(_data().patterns)})(?!\w|\s?-\s?\d{{1,2}}\b)"
    whole = rf"(?<![\w.-])(?:{'|'.join([*own, shipped])})"
    if not patterns:  # twice as fast
        return re.compile(whole).finditer
    return partial(regex.compile(whole, regex.VERSION1).finditer, timeout=SECONDS_A_TEXT)
