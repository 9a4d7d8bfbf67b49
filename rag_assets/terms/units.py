"""Units of measurement in headings, and numbers from one unit to another.

`pint` knows the units. Scales that it does not know (a hardness, a currency) stay a name: a number
on such a scale is compared with numbers on the same scale only.
"""

import re
import unicodedata
from decimal import Decimal
from functools import cache, lru_cache
from tokenize import TokenError
from typing import TYPE_CHECKING

from rag_assets.citations.values import Number, exact
from rag_assets.terms.lemmas import is_known

if TYPE_CHECKING:
    from pint import UnitRegistry

LONGEST_UNIT = 24
_PLAIN_SCALE = re.compile(r"[^\W\d_]{1,6}\d?")
_SPELLINGS = (
    (re.compile(r"\bdeg(?:rees?)?\.?\s*([CFK])\b"), r"deg\1"),
    (re.compile(r"°\s*([CFK])\b"), r"deg\1"),
    (re.compile(r"\bdegK\b"), "kelvin"),
    (re.compile(r"(?:\b(?:wt|mass|weight)|\bw)[.\s-]*%", re.IGNORECASE), "mass_percent"),
    (re.compile(r"\b(?:at|mol)[.\s-]*%", re.IGNORECASE), "atomic_percent"),
    (re.compile(r"\bvol[.\s-]*%", re.IGNORECASE), "volume_percent"),
    (re.compile(r"%"), "percent"),
    (re.compile(r"(?<=[A-Za-z])([23])\b"), r"^\1"),
    (re.compile(r"(?<=[A-Za-z])(-[1-4])\b"), r"^\1"),
    (re.compile(r"[·⋅\u00d7]"), "*"),
)
_DEFINITIONS = (
    "mass_percent = [mass_share]",
    "wppm = 1e-4 * mass_percent",
    "atomic_percent = [atomic_share]",
    "appm = 1e-4 * atomic_percent",
    "volume_percent = [volume_share]",
)
_MONEY = re.compile(r"(?P<times>[kKtTM]?)(?P<currency>kr|[A-Z]{3}|[a-z]{3})")
_TIMES = {"": 1, **dict.fromkeys("kKtT", 1_000), "M": 1_000_000}
EXACT_DIGITS = 12
"""A converted number of more digits is rounded to three more than the original has, so that equal
numbers, of a cell and of a question, stay equal in any unit."""
LEAST_DIGITS = 6
"""The digits that rounding leaves at least."""
_ANGLE = re.compile(r"degree(?!_)|radian|revolution|turn|arc(?:minute|second)")
"""An angle in a unit, which `pint` takes for the number 1: 60 rpm would be 6.28 Hz."""
NO_UNIT = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(SyntaxError, TokenError, TypeError, ValueError),
)
"""What `pint` raises for words of a heading that are no unit, or no unit of the other's kind."""
_SHARES = frozenset({"mass_percent", "atomic_percent", "volume_percent"})


@lru_cache(maxsize=65_536)
def pint_unit(text: str) -> str | None:
    """A unit as `pint` names it (`megapascal`); None for a scale that it does not know."""
    spelled = _spelled(text)
    if not spelled or len(spelled) > 4 * LONGEST_UNIT or re.search(r"[=,;:]", spelled):
        return None
    try:
        return str(_registry().parse_units(spelled)) or None
    except NO_UNIT:
        return None


@lru_cache(maxsize=65_536)
def pint_dimension(text: str) -> str | None:
    """The dimension of a unit (`[length]`); None for a scale that `pint` does not know."""
    unit = pint_unit(text)
    return str(_registry().get_dimensionality(unit)) if unit else None


def is_unit(text: str) -> bool:
    """Whether `text` reads as a unit, or as the short name of a scale such as `HV`."""
    text = text.strip()
    if not text or len(text) > LONGEST_UNIT:
        return False
    return _PLAIN_SCALE.fullmatch(text) is not None or pint_unit(text) is not None


def converted(value: Number, of: str, to: str) -> Number | None:
    """`value` in the unit `of` as a number in the unit `to`; None if one is not the other's kind.

    A bare percent is taken as whatever share the other one is, by mass, atoms or volume. Turns a
    minute are not of the kind of `Hz`. See `EXACT_DIGITS` for rounding.
    """
    if _folded(of) == _folded(to):
        return value
    if (own := _money(of)) and (asked := _money(to)):
        return exact(Decimal(value) * own[0] / asked[0]) if own[1] == asked[1] else None
    source, target = pint_unit(of), pint_unit(to)
    if source is None or target is None:
        return None
    if source == target or ("percent" in (source, target) and {source, target} & _SHARES):
        return value
    if (_ANGLE.search(source) is None) != (_ANGLE.search(target) is None):
        return None
    try:
        found = _registry().Quantity(Decimal(value), source).to(target).magnitude
    except NO_UNIT:
        return None
    return exact(_rounded(found, digits=len(Decimal(value).as_tuple().digits)))


def _rounded(value: Decimal, *, digits: int) -> Decimal:
    if len(value.normalize().as_tuple().digits) <= EXACT_DIGITS:
        return value
    return Decimal(f"{value:.{max(LEAST_DIGITS, digits + 3)}g}")


def _money(unit: str) -> tuple[int, str] | None:
    """How many of which currency: `kEUR` is 1,000 EUR, and `tkr` 1,000 SEK."""
    match = _MONEY.fullmatch(unit.strip())
    if match is None:
        return None
    currency = "SEK" if match["currency"] == "kr" else match["currency"].upper()
    return (_TIMES[match["times"]], currency) if currency in _currencies() else None


def is_money(text: str) -> bool:
    """Whether `text` is a currency by its code of ISO 4217, or thousands or millions of it.

    Of codes in small letters those that are words are none: `all`, `top`, `cup`.
    """
    is_word = not text.isupper() and is_known(text.lower(), languages=("en",))
    return not is_word and _money(text) is not None


@cache
def _currencies() -> frozenset[str]:
    import pycountry

    return frozenset(each.alpha_3 for each in pycountry.currencies)


def _spelled(text: str) -> str:
    spelled = unicodedata.normalize("NFKC", text).strip().replace("µ", "u").replace("μ", "u")
    spelled = spelled.replace("\u2212", "-")
    for pattern, replacement in _SPELLINGS:
        spelled = pattern.sub(replacement, spelled)
    return spelled


def _folded(text: str) -> str:
    return re.sub(r"[\s.]+", "", unicodedata.normalize("NFKC", text)).casefold()


@cache
def _registry() -> "UnitRegistry":
    import pint

    registry = pint.UnitRegistry(cache_folder=None, non_int_type=Decimal)
    for definition in _DEFINITIONS:
        registry.define(definition)
    return registry
