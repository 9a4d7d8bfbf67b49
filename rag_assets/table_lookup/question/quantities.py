"""Numbers of a question: their units, and what is compared with them.

`over 0.14 nm`, `mellan 300 och 350 MPa`, `1000 °C or hotter` and `since March 2024` are quantities:
a comparison, one or two values, and a unit where one is written.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Final

from rag_assets.citations.values import Number, exact
from rag_assets.table_lookup.tables.cells import Comparison, number_of
from rag_assets.table_lookup.words import adjectives, vocabulary, word_lists
from rag_assets.table_lookup.words.word_forms import folded
from rag_assets.terms.dates import Day, days_of
from rag_assets.terms.units import converted, is_money, pint_unit

_NUMBER = re.compile(
    r"(?<![\w.,/+-])(?P<sign>[-\u2212+])?"
    r"(?P<digits>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?(?![\d])"
    r"|\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?)"
    r"(?P<times>\s*(?:k|M)(?=\s?(?:€|\$|kr|EUR|SEK|USD|GBP)\b)|\s+(?:thousand|million|tusen|miljoner)\b)?"
)
_TIMES = {
    **dict.fromkeys(("k", "thousand", "tusen"), 1_000),
    **dict.fromkeys(("M", "million", "miljoner"), 1_000_000),
}
_ENDS = re.compile(r"\s*(?:and|to|och|till|-|\u2013)\s*")
_WITHIN = ("under", "from", "fran")
"""Before a date they say that something lies in it: `under 2022` is Swedish for during it."""
_COUNTS: Final = {
    word: value
    for value, words in enumerate(
        (
            *(("one", "a", "an", "en", "ett"), ("two", "två"), ("three", "tre"), ("four", "fyra")),
            *(("five", "fem"), ("six", "sex"), ("seven", "sju"), ("eight", "åtta")),
            *(("nine", "nio"), ("ten", "tio"), ("eleven", "elva"), ("twelve", "tolv")),
        ),
        start=1,
    )
    for word in words
}
_COUNTED = re.compile(rf"\b(?:{'|'.join(_COUNTS)})\b", re.IGNORECASE)
_SYMBOLS: Final = word_lists.words("unit_symbols")
_WORDS: Final = word_lists.keys_by_phrase("units")
"""Units as words, in small letters."""
_TIMES_OF = ("s", "min", "h", "day", "week", "month", "year")
_NO_UNITS: Final = word_lists.words("no_units")
"""Words at the end of a name that are no units there: a limit, and what is counted one by one."""
_CURRENCY = re.compile(r"(?P<unit>€|\$|£|\b(?:EUR|SEK|USD|GBP|NOK|DKK)|\bkEUR)\s?$")
_AFTER = re.compile(
    r"\s?(?P<unit>[^\s,;?!]{1,24}\sper\s(?:cubic\s|square\s)?[^\W\d]+|[^\s,;?!]+(?:\s[^\s,;?!\d][^\s,;?!]*)?)"
)
_PER = re.compile(r"(?P<above>[^\s/]+)\s+per\s+(?P<below>.+)")
_COMPOUND = re.compile(r"[A-Za-zµμ°%·]+[²³\d]?(?:(?:[/·*^]|\s?per\s?)\(?[-A-Za-z\d²³·*/^°]+\)?)+")
_GOES_ON = re.compile(r"[^\W\d_]|\s+(?:(?:than|än)\b|\d)")
"""After `or less`: the phrase is another one, or is of the number that follows."""
_FILLERS = re.compile(
    r"(?:\b(?:(?:the )?(?:beginning|start) of|början av|new year|nyår"
    r"|a|an|the|år|year|the year|totally|ca|värdet)\s+)$"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a question, or two that are the ends of a range."""

    start: int
    """First character of what it takes of the question, comparison included."""
    end: int
    """One past the last, unit included."""
    at: int
    """First character of the number itself."""
    op: Comparison
    values: tuple[Number, ...]
    unit: str | None
    """As `units.converted` reads it; None where none is written."""
    is_marked: bool
    """Whether a comparison is written; else it is equality."""
    days: tuple[Day, ...] = ()
    """The same as days, where it can be a date or a year."""


def quantities(text: str, scales: frozenset[str]) -> tuple[Quantity, ...]:
    """The quantities of `text`, in order.

    Args:
        text: A question.
        scales: Units of columns that are no units elsewhere (`HV`, `pcs`).
    """
    plain = [*_plain(text, scales), *_spelled(text, scales)]
    measured = {each.at for each in plain if each.unit is not None}
    measured |= {
        first.at
        for first, second in pairwise(plain)
        if second.unit and _ENDS.fullmatch(text[first.end : second.start])
    }
    days = [day for day in days_of(text) if not (day.is_year and day.start in measured)]
    found = [
        *(_with_comparison(text, _dated(day)) for day in days),
        *(
            _with_comparison(text, quantity)
            for quantity in plain
            if not any(day.start <= quantity.at < day.end for day in days)
        ),
    ]
    return tuple(_joined(text, sorted(found, key=lambda each: each.at)))


@cache
def _symbols() -> dict[str, str]:
    """Symbols by their small letters, those that no other has too."""
    found: dict[str, list[str]] = {}
    for each in _SYMBOLS:
        found.setdefault(each.casefold(), []).append(each)
    return {key: symbols[0] for key, symbols in found.items() if len(symbols) == 1}


@cache
def counted_words() -> dict[str, int]:
    """Numbers from two on that are written as words, folded."""
    return {folded(word): value for word, value in _COUNTS.items() if value > 1}


def unit_at(text: str, start: int, scales: frozenset[str]) -> tuple[str, int] | None:
    """The unit that begins at `start`, after at most one space, and where it ends."""
    match = _AFTER.match(text, start)
    if match is None:
        return None
    candidate = match["unit"]
    begin = match.start("unit")
    for end in _ends(candidate):
        word = candidate[:end].rstrip(").:") if "(" not in candidate[:end] else candidate[:end]
        unit = _unit(word, scales)
        if unit is not None:
            return unit, begin + len(word)
    return None


def named_unit(word: str, beside: str = "") -> str | None:
    """The unit that a word of a name is in any case (`mpa`, `m3`, `days`, `sek`); None if none is.

    Args:
        word: The word.
        beside: The word before it. A single letter is a unit after a kind of quantity, or a unit,
            alone: `length m`, `flow m3 h`, and not `class a`.
    """
    base = word[:-1] if word[-1:] in "23²³" else word
    written = base if base in _SYMBOLS else _symbols().get(base.casefold())
    if len(word) < 2:
        unit = _WORDS.get(word.casefold(), written)
        kind = vocabulary.KINDS.get(folded(beside))
        is_one = unit and kind and converted(1, unit, kind) is not None
        return unit if is_one or (len(beside) > 1 and named_unit(beside)) else None
    if folded(word) in _NO_UNITS:
        return None
    if is_money(word):
        return word if word.endswith("kr") else f"{word[:-3]}{word[-3:].upper()}"
    if written is not None:
        return written + word[len(base) :]
    unit = _WORDS.get(word.casefold())
    return word if unit in _TIMES_OF else unit


def is_of_symbols(text: str) -> bool:
    """Whether `text` is symbols of units alone (`W/(m K)`), so that `pint` need not be asked."""
    parts = [each for each in re.split(r"[\s/*·^()\d.²³⁻¹-]+", text) if each]
    return bool(parts) and all(each in _SYMBOLS or each == "deg" for each in parts)


def plain_unit(unit: str) -> str:
    """A unit of a heading in the words of `units`: `månader` is `month`."""
    return _WORDS.get(unit.casefold(), unit)


def _ends(candidate: str) -> Iterable[int]:
    spaces = [match.start() for match in re.finditer(" ", candidate)]
    return (len(candidate), *reversed(spaces))


def _unit(word: str, scales: frozenset[str]) -> str | None:
    if word in _SYMBOLS and word.casefold() not in _WORDS:
        return word
    if word.casefold() in _WORDS:
        return _WORDS[word.casefold()]
    if word in scales:
        return word
    if " per " in word and (match := _PER.fullmatch(word)):
        above, below = _unit(match["above"], scales), _unit(match["below"], scales)
        return f"{above}/{below}" if above and below else None
    if word.isupper() and is_money(word):
        return word
    return word if _COMPOUND.fullmatch(word) and pint_unit(word.replace(" per ", "/")) else None


def _plain(text: str, scales: frozenset[str]) -> Iterator[Quantity]:
    for match in _NUMBER.finditer(text):
        value = _value(match["digits"], text)
        is_power = "^" in (
            text[match.start() - 1 : match.start()],
            text[match.end() : match.end() + 1],
        )
        if value is None or is_power:
            continue
        if match["times"]:
            value = exact(Decimal(value) * _TIMES[match["times"].strip()])
        start, end = match.start(), match.end()
        if match["sign"] in ("-", "\u2212"):
            value = -value
        unit: str | None = None
        if (found := unit_at(text, end, scales)) is not None:
            unit, end = found
        elif end < len(text) and (text[end].isalpha() or text[end] in "-/+"):
            continue
        elif currency := _CURRENCY.search(text[:start]):
            unit = _WORDS.get(currency["unit"].casefold(), currency["unit"])
            start = currency.start()
        yield Quantity(start, end, match.start(), "=", (value,), unit, is_marked=False)


def _spelled(text: str, scales: frozenset[str]) -> Iterator[Quantity]:
    """`two weeks`, `ett år`: a number as a word, before a unit."""
    for match in _COUNTED.finditer(text):
        found = unit_at(text, match.end(), scales)
        if found is not None:
            value = _COUNTS[match.group().casefold()]
            unit, end = found
            yield Quantity(match.start(), end, match.start(), "=", (value,), unit, is_marked=False)


def _value(digits: str, text: str) -> Number | None:
    plain = re.sub(r"[ \u00a0\u202f]", "", digits)
    commas, points = plain.count(","), plain.count(".")
    if commas and points:
        thousands = "," if plain.rfind(",") < plain.rfind(".") else "."
        plain = plain.replace(thousands, "").replace(",", ".")
    elif commas == 1 and not re.fullmatch(r"[1-9]\d{0,2},000", plain):
        is_thousands = re.fullmatch(r"[1-9]\d{0,2},\d{3}", plain) and not _reads_swedish(text)
        plain = plain.replace(",", "" if is_thousands else ".")
    elif commas:
        plain = plain.replace(",", "")
    elif points > 1:
        plain = plain.replace(".", "")
    return number_of(plain.lower())


def _reads_swedish(text: str) -> bool:
    return bool(re.search(r"[åäöÅÄÖ]|\b(?:och|med|är|av|som|har|på)\b", text))


def _dated(day: Day) -> Quantity:
    values = (day.first.year,) if day.is_year else ()
    return Quantity(day.start, day.end, day.start, "=", values, None, is_marked=False, days=(day,))


@cache
def _phrases(after: bool) -> tuple[tuple[str, Comparison], ...]:
    table = vocabulary.COMPARISONS_AFTER if after else vocabulary.COMPARISONS
    pairs = [(folded(each), op) for op, phrases in table.items() for each in phrases]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))  # ty: ignore


def _with_comparison(text: str, quantity: Quantity) -> Quantity:
    before, after = text[: quantity.start].casefold(), text[quantity.end :].casefold()
    rest = after.lstrip(" )")
    for phrase, op in _phrases(after=True):
        if folded(rest[: len(phrase)]) == phrase and not _GOES_ON.match(rest, len(phrase)):
            end = quantity.end + len(after) - len(rest) + len(phrase)
            return replace(quantity, end=end, op=op, is_marked=True)
    cut = len(_FILLERS.sub("", before)) if _FILLERS.search(before) else len(before)
    left = before[:cut].rstrip(" (")
    for phrase, op in _phrases(after=False):
        begin = len(left) - len(phrase)
        if begin >= 0 and folded(left[begin:]) == phrase and not left[begin - 1 : begin].isalpha():
            if quantity.days and phrase in _WITHIN:
                return replace(quantity, start=begin)
            return replace(quantity, start=begin, op=op, is_marked=op != "=")
    compared = _compared(left)
    return replace(quantity, **compared) if compared else quantity


def _compared(left: str) -> dict | None:
    """`harder than`, `softer than`: an adjective that is compared with the number."""
    match = re.search(
        r"(?:^|\s)(?P<word>(?:(?:more|less|mer|mindre) )?[^\W\d]+) (?P<than>than|än)$", left
    )
    if match is None:
        return None
    is_low = adjective_is_low(match["word"].split()[-1]) or match["word"].startswith(
        ("less", "mindre")
    )
    return {"op": "<" if is_low else ">", "is_marked": True, "start": match.start("than")}


def adjective_is_low(word: str) -> bool:
    """Whether a comparative or superlative asks for less: `softer`, `cheapest`, `lägre`."""
    return base_adjective(word) in adjectives.LOW


def plain_adjective(word: str) -> str | None:
    """The adjective that a word in small letters is, without a Swedish ending; None if none."""
    for each in (word, word.removesuffix("t"), word.removesuffix("a")):
        if each in adjectives.HIGH or each in adjectives.LOW:
            return each
    return None


def base_adjective(word: str) -> str | None:
    """The adjective that a comparative or superlative is made of; None if it is none."""
    word = word.casefold()
    if word in adjectives.IRREGULAR:
        return adjectives.IRREGULAR[word]
    for ending in ("iest", "ier", "aste", "ast", "are", "est", "sta", "st", "er", "re", "sta"):
        if not word.endswith(ending):
            continue
        root = word[: -len(ending)]
        for base in (root, root + "e", root + "y", root[:-1] if root[-2:-1] == root[-1:] else root):
            if base in adjectives.HIGH or base in adjectives.LOW:
                return base
    return None


def _joined(text: str, found: list[Quantity]) -> Iterator[Quantity]:
    """The two ends of a range as one quantity."""
    place = 0
    while place < len(found):
        first = found[place]
        second = found[place + 1] if place + 1 < len(found) else None
        joined = _range(text, first, second) if second is not None else None
        yield joined or first
        place += 2 if joined else 1


def _range(text: str, first: Quantity, second: Quantity) -> Quantity | None:
    between = text[first.end : second.at].casefold().strip()
    before = re.findall(r"\w+", text[: first.at].casefold())[-3:]
    is_dash = between in ("-", "\u2013", "\u2014", "...")
    opens = bool(vocabulary.BETWEEN & set(before))
    inclusive = re.sub(
        r"^(?:up )?(?:to|till|till och med|t o m)(?: and including)?$", "to", between
    )
    inclusive = "to" if between in ("through", "upp till") else inclusive
    closes = inclusive in ("to", "-") or (opens and between in ("and", "och"))
    if not (is_dash or (closes and (opens or inclusive == "to"))):
        return None
    if first.op not in ("=", ">=") or (first.unit and second.unit and first.unit != second.unit):
        return None
    if bool(first.days) != bool(second.days):
        return None
    start = first.start
    word = re.search(
        r"(?:between|mellan|from|från|in the range(?: of)?|range)\s+$", text[:start].casefold()
    )
    return Quantity(
        start=word.start() if word else start,
        end=second.end,
        at=first.at,
        op="between",
        values=(*first.values, *second.values),
        unit=second.unit or first.unit,
        is_marked=True,
        days=(*first.days, *second.days),
    )
