"""Chemical elements and formulas: `Ni` is nickel, and `CoNi0.5` is `Co2 Ni1`."""

from collections.abc import Mapping
from functools import lru_cache

from rag_assets.terms.formulas import formula, symbols_by_name

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
