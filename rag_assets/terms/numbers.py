"""Numbers in a text, with unit, sign and comparator, and when one number bears out another.

A number can be read in two ways where a comma or point divides thousands in one language and
decimals in the other: `6,000` is six thousand or six. Both are kept; a source bears out either.
Digits stay as they are written: in equal units numbers of any length are compared exactly.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Literal, TypeAlias

from rag_assets.terms import compared_words
from rag_assets.terms.text_units import PATTERN, SHARE, Measure, measure_of

Comparator: TypeAlias = Literal["=", "~", "<", "<=", ">", ">="]

_SIGN = "(?:(?<![\\w)%°\\]])[-\u2212\u2013+](?=\\d))?"
_DIGITS = (
    "(?:\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?"
    "|\\d{1,3}(?:[ \u00a0\u202f\u2009]\\d{3})+(?![\\d])(?:[.,]\\d+)?"
    "|\\d+(?:[.,]\\d+)?|(?<!\\d)\\.\\d+)"
)
_POWER_OF_TEN = (
    "(?:\\s?[\u00d7x·*⋅]\\s?10\\s?\\^?\\{?(?P<ten>[-\u2212\u2013+]?\\d{1,2})\\}?(?![\\d.,]*\\d)"
    "|[eE](?P<e>[-\u2212+]?\\d{1,3}))"
)
_WORD_NUMBERS = "|".join(sorted(compared_words.NUMBER_WORDS, key=len, reverse=True))
_FRACTIONS = "|".join(sorted(compared_words.FRACTION_WORDS, key=len, reverse=True))
_NUMBER = re.compile(
    f"(?<![^\\W_])(?<![^\\W\\d_][-\u2010\u2011#.])(?<!\\d[.,])(?P<numeral>{_SIGN}{_DIGITS}"
    f"{_POWER_OF_TEN}?)(?P<scale>[ \u00a0](?i:{'|'.join(compared_words.SCALES)})(?!\\w))?"
    f"(?!-[A-Z]\\d|-[A-Z](?!\\w))(?P<unit>[ \u00a0\u202f\u2009-]?(?:{PATTERN}))?(?![^\\W_])"
    f"|(?<!\\w)(?P<word>(?i:{_WORD_NUMBERS}))(?!\\w)(?P<word_unit>[ \u00a0-](?:{PATTERN})(?!\\w))?"
    f"|(?<!\\w)(?P<fraction>(?i:{_FRACTIONS}))(?!\\w)"
)
_CURRENCY = re.compile(r"([$€£]|\b(?:USD|EUR|SEK|GBP|NOK|DKK|CHF))[ \u00a0]?$")
"""What may stand before a number in the place of a unit behind it."""
_MINUS = re.compile(
    r"(?<![\d)/] )(?<!plus or )(?<!plus eller )(?<!plus oder )(?<![\w/])minus[ \u00a0]$", re.I
)
"""A sign in words: `minus 5 °C`; not in `10 minus 5`, nor in `plus or minus 5`."""
_LIST_GAP = re.compile(
    r"\s*(?:[,;/]|\u2013|-|\u2212|\u00d7|x|to|and|or|till|och|eller|bis|und|oder"
    r"|respektive|resp\.?|versus)?\s*"
    r"(?:and|or|to|och|eller|up to|from|about|approximately|nearly|some|cirka|ca\.?|omkring)?\s*",
)
_RANGE_GAP = re.compile(
    r"\s*(?:\u2013|-|\u2212|\u2026|\.{2,3}|to|till|bis|and|och|und|up to|upp till)"
    r"\s*(?:about|ca)?\s*"
)
_BETWEEN = re.compile(
    r"\b(?:between|from|mellan|från|zwischen|range of|ranging from|intervallet)\s*$", re.I
)
_UNDER = re.compile(r"\bunder\s+(?:(?:a|an|the|en|ett) (?:\w+ )?)?$", re.I)
_COUNTED = re.compile(rf"\s+(?:an?|en|ett)\s+({PATTERN})(?!\w)")
"""What half of is meant: `half an hour`."""
_OVER = re.compile(r"\b(?:over|över)\s+(?:a |an |the |en |ett )?$", re.I)
_BEFORE = 100
"""A comparator stands within so many characters before its number."""
_CLAUSE = re.compile(r"[.;:()]\s|,\s")
WRONG_SIDE = 0.2
"""`at least 10` of `4 to 10`, `more than 10` of 10."""
HEDGED = Decimal("0.06")
"""How far from it the value may be that `about` stands before."""
CONVERTED = Decimal("1e-9")
"""What converting a unit may lose, as a share."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text."""

    text: str
    start: int
    end: int
    values: tuple[Decimal, ...]
    """The numbers that the digits may stand for; the first is the likelier."""
    step: Decimal
    """The value of one in the last stated digit, for the first value."""
    measure: Measure | None = None
    comparator: Comparator = "="
    is_word: bool = False
    """Whether it is written as a word: `three`, `half`."""
    is_ratio: bool = False
    """Half, twice: a share as well as a factor."""
    just: int = 0
    """1 for `just over`, -1 for `just under`."""
    of_range: int | None = None
    """Position of its range among the ranges of the text."""
    is_upper: bool = False
    """Whether it is the upper end of its range."""
    is_power: bool = False
    is_loose: bool = False
    """Whether its comparator may be none: `under 5 bar` is below that, or at that."""


def numbers_of(text: str) -> tuple[Number, ...]:
    """All numbers of `text`, in its order; digits inside names (`Mo5+`, `A4`) are none."""
    found = [_read(match, text) for match in _NUMBER.finditer(text)]
    return _ranged(_shared_units([each for each in found if each], text), text)


def _read(match: re.Match[str], text: str) -> Number | None:
    start = match.start()
    if match["numeral"]:
        values, step = _values(match["numeral"], match["ten"] or match["e"])
        exponent = compared_words.SCALES[match["scale"].strip().casefold()] if match["scale"] else 0
        values, step = tuple(each.scaleb(exponent) for each in values), step.scaleb(exponent)
        unit = match["unit"] or ""
        before = _CURRENCY.search(text[:start])
        if before and (not unit or unit.lstrip().startswith(("/", "per "))):
            unit, start = f"{before[1]}{unit}", before.start()
        measure = measure_of(unit.strip(" -\u00a0\u202f\u2009")) if unit else None
        if match["numeral"][0].isdigit() and (sign := _MINUS.search(text[:start])):
            values, start = tuple(-each for each in values), sign.start()
        is_word = is_ratio = False
    elif match["word"]:
        if not (match["word"].islower() or match["word"].istitle()):
            return None  # NiO is no nine
        values, step = (Decimal(compared_words.NUMBER_WORDS[match["word"].casefold()]),), Decimal(1)
        measure = measure_of(match["word_unit"].strip(" -")) if match["word_unit"] else None
        is_word, is_ratio = True, False
    else:
        values = (Decimal(compared_words.FRACTION_WORDS[match["fraction"].casefold()]),)
        step = Decimal("0.01")
        counted = _COUNTED.match(text, match.end())
        measure = measure_of(counted[1]) if counted else None
        is_word, is_ratio = True, measure is None
    if is_ratio and _is_ordinal(match, text):
        return None
    comparator, just = comparator_before(text, start)
    return Number(
        text=text[start : match.end()].strip(),
        start=start,
        end=match.end(),
        values=values,
        step=step,
        measure=measure,
        comparator=comparator,
        is_word=is_word,
        is_ratio=is_ratio,
        just=just,
        is_power=match["ten"] is not None,
        is_loose=_is_loose(text[:start], measure),
    )


def _is_loose(before: str, measure: Measure | None) -> bool:
    """Whether `under` or `over` before a number may mean at it, or during it."""
    is_time = measure is not None and measure.dimension == "second"
    return _UNDER.search(before) is not None or (is_time and _OVER.search(before) is not None)


def _is_ordinal(match: re.Match[str], text: str) -> bool:
    """Whether `third` means the one after the second, not a share."""
    before = text[max(0, match.start() - 12) : match.start()].casefold().split()
    is_share = match[0].casefold() not in ("third", "fourth", "fifth", "tenth", "quarter")
    return not is_share and (not before or before[-1] not in ("a", "one", "en"))


def _values(numeral: str, power: str | None) -> tuple[tuple[Decimal, ...], Decimal]:
    digits = re.split(r"\s?[\u00d7x·*⋅]\s?10|[eE]", numeral)[0]
    sign = "-" if digits[0] in "-\u2212\u2013" else ""
    digits = digits.lstrip("-\u2212\u2013+")
    for blank in ("\u00a0", "\u202f", "\u2009", " "):
        digits = digits.replace(blank, "")
    exponent = int(power.replace("\u2212", "-").replace("\u2013", "-")) if power else 0
    forms = [digits.replace(",", ".") if digits.count(",") == 1 and "." not in digits else digits]
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", digits):
        forms = [digits.replace(",", ""), *([forms[0]] if digits.count(",") == 1 else [])]
        forms = [form for form in forms if "," not in form]
    elif re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", digits):
        forms = [digits, digits.replace(".", "")]
    decimals = len(forms[0].partition(".")[2])
    values = tuple(Decimal(sign + form).scaleb(exponent) for form in forms)
    return values, Decimal(1).scaleb(exponent - decimals)


def comparator_before(text: str, place: int) -> tuple[Comparator, int]:
    """The comparator that stands before `place`, and whether it says just over or just under."""
    before = text[max(0, place - _BEFORE) : place].casefold()
    before = _CLAUSE.split(before)[-1]
    tail = before.split()
    near = " ".join(tail[-4:])
    is_negated = any(word in compared_words.NEGATORS for word in tail[-6:]) or any(
        word in compared_words.SHARED_NEGATORS for word in tail
    )
    found = _comparator(near)
    just = int(_ends_with(near, compared_words.JUST_OVER)) - int(
        _ends_with(near, compared_words.JUST_UNDER)
    )
    if just:
        return "~", just
    return (_flipped(found) if is_negated else found), 0


def _comparator(near: str) -> Comparator:
    """The comparator in the words just before a number."""
    listed: Sequence[tuple[Comparator, Sequence[str]]] = (
        ("<=", compared_words.AT_MOST),
        (">=", compared_words.AT_LEAST),
        ("<", compared_words.LESS),
        (">", compared_words.MORE),
    )
    for comparator, phrases in listed:
        if _ends_with(near, phrases):
            return comparator
    last = near.split()[-2:]
    return (
        "~"
        if any(word.strip("~≈") != word or word in compared_words.HEDGES for word in last)
        else "="
    )


def _ends_with(near: str, phrases: Sequence[str]) -> bool:
    """Whether one of `phrases` ends `near`, with one or two small words at most behind it."""
    small = r"(?:\s+(?:the|a|an|en|ett|den|det|about|of|ca|to))?(?:\s+\w+)?"
    joined = "|".join(re.escape(phrase) for phrase in phrases)
    return re.search(rf"(?<!\w)(?:{joined}){small}\W*$", near) is not None


def _flipped(comparator: Comparator) -> Comparator:
    turned: dict[Comparator, Comparator] = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
    return turned.get(comparator, comparator)


def _shared_units(found: Sequence[Number], text: str) -> list[Number]:
    """A unit stands once for all numbers of a list before it: `25, 51 and 97 MPa`."""
    shared = list(found)
    for place in range(len(shared) - 2, -1, -1):
        one, after = shared[place], shared[place + 1]
        if one.measure or not after.measure or (one.is_word and one.is_ratio):
            continue
        if _LIST_GAP.fullmatch(text[one.end : after.start]):
            shared[place] = replace(one, measure=after.measure)
    return shared


def _ranged(found: list[Number], text: str) -> tuple[Number, ...]:
    """Mark the two ends of each range: `between 10 and 20`, `10-20`, `10 to 20`."""
    ranges = 0
    for place, (one, after) in enumerate(pairwise(found)):
        gap = text[one.end : after.start]
        if not _RANGE_GAP.fullmatch(gap) or one.of_range is not None:
            continue
        if gap.strip() in ("and", "och", "und") and not _BETWEEN.search(text[: one.start]):
            continue
        comparator = "=" if one.comparator == ">=" else one.comparator
        found[place] = replace(one, of_range=ranges, comparator=comparator)
        comparator = "=" if after.comparator == "<=" else after.comparator
        found[place + 1] = replace(after, of_range=ranges, comparator=comparator, is_upper=True)
        ranges += 1
    return tuple(found)


def bears_out(source: Number, stated: Number) -> float:
    """How well `source` bears out the `stated` number, from 0 (not) to 1 (fully).

    Below 1: the unit stands on one side only; the comparator says less or more than the source; or
    the number is a consequence (`more than 10` of 12).
    """
    fit = _units_fit(source.measure, stated.measure)
    if stated.is_ratio or source.is_ratio:
        fit = max(fit, 0.8)
    if not fit:
        return 0.0
    best = 0.0
    for value in stated.values:
        for own in source.values:
            best = max(best, _value_fits(own, value, source=source, stated=stated))
    return fit * best


def _units_fit(source: Measure | None, stated: Measure | None) -> float:
    if source is None and stated is None:
        return 1.0
    if source is None or stated is None:
        only = source or stated
        is_share = only is not None and only.dimension == SHARE
        return 0.9 if stated is None or is_share else 0.7
    return float(source.is_like(stated))


def _value_fits(own: Decimal, value: Decimal, *, source: Number, stated: Number) -> float:
    """How well one value bears out another, both in the units of their numbers."""
    one, other, step = source.measure, stated.measure, stated.step
    is_exact = True
    if one and other and one.text != other.text:
        own, value = Decimal(one.in_base(own)), Decimal(other.in_base(value))
        step *= Decimal(abs(other.factor))
        is_exact = False
        if {one.text, other.text} & {"°C", "ºC", "oC", "℃", "K"}:
            step = max(step, Decimal("0.4"))  # 1150 °C is 1423 K and 1423.15 K
    elif stated.is_ratio and not source.is_ratio:
        own *= Decimal(one.factor) if one else 1
    elif source.is_ratio and other and other.dimension == SHARE:
        value, step = value * Decimal(other.factor), step * Decimal(other.factor)
        is_exact = False
    if _is_equal(own, value, step=step, stated=stated, is_exact=is_exact):
        if source.of_range is not None and stated.of_range is None:
            return _end_fits(source, stated.comparator)
        is_loose = source.is_loose or stated.is_loose
        return _comparators_fit(source.comparator, stated.comparator, is_loose=is_loose)
    if stated.is_ratio and own and _is_equal(1 / own, value, step=step, stated=stated):
        return 0.8
    return _follows(own, value, source=source, stated=stated)


def _is_equal(
    own: Decimal, value: Decimal, *, step: Decimal, stated: Number, is_exact: bool = False
) -> bool:
    """Whether `own`, rounded to the digits that are stated, is `value`."""
    slack = 0 if is_exact else CONVERTED * (step + abs(value))
    if stated.just:
        over = (own - value) * stated.just
        return -slack <= over <= abs(value) / 10
    room = step / 2
    if stated.comparator == "~" or stated.is_ratio:
        offset = Decimal(stated.measure.offset if stated.measure else 0)
        most = HEDGED * abs(value - offset)
        room = max(room, most if stated.is_ratio else min(_last_digit(stated) * step, most))
    return abs(own - value) <= room + slack


def _last_digit(number: Number) -> int:
    """What one in the last digit is worth that is not a rounded zero, in steps."""
    worth = 1
    if number.step < 1 and not number.is_power:
        return worth
    steps = abs(round(number.values[0] / number.step))
    while steps and steps % 10 == 0:
        steps, worth = steps // 10, worth * 10
    return worth


def _comparators_fit(source: Comparator, stated: Comparator, *, is_loose: bool) -> float:
    """How well equal values agree, by what stands before them."""
    if source == stated or {source, stated} <= {"=", "~"}:
        return 1.0
    if is_loose:
        return 0.95
    if source[0] in "<>" and stated[0] in "<>":
        return 0.95 if source[0] == stated[0] else 0.0
    if stated in ("<=", ">="):
        return 0.9
    if source in ("<=", ">="):
        return 0.9
    return WRONG_SIDE if stated[0] in "<>" else 0.8


def _end_fits(end: Number, stated: Comparator) -> float:
    """How well one end of a range agrees with its value, by what is stated before it."""
    if stated[0] not in "<>":
        return 0.9
    return 0.95 if (stated[0] == "<") == end.is_upper else WRONG_SIDE


def _follows(own: Decimal, value: Decimal, *, source: Number, stated: Number) -> float:
    """How well a number bears out another that it implies: 12 is more than 10."""
    if stated.comparator in (">", ">=") and source.comparator in ("=", "~", ">", ">="):
        return 0.6 if value < own <= 5 * abs(value) else 0.0
    if stated.comparator in ("<", "<=") and source.comparator in ("=", "~", "<", "<="):
        return 0.6 if own < value and (own > value / 5 or source.comparator[0] == "<") else 0.0
    return 0.0
