"""Days, months and years of a question, and how a column of dates holds them."""

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

_MONTHS: Final = (
    ("january", "januari", "jan"),
    ("february", "februari", "feb"),
    ("march", "mars", "mar"),
    ("april", "apr"),
    ("may", "maj"),
    ("june", "juni", "jun"),
    ("july", "juli", "jul"),
    ("august", "augusti", "aug"),
    ("september", "sep", "sept"),
    ("october", "oktober", "oct", "okt"),
    ("november", "nov"),
    ("december", "dec"),
)
MONTHS: Final = {name: place for place, names in enumerate(_MONTHS, 1) for name in names}
"""The name of a month in small letters, to its number."""
_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
_ISO = re.compile(r"(?<![\w-])(\d{4})-(\d{2})-(\d{2})(?!\w)")
_PACKED = re.compile(r"(?<![\w.,])((?:19|20)\d{2})(\d{2})(\d{2})(?![\w.,]\w)(?!\d)")
_DAY_FIRST = re.compile(
    rf"\b(?:den )?(\d{{1,2}})(?:st|nd|rd|th|:e)? (?:of )?({_NAMES})\.?,? (\d{{4}})\b", re.IGNORECASE
)
_MONTH_FIRST = re.compile(
    rf"\b({_NAMES})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b", re.IGNORECASE
)
_MONTH = re.compile(rf"\b({_NAMES})\.? (\d{{4}})\b", re.IGNORECASE)
_YEAR_MONTH = re.compile(r"(?<![\w-])(\d{4})-(\d{2})(?![\w-])")
_QUARTER = re.compile(r"\b(?:Q([1-4]) (\d{4})|(\d{4}) Q([1-4]))\b")
_PLACES: Final = {
    **dict.fromkeys(("first", "1st", "första"), 1),
    **dict.fromkeys(("second", "2nd", "andra"), 2),
    **dict.fromkeys(("third", "3rd", "tredje"), 3),
    **dict.fromkeys(("fourth", "4th", "fjärde"), 4),
}
_PART_OF_YEAR = re.compile(
    r"\b(?P<place>(?:first|1st|första|second|2nd|andra)(?= (?:half|halvåret))"
    rf"|(?:{'|'.join(_PLACES)})(?= (?:quarter|kvartalet)))"
    r" (?P<part>half|halvåret|quarter|kvartalet) (?:of |av |in |i )?(?P<year>\d{4})\b",
    re.IGNORECASE,
)
_FROM_MONTH = re.compile(
    rf"\b(?P<month>{_NAMES})(?= (?:and|to|till|till och med|och|through|-|\u2013) (?:{_NAMES})"
    r" (?P<year>\d{4})\b)",
    re.IGNORECASE,
)
_YEAR = re.compile(
    r"(?<![\w.,-])(1[0-9]\d{2}|20\d{2})(?![\w%°]|[.,-]\d|\s?(?:°|%|K\b|C\b|F\b|[A-Z]?Pa\b|HV\b))"
)


@dataclass(frozen=True, slots=True)
class Day:
    """A day, month, quarter or year of a question."""

    start: int
    end: int
    first: date
    last: date
    """The last day of the period."""
    is_year: bool
    """Whether it is four digits alone, which may be a plain number as well."""


def days_of(text: str) -> tuple[Day, ...]:
    """The dates of `text`, in order, the most exact reading of each."""
    found: list[Day] = []
    for day in _all(text):
        if not any(other.start < day.end and day.start < other.end for other in found):
            found.append(day)
    return tuple(sorted(found, key=lambda each: each.start))


def _all(text: str) -> Iterator[Day]:
    for pattern in (_ISO, _PACKED):
        for match in pattern.finditer(text):
            yield from _day(match, *match.groups())
    for match in _DAY_FIRST.finditer(text):
        yield from _day(match, match[3], _month(match[2]), match[1])
    for match in _MONTH_FIRST.finditer(text):
        yield from _day(match, match[3], _month(match[1]), match[2])
    for match in _PART_OF_YEAR.finditer(text):
        count = 6 if match["part"].casefold() in ("half", "halvåret") else 3
        first = count * (_PLACES[match["place"].casefold()] - 1) + 1
        yield from _months(match, int(match["year"]), first, count)
    for match in _FROM_MONTH.finditer(text):
        yield from _months(match, int(match["year"]), int(_month(match["month"])), 1)
    for match in _MONTH.finditer(text):
        yield from _months(match, int(match[2]), int(_month(match[1])), 1)
    for match in _YEAR_MONTH.finditer(text):
        yield from _months(match, int(match[1]), int(match[2]), 1)
    for match in _QUARTER.finditer(text):
        year, quarter = int(match[2] or match[3]), int(match[1] or match[4])
        yield from _months(match, year, 3 * quarter - 2, 3)
    for match in _YEAR.finditer(text):
        year = int(match[1])
        yield Day(match.start(), match.end(), date(year, 1, 1), date(year, 12, 31), is_year=True)


def _month(name: str) -> str:
    return str(MONTHS[name.casefold()])


def _day(match: re.Match[str], year: str, month: str, day: str) -> Iterator[Day]:
    try:
        on = date(int(year), int(month), int(day))
    except ValueError:
        return
    yield Day(match.start(), match.end(), on, on, is_year=False)


def _months(match: re.Match[str], year: int, month: int, count: int) -> Iterator[Day]:
    if not (1 <= month <= 12 and year >= 1):
        return
    last = month + count - 1
    end = date(year, last, calendar.monthrange(year, last)[1])
    yield Day(match.start(), match.end(), date(year, month, 1), end, is_year=False)


def day_after(day: date) -> date:
    """The next day."""
    return day + timedelta(days=1)


IS_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")
"""A cell that is a date, or a date with a time."""


def packed(day: date) -> int:
    """A day as the number YYYYMMDD."""
    return day.year * 10_000 + day.month * 100 + day.day
