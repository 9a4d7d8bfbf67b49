"""Numbers as people write them: `1,250` is 1.25 or 1250, and only its neighbours tell which.

All cells of a column are looked at: `0,125` and `390,25` have a decimal comma and `12,500.0` has
none, so the whole column is read so. A column in which each cell may be either is read as the other
columns of its table are; if these do not tell either, the caller has to know, or nobody does.

Thousands may stand in groups: behind points or commas, blanks or apostrophes; those of India are
`1,25,000`. The minus may stand behind the number, as SAP writes it. Cells that all have the same
length and a blank (`123 456`) may be codes and are no numbers; so are those of a column with a
`1E5` in which nothing else tells that numbers have decimals or exponents.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.columns.sql import quoted

Mark: TypeAlias = Literal["point", "comma"]
"""What begins the decimals of a number."""

_BLANKS = " \u00a0\u202f'\u2019"
_MINUS = "\u2212"
_SIGNS: Mapping[Mark, tuple[str, str]] = {"point": (".", ","), "comma": (",", ".")}
"""The sign before decimals, and the one between thousands."""


def _pattern(mark: Mark) -> str:
    decimal, group = _SIGNS[mark]
    groups = "|".join(
        rf"[1-9]\d{{0,2}}(?:[{each}]\d{{{least},3}})*[{each}]\d{{3}}"
        for each, least in ((group, 2 if group == "," else 3), (_BLANKS, 3))
    )
    whole = rf"(?:0|[1-9]\d*|{groups})(?:[{decimal}]\d*)?"
    number = rf"(?:{whole}|[{decimal}]\d+)"
    return rf"(?:[+{_MINUS}-]?{number}(?:[eE][+-]?\d{{1,3}})?|{number}-)"


PATTERNS: Mapping[Mark, str] = {mark: _pattern(mark) for mark in _SIGNS}
"""Regular expressions, as Python and DuckDB read them, of a number with either mark."""
_COMPILED = {mark: re.compile(pattern, re.ASCII) for mark, pattern in PATTERNS.items()}

_ODD = f"[{_BLANKS}{_MINUS}]|[0-9.,]-$"
_CODE = re.compile(r"\+?[0-9]+( [0-9]+)+")
_WITH_E = re.compile(r"[0-9]+[eE][0-9]+")
"""What a code has, and a number only beside others with decimals or the sign of an exponent."""
_PADDED = re.compile(r"0[0-9]+")
_NO_CODE = r"[.,]|[eE][+-]"


@dataclass(frozen=True, slots=True)
class Numerals:
    """What the cells of a column show, those left out that are empty or no number at all."""

    fits: frozenset[Mark]
    """The marks with which every cell is a number."""
    commas: bool = False
    """Whether any cell has a comma."""
    points: bool = False
    is_odd: bool = False
    """Whether any cell has thousands behind blanks or apostrophes, or a minus of another kind."""
    is_code: bool = False
    """Whether all cells are digits with a blank, of one length, or one can be a code alone: `007`,
    or `1E5` where no other has decimals."""

    @property
    def proven(self) -> Mark | None:
        """The mark, where only one fits."""
        [*fits] = self.fits
        return fits[0] if len(fits) == 1 and (self.commas or self.points) else None

    @property
    def is_open(self) -> bool:
        """Whether each cell may be either of two numbers."""
        return len(self.fits) == len(_SIGNS) and (self.commas or self.points)

    def mark(self, *, others: Mark | None, default: Mark | None) -> Mark | None:
        """The mark of a column of numbers; None where it holds none, or nobody can tell.

        Args:
            others: What the other columns of the table prove.
            default: What else is known where each cell may be either.
        """
        if not self.fits or self.is_code:
            return None
        return (others or default) if self.is_open else (self.proven or "point")


def evidence_of(texts: list[str]) -> Numerals:
    """What `texts` show: those that are a number with some mark; the others count for nothing."""
    numbers = [text for text in texts if any(each.fullmatch(text) for each in _COMPILED.values())]
    if not numbers:
        return Numerals(frozenset())
    return Numerals(
        frozenset(mark for mark, each in _COMPILED.items() if all(map(each.fullmatch, numbers))),
        commas=any("," in text for text in numbers),
        points=any("." in text for text in numbers),
        is_odd=any(re.search(_ODD, text) for text in numbers),
        is_code=(all(map(_CODE.fullmatch, numbers)) and len(set(map(len, numbers))) == 1)
        or any(map(_PADDED.fullmatch, texts))
        or (
            any(map(_WITH_E.fullmatch, numbers))
            and not any(re.search(_NO_CODE, text) for text in numbers)
        ),
    )


def sql_evidence(value: str) -> str:
    """SQL: the fields of `Numerals` over all rows, `comma` and `point` for its `fits`."""
    fits = (f"bool_and(regexp_full_match({value}, {quoted(each)}))" for each in PATTERNS.values())
    codes = f"bool_and(regexp_full_match({value}, {quoted(_CODE.pattern)}))"
    return (
        f"[{', '.join(fits)}, bool_or(contains({value}, ',')), bool_or(contains({value}, '.')), "
        f"bool_or(regexp_matches({value}, {quoted(_ODD)})), "
        f"({codes} AND min(length({value})) = max(length({value}))) OR "
        f"(bool_or(regexp_full_match({value}, {quoted(_WITH_E.pattern)})) "
        f"AND NOT bool_or(regexp_matches({value}, {quoted(_NO_CODE)})))]"
    )


def evidence_from(found: list[bool | None]) -> Numerals:
    """What `sql_evidence` gave."""
    point, comma, *others = map(bool, found)
    fits: dict[Mark, bool] = {"point": point, "comma": comma}
    return Numerals(frozenset(mark for mark, is_fit in fits.items() if is_fit), *others)


def told_by_others(columns: Mapping[str, Numerals]) -> Mark | None:
    """The mark of the columns that prove one, if they agree."""
    proven = {mark for each in columns.values() if (mark := each.proven)}
    return proven.pop() if len(proven) == 1 else None


def plain(text: str, mark: Mark) -> str | None:
    """The number in `text` with a point before its decimals alone; None if it is none."""
    if not _COMPILED[mark].fullmatch(text):
        return None
    decimal, group = _SIGNS[mark]
    ungrouped = re.sub(f"[{group}{_BLANKS}]", "", text).replace(decimal, ".")
    return re.sub(f"{_MINUS}(.*)|(.*)-$", r"-\1\2", ungrouped)


def sql_plain(value: str, mark: Mark) -> str:
    """SQL: the same of a text that is a number with that mark."""
    decimal, group = _SIGNS[mark]
    ungrouped = f"regexp_replace({value}, {quoted(f'[{group}{_BLANKS}]')}, '', 'g')"
    pointed = f"replace({ungrouped}, {quoted(decimal)}, '.')"
    return f"regexp_replace({pointed}, '{_MINUS}(.*)|(.+)-$', '-\\1\\2')"
