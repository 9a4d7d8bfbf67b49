"""Chemical formulas and the names of the elements.

Two spellings of one formula have one canonical form: elements in alphabetical order, each with its
amount, 1 where none is written. `CoFeNiSi0.25` and `Si0.25 Ni1 Fe Co1` are the same.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Final, TypeAlias

Formula: TypeAlias = tuple[tuple[str, float], ...]
"""Symbols in alphabetical order with their amounts."""

_PART = re.compile(r"([A-Z][a-z]?)(\d+(?:\.\d+)?|\.\d+)?")


@cache
def _elements() -> Mapping[str, tuple[str, ...]]:
    """Symbol to names, English first."""
    text = resources.files(__package__ or "").joinpath("elements.toml").read_text("utf-8")
    return {symbol: tuple(names.split()) for symbol, names in tomllib.loads(text).items()}


@cache
def symbols_by_name() -> Mapping[str, str]:
    """Name of an element in English or Swedish, in small letters, to its symbol."""
    return {name: symbol for symbol, names in _elements().items() for name in names}


def names_of(symbol: str) -> tuple[str, ...]:
    """The names of the element with this symbol; none if it is no symbol."""
    return _elements().get(symbol, ())


@lru_cache(maxsize=65_536)
def formula(text: str) -> Formula | None:
    """The canonical form of `text`; None where it is no formula of at least two elements.

    Capitals alone (`BCC`) are an abbreviation, and so are three or more with a plural `s`: `VOCs`
    holds no caesium.
    """
    packed = text.replace(" ", "")
    capitals = packed.removesuffix("s") if len(packed) > PLURAL_FROM else packed
    if capitals.isupper() and capitals.isalpha():
        return None
    amounts: dict[str, float] = {}
    end = 0
    for part in _PART.finditer(packed):
        symbol, amount = part.groups()
        if part.start() != end or symbol not in _elements():
            return None
        amounts[symbol] = amounts.get(symbol, 0.0) + float(amount or 1)
        end = part.end()
    return tuple(sorted(amounts.items())) if end == len(packed) and len(amounts) >= LEAST else None


LEAST: Final = 2
"""Elements that a formula has at least: one alone may be any short name."""
PLURAL_FROM: Final = 3
"""A plural has at least so many letters: `BAs`, which is boron arsenide, has three."""


_MADE = frozenset(["Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr"])
"""Elements that no text is about: what looks like their symbols is something else."""
SYMBOL_OF: Mapping[str, str] = {
    name: symbol
    for name, symbol in symbols_by_name().items()
    if name not in ("lead", "tin", "bor") and symbol not in _MADE
}
"""Symbol by name, in lower case; names that are common words of another meaning are left out."""
SYMBOLS = frozenset(SYMBOL_OF.values())
READ_AS_WORDS = frozenset(("He", "Be", "In", "As", "I", "At", "No", "Am", "Pa", "C", "K", "V"))
"""Symbols that running text has as words or units."""


@lru_cache(maxsize=65_536)
def formula_of(text: str) -> frozenset[tuple[str, float]] | None:
    """The elements of a formula, each with its share of the atoms; None where it is no formula.

    Blanks do not count, and a factor does not: `V2Zr`, `V1 Zr0.5` are one.
    """
    amounts = formula("".join(text.split())) or ()
    total = sum(amount for _, amount in amounts)
    if not total or not SYMBOLS.issuperset(symbol for symbol, _ in amounts):
        return None
    return frozenset((symbol, round(amount / total, 3)) for symbol, amount in amounts)
