"""When two spellings are one name: words, identifiers and formulas, each in one canonical form.

Two names are one only where their spellings differ in what carries no meaning: capitals, letters
that Unicode spells in two ways, punctuation, how the parts of an identifier are separated, the
order of the elements of a formula. What is nearly the same is another name.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from rag_assets.terms.chemical_elements import formula_of
from rag_assets.terms.formulas import formula

SHORTEST, MOST_WORDS = 3, 10
"""Letters and digits that a name has at least, and words at most: more is a sentence."""
LONGEST_IDENTIFIER = 40
"""Characters."""

_NO_WORD = re.compile(r"[\W_]+")
_BRACKETS = re.compile(r"\s*[(\[{][^()\[\]{}]*[)\]}]\s*")
_BETWEEN_NAMES = re.compile(r"\s*(?:[;|/•\n,]|\s(?:and|och|und|&|with|vs\.?|feat\.?)\s)\s*")
_RUN = re.compile(r"[^\W\d_]+|\d+")
_FORMULA = re.compile(r"(?<![\w.-])(?:[A-Z][a-z]?(?:\d+(?:\.\d+)?)?){2,}(?![\w-])")
_EDITION = re.compile(r":(?:19|20)\d\d$")


def name_of(text: str) -> str:
    """The canonical form of a name in words; empty where it is too short, too long or a number."""
    name = _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
    is_name = len(name) >= SHORTEST and any(map(str.isalpha, name))
    return name if is_name and name.count(" ") < MOST_WORDS else ""


def parts_of_cell(text: str) -> Iterator[str]:
    """What of a cell may be a name: all of it, all but what is in brackets, and each of a list."""
    plain = _BRACKETS.sub(" ", text).strip()
    parts = _BETWEEN_NAMES.split(plain)
    return iter(dict.fromkeys(part.strip() for part in (text, plain, *parts) if part.strip()))


def titles_in(text: str) -> list[str]:
    """A title, and what it is without a qualifier: `Mercury (planet)`, `Spokane, Washington`."""
    plain = _BRACKETS.sub(" ", text).strip()
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
    runs = _RUN.findall(unicodedata.normalize("NFKC", _EDITION.sub("", text.strip())).upper())
    return "-".join(runs)


def identifiers_in(text: str, *, patterns: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """Where identifiers stand in `text`; `patterns` are those of the user, beside the shipped."""
    for match in _identifiers(tuple(patterns)).finditer(text):
        if len(_RUN.findall(match[0])) > 1 and sum(map(str.isalnum, match[0])) > SHORTEST:
            yield match.span()


def canonical_formula(text: str) -> str:
    """Elements in alphabetical order, each with its share of the atoms; empty for no formula."""
    packed = "".join(text.split())
    if packed in _data().words or formula_of(packed) is None:
        return ""
    amounts = formula(packed) or ()
    if any(amount > _data().most for _, amount in amounts):
        return ""
    total = sum(amount for _, amount in amounts)
    return " ".join(f"{symbol}{amount / total:.6g}" for symbol, amount in amounts)


def formulas_in(text: str) -> Iterator[tuple[int, int]]:
    """Where what is spelled like a formula stands in `text`."""
    return (match.span() for match in _FORMULA.finditer(text))


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
def _identifiers(patterns: tuple[str, ...]) -> re.Pattern[str]:
    every = "|".join(f"(?:{pattern})" for pattern in (*patterns, *_data().patterns))
    return re.compile(rf"(?<![\w.-])(?:{every})(?!\w)")
