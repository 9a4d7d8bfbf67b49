"""Units of measurement as texts state them: `mW·cm\u22122`, `kg per cubic metre`, `viktprocent`.

A unit becomes its dimension and its factor to base units, so that values in any units of one
dimension can be compared. Shares (percent, ppm) have the dimension `[share]`; a share by weight, by
atoms, by volume and by moles are four different things.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from rag_assets.terms import compared_words

if TYPE_CHECKING:
    from pint import UnitRegistry

SHARE = "[share]"
_DASHES = "-\u2212\u2010\u2011\u2012\u2013"
_PREFIX = "(?:da|[TGMkhdcmunpfµμ])?"
_PREFIXED = "Hz|Pa|Wh|eV|bar|mol|m|g|s|A|K|N|J|W|V|F|S|T|L|l|Ω|Ω"
_PLAIN = (
    "°C|ºC|oC|°F|℃|C(?=$|[\\s,;.)])|"
    "wt\\.?[ -]?%|at\\.?[ -]?%|vol\\.?[ -]?%|mol\\.?[ -]?%|mass[ -]?%|%|‰|ppm|ppb|Å|"
    "angstrom|bohr|min|hrs?|h|rpm|sccm|dB|HV|HRC|HB|Da|years?|yr|bar|ksi|psi|ft|lbs?|"
    "[kKMGTP]i?B|[kKMG]?bit|[kMG]?bps|[kM]?VA|m?Ah|USD|EUR|SEK|GBP|NOK|DKK|CHF|[€£$]|kr"
)
_WORD_PREFIX = "(?:kilo|mega|giga|tera|milli|micro|mikro|nano|pico|femto|centi|deci|deka|hekto)?"
_SCALES = ("HV", "HRC", "HB", "dB")
"""Scales that nothing converts to."""
_WORD_UNITS = compared_words.UNITS
_WORD_PREFIXES = compared_words.PREFIXES
_WORDS = "|".join(sorted(map(re.escape, _WORD_UNITS), key=len, reverse=True))
_POWER = f"(?:\\^?\\{{?[{_DASHES}]?[1-4](?!\\d|[.,]\\d)\\}}?|\\*\\*[{_DASHES}]?\\d|[\u207b]?[²³¹⁴])"
_SYMBOL = f"(?:{_PLAIN}|{_PREFIX}(?:{_PREFIXED}))"
_SYMBOLIC = f"(?:{_SYMBOL}(?:{_POWER})?(?![^\\W\\d_]))"
_SPOKEN = (
    f"(?:(?:square |cubic |kvadrat|kubik)?{_WORD_PREFIX}(?i:{_WORDS})(?![^\\W\\d_])(?:{_POWER})?)"
)
_TERM = f"(?:{_SPOKEN}|{_SYMBOLIC})"
_SEPARATOR = "(?:\\s?[/·⋅∙•*]\\s?|\\s+per\\s+|(?<=[A-Za-zµμ])\\.(?=[A-Za-zµμ]))"
_INVERSE = f"(?:[ \u00a0\u2009]?{_SYMBOL}(?:\\^?\\{{?[{_DASHES}]\\d\\}}?|\u207b[¹²³]))"
_GROUP = f"\\(\\s?{_TERM}(?:{_SEPARATOR}{_TERM})*\\s?\\)"
PATTERN = (
    f"(?:{_TERM}|1(?=/))(?:{_INVERSE}|{_SEPARATOR}(?:{_GROUP}|(?:\\d[\\d,]*\\s?)?{_TERM}))*"
    f"|(?:/|per )\\s?{_TERM}"
)
"""A unit as a regular expression, to stand behind a number."""
_WHOLE = re.compile(PATTERN)
_ONE = re.compile(f"(?P<spoken>{_SPOKEN})|(?P<symbolic>{_SYMBOLIC})")
_BASIS = re.compile(r"(wt|mass|at|vol|mol)\.?[ -]?%")


@dataclass(frozen=True, slots=True)
class Measure:
    """A unit of measurement."""

    text: str
    dimension: str
    factor: float
    """The size of one such unit in base units; of a `[share]`, in ones."""
    offset: float = 0.0
    """Added after the factor: 273.15 for degrees Celsius."""
    basis: str = ""
    """The basis of a share, where it is stated: `wt`, `at`, `vol` or `mol`."""

    def in_base(self, value: Decimal) -> float:
        """`value` of this unit in base units."""
        return float(value) * self.factor + self.offset

    def is_like(self, other: "Measure") -> bool:
        """Whether values in both can be compared."""
        if self.basis and other.basis and self.basis != other.basis:
            return False
        return self.dimension == other.dimension


@cache
def measure_of(text: str) -> Measure | None:
    """The unit that `text` states; None where it states none that is known."""
    stated = " ".join(text.replace("\u00a0", " ").split()).strip(" .,;[]")
    whole = _WHOLE.fullmatch(stated) or _WHOLE.fullmatch(_spelled(stated))
    if not stated or whole is None:
        return None
    return _share(whole[0]) or _measured(whole[0])


def _spelled(text: str) -> str:
    return text.replace("degC", "°C").replace("deg C", "°C").replace("Celsius", "°C")


def _share(text: str) -> Measure | None:
    plain = _WORD_UNITS.get(text.casefold(), text)
    if plain in ("%", "‰", "ppm", "ppb"):
        factor = {"%": 1e-2, "‰": 1e-3, "ppm": 1e-6, "ppb": 1e-9}[plain]
        return Measure(text, SHARE, factor)
    if found := _BASIS.fullmatch(plain):
        basis = "wt" if found[1] == "mass" else found[1]
        return Measure(text, SHARE, 1e-2, basis=basis)
    return None


def _measured(text: str) -> Measure | None:
    from pint.errors import PintError

    if text in _SCALES:
        return Measure(text, f"[{text}]", 1.0)
    if text in ("°C", "ºC", "oC", "℃", "C") or text.casefold() in (
        "degrees celsius",
        "grader",
        "grader celsius",
    ):
        return Measure(text, "[temperature]", 1.0, 273.15)
    if text == "°F":
        return Measure(text, "[temperature]", 5 / 9, 459.67 * 5 / 9)
    if _WORD_UNITS.get(text.casefold()) == "°C":
        return Measure(text, "[temperature]", 1.0, 273.15)
    try:
        base = registry().Quantity(1.0, "") * registry().parse_expression(_expression(text))
        found = base.to_base_units()
        dimension = "[temperature]" if str(found.units) == "kelvin" else str(found.units)
        return Measure(text, dimension, float(found.magnitude))
    except (PintError, ValueError, TypeError, AttributeError, SyntaxError, ArithmeticError):
        return None


def _expression(text: str) -> str:
    """`text` as an expression that pint reads."""
    for separator in ("·", "⋅", "∙", "•"):
        text = text.replace(separator, "*")
    text = re.sub(r"\s+per\s+|^per\s+", "/", text).strip()
    text = f"1{text}" if text.startswith("/") else text
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    out, end = [], 0
    for found in _ONE.finditer(text):
        gap = text[end : found.start()]
        out += [gap if gap.strip() else ("*" if out else ""), _one(found)]
        end = found.end()
    return re.sub(r"(?<=\d)\s+(?=\()", "*", "".join([*out, text[end:]]))


def _one(found: re.Match[str]) -> str:
    text = found[0]
    power = re.search(f"{_POWER}$", text)
    symbol = text[: power.start()] if power else text
    exponent = _exponent(power[0]) if power else 1
    if found["spoken"]:
        symbol, of_word = _symbol_of_words(symbol)
        exponent *= of_word
    symbol = symbol.replace("℃", "°C")
    named = {"°C": "kelvin", "°F": "rankine", "h": "hour", "hr": "hour", "hrs": "hour", "l": "L"}
    named |= {"Å": "angstrom", "Da": "dalton", "bohr": "bohr", "%": "percent", "yr": "year"}
    named |= {"lbs": "pound", "lb": "pound", "sccm": "(cm**3/minute)", "KB": "kB"}
    named |= {"€": "EUR", "$": "USD", "£": "GBP", "kr": "SEK"}
    symbol = re.sub("bps$", "bit/second", re.sub("Ah$", "A*hour", symbol))
    symbol = named.get(symbol, symbol).replace("Ω", "ohm").replace("Ω", "ohm").replace("μ", "µ")
    return f"({symbol})**{exponent}"


def _symbol_of_words(text: str) -> tuple[str, int]:
    folded = text.casefold().strip()
    power = 1
    for word, exponent in (("square ", 2), ("cubic ", 3), ("kvadrat", 2), ("kubik", 3)):
        if folded.startswith(word):
            folded, power = folded.removeprefix(word), exponent
    if folded in _WORD_UNITS:
        return _WORD_UNITS[folded], power
    for word, symbol in _WORD_PREFIXES.items():
        if folded.startswith(word) and (rest := folded.removeprefix(word)) in _WORD_UNITS:
            return symbol + _WORD_UNITS[rest], power
    return folded, power


def _exponent(text: str) -> int:
    plain = text.strip("^*{}").translate(str.maketrans("²³¹⁴", "2314"))
    sign = -1 if plain[:1] in (*_DASHES, "\u207b") else 1
    return sign * int(plain.lstrip(_DASHES + "\u207b"))


def denominator(text: str) -> str:
    """The symbol behind `per`: `kg` of `per kilo`."""
    found = _ONE.search(text.removeprefix("per ").lstrip("/ "))
    if found is None:
        return text
    return _symbol_of_words(found[0])[0] if found["spoken"] else found[0]


@cache
def registry() -> "UnitRegistry":
    """The units that pint knows."""
    from pint import UnitRegistry

    known = UnitRegistry(autoconvert_offset_to_baseunit=True)
    for currency in ("USD", "EUR", "SEK", "GBP", "NOK", "DKK", "CHF"):
        known.define(f"{currency} = [{currency}]")
    return known
