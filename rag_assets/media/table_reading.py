"""What a table says beside its records: titles, headings, units, totals, notes, marks of emptiness.

A table is looked at as a whole, once, and the same way whatever file it stands in: `read` takes
its lines and gives one `TableLayout`, which whoever reads the file applies. Of a long table it
sees the first and the last lines.

A record that is taken for something else is lost, so a line is left out only where the format says
what it is, or where two signs agree: its name is that of a total in one of the languages of
`table_words.toml`, and its numbers are the sums, means or extremes of the records. What was decided
on less is told as a guess, with the key of the config that says otherwise; what looks odd and was
kept is told too.
"""

import html
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from itertools import pairwise, takewhile, zip_longest
from pathlib import Path
from statistics import median, pstdev, stdev
from typing import Literal, NamedTuple, TypeAlias

from rag_assets.columns import numerals

Cell: TypeAlias = str | float | date | time | timedelta | None
Declared: TypeAlias = Literal["", "heading", "total", "outside"]
Kind: TypeAlias = Literal["title", "heading", "units", "rule", "total", "note"]

FIRST_LINES, LAST_LINES = 10_000, 200
"""So many lines of a table are looked at."""
MOST_HEADINGS = 3
"""Lines of headings, without one of units."""
MOST_TITLES = 20
MOSTLY = 0.6
LONGEST_UNIT = 14
SUMS = ("total", "subtotal")
SENTINELS = (-9999, -999, -99999, -99, 9999, 99999, 999, -999.25, 999999)
MOST_MISSES = 20
"""Where so many lines are called totals and are none, nothing is left out as one."""
FAR = 10
"""A sentinel is so many times larger than all other numbers of its column."""
_SHARE = Decimal("0.0005")
"""How far a sum may be from that of numbers that were rounded one by one."""
NUMBERED = ("", "#", "unnamed: 0", "index", "row", "row no.", "rad", "zeile", "ligne", "fila")
"""Headings above numbers of lines."""
LONGER = 1.4
"""A note is so many times longer than the cells above it."""
SHORTEST_NOTE = 30
"""Characters of what is a note by its length alone."""
FEWEST_WORDS = 4
"""Of a line that begins as notes do, without a colon."""
FIRST_LOOKED_AT = 200
"""So many lines tell what stands in a column."""
YEARS = range(1900, 2101)
"""Numbers that are headings as often as they are values."""
_COMMENTS = ("# ", "#\t", "// ", "-- ")
_BEGIN_NUMBERS = frozenset("0123456789+-.,\u2212")
_RULE = re.compile(r"[-=_+*~─═—.]{3,}")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2})?")
_MARKED = re.compile(r"[*†‡#©]|\(?\d{1,2}\)|\d{1,2}\) |\(?[a-z]\) |[¹²³]|--? ?\w+ ?-|//")
_WRITTEN_BREAK = re.compile(r"_x000[9AaDd]_|<br ?/?>")
_ENTITY = re.compile(r"&(#\d+|#x[0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]{1,30});")
_TOKEN = re.compile(r"[^\s:=]+")
_IN_BRACKETS = re.compile(r"\(([^()]{1,24})\)|\[([^\[\]]{1,24})\]")


class TableLine(NamedTuple):
    """A line of a table as its file has it."""

    number: int
    """Where it stands in the file, from 1; a gap is a blank line."""
    cells: Sequence[Cell]
    """By column; a line of a CSV file may have too few."""
    declared: Declared = ""
    """What the format says of it."""
    is_merged: bool = False
    """Whether one of its cells reaches over several columns."""


class LeftOut(NamedTuple):
    """A line that is no record."""

    number: int
    kind: Kind
    text: str
    """What stands in it, shortened."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the config says of a table."""

    totals: Literal["leave_out", "keep"] = "leave_out"
    empty: Sequence[str] = ()
    headings: int | None = None
    units: int | None = None
    """The line of units, counted from the first line of headings."""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """What was decided of a table."""

    names: tuple[str, ...] = ()
    """The heading of each column; empty where it has none."""
    units: Mapping[int, str] = field(default_factory=dict)
    """What a line of units says of a column."""
    headings: tuple[int, ...] = ()
    """The lines of headings, that of units among them."""
    left_out: tuple[LeftOut, ...] = ()
    no_columns: Mapping[int, str] = field(default_factory=dict)
    """Columns that hold nothing of the records, and why."""
    empty: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """The texts of a column that stand for an empty cell."""
    is_escaped: bool = False
    """Whether its texts are written with the entities of HTML."""
    guesses: tuple[str, ...] = ()
    """What was decided against the odds or left open, each with what says otherwise."""
    measured: frozenset[int] = frozenset()
    """Columns of numbers of a table of which the ends were seen: between these any mark that
    stands for an empty cell is one."""
    last_heading: tuple[str, ...] = ()
    beside: frozenset[int] = frozenset()
    """The numbers of all lines that are no records."""

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.names)

    def is_record(self, line: TableLine) -> bool:
        """Whether a line is a record: it was seen, or it stands between those that were."""
        if line.number in self.beside or not any(map(_text, line.cells)):
            return False
        return not self.last_heading or _texts(line, self.width) != self.last_heading

    def value(self, column: int, cell: Cell) -> Cell:
        """A cell without marks of emptiness and escapes."""
        if not isinstance(cell, str):
            marks = self.empty.get(column)
            return None if marks and cell is not None and _spelled(cell) in marks else cell
        text = unescaped(cell) if self.is_escaped else cell
        mark = text.strip()
        is_marked = column in self.measured and _is_mark(mark)
        return None if not mark or is_marked or mark in self.empty.get(column, ()) else text

    def told(self) -> str:
        """What was decided of the lines and columns, in words; empty where nothing was."""
        kinds: dict[str, list[LeftOut]] = {}
        for each in self.left_out:
            kinds.setdefault(each.kind, []).append(each)
        said = [
            f"{_lines([each.number for each in found])} ({kind}: {_quoted(found)})"
            for kind, found in kinds.items()
        ]
        said += [f"column {column + 1} ({why})" for column, why in self.no_columns.items()]
        parts = [f"left out: {', '.join(said)}"] if said else []
        if len(self.headings) > 1:
            parts.append(f"headings: {_lines(self.headings)}")
        if self.is_escaped:
            parts.append("escapes such as `&amp;` are read as the signs that they stand for")
        return "; ".join(parts)

    def told_of(self, column: int) -> str:
        """Which texts of a column stand for an empty cell; empty where none does."""
        marks = sorted(self.empty.get(column, ()))
        return f"empty: {', '.join(map(repr, marks))}" if marks else ""


def unescaped(text: str) -> str:
    """A text without entities of HTML and breaks that a program wrote as words."""
    text = _WRITTEN_BREAK.sub(" ", text)
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def _folded(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text.casefold() for text in texts)


def read(
    lines: Sequence[TableLine], *, wishes: Wishes | None = None, is_whole: bool = True
) -> TableLayout:
    """What a table says of itself.

    Args:
        lines: Its lines, or the first and the last ones.
        wishes: What the config says.
        is_whole: Whether `lines` are all of them.
    """
    filled = [line for line in lines if any(map(_text, line.cells))]
    return (
        _LayoutReader(filled, wishes or Wishes(), is_whole=is_whole).read()
        if filled
        else TableLayout()
    )


@cache
def _words() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_name("table_words.toml").read_text("utf-8"))


@cache
def _summaries() -> Mapping[tuple[str, ...], str]:
    """What a summary is of, by the words of its name."""
    return {
        tuple(_tokens(name)): kind
        for kind, names in reversed(_words()["summaries"].items())
        for name in names
    }


@lru_cache(maxsize=65_536)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(each.strip(".,;()*") or each for each in _TOKEN.findall(text.casefold()))


@lru_cache(maxsize=65_536)
def _summary_named(text: str) -> tuple[str, bool] | None:
    """What a line of that name sums up, and whether the name says nothing else."""
    tokens, known = _tokens(text), _summaries()
    if kind := known.get(tokens):
        return kind, True
    found = (
        known.get(tokens[start:end])
        for length in range(len(tokens) - 1, 0, -1)
        for start in {0, len(tokens) - length}
        for end in (start + length,)
    )
    return next(((kind, False) for kind in found if kind), None) if len(tokens) <= 8 else None


def _text(cell: Cell) -> str:
    return cell.strip() if isinstance(cell, str) else "" if cell is None else _spelled(cell)


def _spelled(cell: Cell) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).removesuffix(" 00:00:00") if isinstance(cell, date) else str(cell)


def _texts(line: TableLine, width: int) -> tuple[str, ...]:
    return tuple(" ".join(_text(cell).split()) for cell in (*line.cells, *[""] * width))[:width]


def _number(text: str) -> float | None:
    """A number by whatever mark of decimals; None of a text."""
    found = numerals.plain(text, "point") or numerals.plain(text, "comma")
    return float(found) if found else None


@lru_cache(maxsize=65_536)
def _is_number(text: str) -> bool:
    return any(numerals.plain(text, mark) is not None for mark in numerals.PATTERNS)


def _is_measured(text: str) -> bool:
    """Whether a text is a number, a date or a time."""
    return text[:1] in _BEGIN_NUMBERS and (_is_number(text) or bool(_DATE.fullmatch(text)))


@cache
def _marks(name: str) -> frozenset[str]:
    return frozenset(_words()["empty"][name])


def _is_written(text: str) -> bool:
    """Whether a program wrote a text for an empty cell, whatever column it stands in."""
    return text.casefold() in _marks("written") or text in _marks("cased")


def known_marks() -> frozenset[str]:
    """All marks of emptiness among numbers, in small letters."""
    return frozenset(map(str.casefold, _marks("written") | _marks("usual") | _marks("cased")))


def _may_be_meant(text: str) -> bool:
    """Whether a text that stands for an empty cell among numbers may be a word elsewhere."""
    return text.isalpha() or len(text) < 3


def _is_mark(text: str) -> bool:
    return _is_written(text) or text.casefold() in _marks("usual")


class _LayoutReader:
    """One look at a table."""

    def __init__(self, lines: Sequence[TableLine], wishes: Wishes, *, is_whole: bool) -> None:
        self.lines, self.wishes, self.is_whole = lines, wishes, is_whole
        widths = Counter(len(line.cells) for line in lines)
        self.width = max(widths, key=lambda width: (widths[width], width))
        self.texts = [_texts(line, self.width) for line in lines]
        self.filled = [[column for column, text in enumerate(row) if text] for row in self.texts]
        fills = Counter(map(len, self.filled))
        self.typical = max(fills, key=lambda fill: (fills[fill], fill))
        """How many cells most lines fill."""
        self.first = min(min(columns, default=self.width) for columns in self.filled)
        self.out: dict[int, LeftOut] = {}
        self.guesses: dict[str, None] = {}
        self.again: set[str] = set()
        """Names of totals that several lines have."""

    def read(self) -> TableLayout:
        start = self._first_heading()
        depth, unit_line = self._headings(start)
        heads = range(start, start + depth)
        names, units = self._names(heads, unit_line)
        is_escaped = self._is_escaped()
        names = tuple(map(unescaped, names)) if is_escaped else names
        records = self._without_page_lines(range(start + depth, len(self.lines)), heads)
        while len(records) > 1 and self._is_note(records):
            self._leave_out(records.pop(), "note")
        if self.wishes.totals == "leave_out":
            records = self._without_totals(records, self._empty(records))
        empty = self._empty(records)
        self._tell_doubts(records, empty, names)
        if depth == 1 and self.wishes.headings is None and not self.lines[start].declared:
            self._tell_first_record(start, records)
        headings = tuple(self.lines[place].number for place in heads)
        left_out = tuple(self.out[place] for place in sorted(self.out))
        return TableLayout(
            names=names,
            units=units,
            headings=headings,
            left_out=left_out,
            no_columns=self._no_columns(records, names),
            empty=empty,
            is_escaped=is_escaped,
            guesses=tuple(self.guesses),
            last_heading=next((self.texts[at] for at in heads[-1:] if self._is_repeatable(at)), ()),
            measured=frozenset(() if self.is_whole else self._measured_columns(records)),
            beside=frozenset({*headings, *(each.number for each in left_out)}),
        )

    def _leave_out(self, place: int, kind: Kind) -> None:
        text = " | ".join(filter(None, self.texts[place]))
        self.out[place] = LeftOut(self.lines[place].number, kind, text)

    def _guess(self, text: str) -> None:
        self.guesses[text] = None

    def _own(self, place: int) -> list[str]:
        """The texts of the filled cells of a line."""
        return [self.texts[place][column] for column in self.filled[place]]

    def _is_of_texts(self, place: int) -> bool:
        return not any(map(_is_measured, self._own(place)))

    def _is_apart(self, place: int) -> bool:
        """Whether a line has fewer cells than others, a wide one, or a blank line below it."""
        line, following = self.lines[place], self.lines[place + 1 : place + 2]
        is_short = len(line.cells) < self.width > 1
        return (
            is_short or line.is_merged or any(line.number + 1 < each.number for each in following)
        )

    def _is_repeatable(self, head: int) -> bool:
        """Whether a line of headings has several cells, and a text among them."""
        return len(self.filled[head]) > 1 and not all(map(_is_measured, self._own(head)))

    def _is_rule(self, place: int) -> bool:
        own = self._own(place)
        return all(map(_RULE.fullmatch, own)) and max(len(own), self.typical) > 1

    def _is_comment(self, place: int) -> bool:
        is_alone = len(self.filled[place]) == 1 or len(self.lines[place].cells) < self.width
        return is_alone and self.typical > 1 and self._own(place)[0].startswith(_COMMENTS)

    # where records begin

    def _first_heading(self) -> int:
        """The first line of headings; those above are left out."""
        declared = [place for place, line in enumerate(self.lines) if line.declared == "heading"]
        start = declared[0] if declared else self._below_titles()
        for place in range(start):
            is_total = self._named(place) and not self._is_of_texts(place)
            self._leave_out(place, "total" if is_total else "title")
        return start

    def _below_titles(self) -> int:
        """The first line of several texts, if all above it are titles."""
        place = titles = 0
        while place < len(self.lines) - 1 and titles < MOST_TITLES and self._may_be_title(place):
            titles += not self._is_comment(place)
            place += 1
        is_sure = all(map(self._is_comment, range(place)))
        is_head = len(self.filled[place]) > 1 and self._is_of_texts(place)
        is_head = is_head or self.wishes.headings == 0
        is_apart = len(self.filled[place]) > 2 or any(map(self._is_apart, range(place)))
        return place if is_sure or (is_head and is_apart) else 0

    def _may_be_title(self, place: int) -> bool:
        filled, own = self.filled[place], self._own(place)
        if (
            self.lines[place].declared == "outside"
            or self._is_comment(place)
            or self._is_rule(place)
        ):
            return True
        if self._named(place) and not self._is_of_texts(place):
            return self._is_of_texts(place + 1) and len(self.filled[place + 1]) >= len(filled)
        if len(filled) >= self.typical:
            return False
        if len(filled) == 1:
            return filled[0] == self.first and self._is_of_texts(place)
        is_short = len(self.lines[place].cells) < self.width and 2 * len(filled) <= self.typical
        return is_short or (len(filled) == 2 and self.typical > 3 and own[0].endswith(":"))

    def _measured_columns(self, places: Iterable[int]) -> set[int]:
        """The columns that hold numbers, dates or times in most of these lines."""
        rows = [self.texts[place] for place in places]
        found = set()
        for column in range(self.width):
            texts = [row[column] for row in rows if row[column] and not _is_mark(row[column])]
            measured = sum(map(_is_measured, texts))
            if measured and measured >= MOSTLY * len(texts):
                found.add(column)
        return found

    def _headings(self, start: int) -> tuple[int, int | None]:
        """How many lines of headings there are, and which line is one of units."""
        wished, left = self.wishes, len(self.lines) - start
        if wished.headings is not None or wished.units:
            heads = 1 if wished.headings is None else wished.headings
            depth = min(max(heads, wished.units or 0), left)
            return (
                depth,
                start + wished.units - 1 if wished.units and wished.units <= left else None,
            )
        if left > 1 and self._is_rule(start + 1):
            return 2, None
        depth = max(1, sum(line.declared == "heading" for line in self.lines))
        while depth <= MOST_HEADINGS and depth < left:
            if self._is_line_of_units(start + depth):
                return depth + 1, start + depth
            if depth == MOST_HEADINGS or not self._goes_on(start + depth):
                break
            depth += 1
        return depth, None

    def _is_line_of_units(self, place: int) -> bool:
        """Whether a line says units alone: short texts over numbers, and nothing over texts."""
        labels = _words()["units"]["label"]
        texts = {column: self.texts[place][column] for column in self.filled[place]}
        named = {column for column, text in texts.items() if text.casefold() in labels}
        units = {column: text for column, text in texts.items() if column not in named}
        if not units or not self._is_of_texts(place) or any(map(_is_mark, units.values())):
            return False
        columns, above = self._measured_columns(self._below(place)), self.texts[place - 1]
        if all(map(_IN_BRACKETS.fullmatch, units.values())):
            are_numbers = any(_is_measured(text.strip("()[]")) for text in units.values())
            return not are_numbers and not columns.isdisjoint(units)
        return (
            units.keys() <= columns
            and len(columns) < self.width
            and (bool(named) or self.first not in units)
            and all(above[column] and len(text) <= LONGEST_UNIT for column, text in units.items())
            and all(above[one] != above[other] for one, other in pairwise(units))
            and not self._named(place)
        )

    def _below(self, place: int) -> range:
        return range(place + 1, min(len(self.lines), place + FIRST_LOOKED_AT))

    def _goes_on(self, place: int) -> bool:
        """Whether a line names the parts of what the line above it names."""
        filled, before = self.filled[place], set(self.filled[place - 1])
        above = self._spread(place - 1, over=filled)
        grouped = {
            column
            for one, other in pairwise(filled)
            if one + 1 == other and above[one] and above[one] == above[other]
            for column in (one, other)
        }
        is_grouped = bool(grouped) and all(
            self.texts[place][column] == above[column]
            for column in filled
            if column not in grouped and above[column]
        )
        is_partial = self.first not in filled and all(
            self.first in self.filled[each] for each in self._below(place)[:20]
        )
        if is_grouped and is_partial:  # years and the like below a name
            return True
        if not self._is_of_texts(place) or self._named(place):
            return False
        if self.lines[place - 1].is_merged and is_grouped:
            return True
        completes = not before.issuperset(filled) and len(before) + 1 < len(filled)
        columns = self._measured_columns(self._below(place)) if is_grouped or completes else set()
        return not columns.isdisjoint(filled) and not any(map(_is_mark, self._own(place)))

    def _spread(self, place: int, *, over: Collection[int]) -> list[str]:
        """The texts of a line, each going on over the blank cells that have a text below."""
        texts = list(self.texts[place])
        for column in range(1, 0 if self.lines[place].is_merged else self.width):
            if not texts[column] and column in over:
                texts[column] = texts[column - 1]
        return texts

    def _names(
        self, heads: range, unit_line: int | None
    ) -> tuple[tuple[str, ...], Mapping[int, str]]:
        """The heading of each column, and its unit."""
        places = [place for place in heads if place != unit_line and not self._is_rule(place)]
        parts: list[dict[str, None]] = [{} for _ in range(self.width)]
        for place, below in zip_longest(places, places[1:]):
            over = () if below is None else self.filled[below]
            for column, text in enumerate(self._spread(place, over=over)):
                parts[column] |= {text: None} if text else {}
        labels = _words()["units"]["label"]
        units = {
            column: found[1] or found[2] if (found := _IN_BRACKETS.fullmatch(text)) else text
            for column, text in enumerate(() if unit_line is None else self.texts[unit_line])
            if text and text.casefold() not in labels
        }
        names = [" ".join(each) for each in parts]
        if len(places) == 1:  # as the file spells them
            spelled = map(_text, self.lines[places[0]].cells)
            names = [*spelled, *[""] * self.width][: self.width]
        return tuple(names), units

    # lines that are no records

    def _without_page_lines(self, places: Iterable[int], heads: range) -> list[int]:
        """Without lines drawn, headings said again, and what stands right above these."""
        headings = {_folded(self.texts[head]) for head in heads if self._is_repeatable(head)}
        records: list[int] = []
        for place in places:
            is_again = len(self.filled[place]) > 1 or place - 1 in self.out
            if is_again and _folded(self.texts[place]) in headings:
                while records and len(self.filled[records[-1]]) == 1 < self.typical:
                    self._leave_out(records.pop(), "note")
                self._leave_out(place, "heading")
            elif self._is_rule(place):
                self._leave_out(place, "rule")
            else:
                records.append(place)
        return records

    def _is_note(self, records: Sequence[int]) -> bool:
        """Whether the last of these lines speaks of the table."""
        *before, place = records
        if self.lines[place].declared == "outside" or self._is_comment(place):
            return True
        filled = self.filled[place]
        if len(filled) > 1 or self.typical < 2 or _is_measured(text := self._own(place)[0]):
            return False
        while len(before) > 1 and len(self.filled[before[-1]]) == 1:
            before.pop()
        if _is_mark(text) or any(len(self.filled[each]) < 2 for each in before[-50:]):
            return False
        others = [self.texts[each][filled[0]] for each in before]
        is_sentence = text.endswith(".") and not any(each.endswith(".") for each in others)
        longest = max(SHORTEST_NOTE, LONGER * max(map(len, others)))
        is_long = is_sentence or len(text) >= longest
        is_long = is_long and self.typical > 2 and " " in text
        return (
            is_long
            or self._is_like_a_note(place, others)
            or (self._is_apart(place) and len(self.lines[place].cells) != self.width)
            or self.lines[place].is_merged
            or self.lines[place - 1].number + 1 < self.lines[place].number
        )

    def _is_like_a_note(self, place: int, others: Sequence[str]) -> bool:
        text = self._own(place)[0].casefold()
        tokens, words = _tokens(text), _words()["notes"]
        is_sentence = len(tokens) >= FEWEST_WORDS
        begins = any(
            text.startswith((f"{word}:", *[f"{word} "] * is_sentence)) for word in words["begin"]
        )
        is_count = len(tokens) < 5 and tokens[0].isdigit() and bool({*tokens} & {*words["counted"]})
        is_marked = _MARKED.match(text) is not None and not any(map(_MARKED.match, others))
        return begins or is_count or is_marked

    # totals

    def _named(self, place: int) -> tuple[str, bool] | None:
        """What the only text of a line, its first cell, says that it sums up."""
        own = self._own(place)
        texts = [text for text in own if not _is_measured(text) and not _is_mark(text)]
        is_named = texts == own[:1] or (self.lines[place].is_merged and {*texts} == {own[0]})
        return _summary_named(own[0]) if is_named else None

    def _without_totals(self, records: list[int], empty: Mapping[int, frozenset[str]]) -> list[int]:
        """Without the lines whose numbers are those of other lines."""
        columns = self._numbers(records, empty)
        named = {place: found for place in records if (found := self._named(place))}
        declared = {place for place in records if self.lines[place].declared == "total"}
        candidates = {*named, *declared, *self._unnamed(records, columns)}
        others = [place for place in records if place not in candidates]
        at_an_end = self._at_an_end(records, candidates)
        names = Counter(self._own(place)[0] for place in named)
        self.again = {name for name, count in names.items() if count > 1}
        summed: dict[int, None] = {}
        group: list[int] = []
        misses: Counter[str] = Counter()
        for place in records if others else ():
            number, name = self.lines[place].number, named.get(place)
            given = [group, others] if group or summed else [others]
            kind = name[0] if name else "total"
            may_sum_up = kind in SUMS or place in at_an_end
            if place not in candidates or misses[kind] > MOST_MISSES:
                group.append(place)
            elif place in declared or (
                may_sum_up and any(self._sums_up(place, each, name, columns) for each in given)
            ):
                summed[place] = None
                group = group if kind not in SUMS else []
                if place not in declared and name is None:
                    self._guess(
                        f"line {number} has no name, and its numbers are sums of the lines above: "
                        "it was left out as their total; `read: {totals: keep}` keeps it"
                    )
            else:
                group.append(place)
                misses[kind] += 1
        summed = {} if any(count > MOST_MISSES for count in misses.values()) else summed
        if not self.is_whole and any(place < len(self.lines) - LAST_LINES for place in summed):
            summed = {}
            self._guess(
                "lines called totals were kept as records, since they stand in all of the table, "
                "of which the ends alone are looked at"
            )
        left = [place for place in records if place not in summed]
        if len(left) <= len(summed) and len(left) > len(others):
            return records
        for place in summed:
            self._leave_out(place, "total")
            if (found := named.get(place)) and found[0] not in SUMS and len(summed) == 1:
                self._guess(
                    f"line {self.lines[place].number} is called {self._own(place)[0]!r}, and its "
                    "number is that of the other lines: it was left out; `read: {totals: keep}` "
                    "keeps it"
                )
        for place in {left[0], left[-1]} if others else ():
            name = self._own(place)[0]
            if (found := _summary_named(name)) and found[1] and len(self._own(place)) > 1:
                self._guess(
                    f"line {self.lines[place].number} is called {name!r}, but its cells are not "
                    "the numbers of the other lines: it was kept as a record"
                )
        return left

    def _at_an_end(self, records: Sequence[int], candidates: Collection[int]) -> set[int]:
        """The candidates with which the records begin or end, and those that stand together.

        A letter alone, such as N, is one of these only beside another.
        """
        first, last = (
            {*takewhile(candidates.__contains__, each)} for each in (records, reversed(records))
        )
        together = {
            place
            for pair in pairwise(records)
            if candidates.__contains__(pair[0])
            for place in pair
            if pair[1] in candidates
        }
        alone = {place for place in first | last if len(self._own(place)[0]) > 1}
        return together | alone

    def _unnamed(self, records: Sequence[int], columns: Collection[int]) -> set[int]:
        """The last line, if it has numbers alone where all others have a text."""
        *before, last = records or [0]
        names = [
            column
            for column in range(self.width)
            if column not in columns and all(self.texts[place][column] for place in before)
        ]
        is_bare = names and len(self.filled[last]) > 1 and {*columns} >= {*self.filled[last]}
        return {last} if len(before) > 2 and is_bare else set()

    def _numbers(
        self, records: Sequence[int], empty: Mapping[int, frozenset[str]]
    ) -> Mapping[int, Mapping[int, Decimal]]:
        """The numbers of each column that has any, by line."""
        texts = {
            column: {
                place: text
                for place in records
                if (text := self.texts[place][column]) and text not in empty.get(column, ())
            }
            for column in range(self.width)
        }
        evidence = {
            column: numerals.evidence_of([*each.values()]) for column, each in texts.items()
        }
        others = (
            numerals.told_by_others({str(column): each for column, each in evidence.items()})
            or "point"
        )
        found = {
            column: {
                place: Decimal(number)
                for place, text in each.items()
                if (number := numerals.plain(text, evidence[column].proven or others)) is not None
            }
            for column, each in texts.items()
        }
        return {
            column: numbers
            for column, numbers in found.items()
            if numbers and len(numbers) >= MOSTLY * len(texts[column])
        }

    def _sums_up(
        self,
        place: int,
        records: Sequence[int],
        name: tuple[str, bool] | None,
        columns: Mapping[int, Mapping[int, Decimal]],
    ) -> bool:
        """Whether the numbers of a line are what its name says of `records`."""
        kind, is_whole = name or ("total", False)
        if kind == "count":
            return self._own(place)[1:] == [str(len(records))] and is_whole
        fits = []
        for held in columns.values():
            numbers = [held[each] for each in records if each in held]
            if place in held and (held[place] or any(numbers)):
                fits.append(_fits(kind, held[place], numbers, self.is_whole, is_named=is_whole))
        if not is_whole:
            is_sure = len(records) > 1 and len(fits) > 1
            return bool(fits) and all(fits) and (is_sure or self._is_of_group(place, records))
        if len(records) == 1:
            is_last = place == len(self.lines) - 1
            return bool(fits) and all(fits) and (is_last or self._is_of_group(place, records))
        is_again = self._own(place)[0] in self.again
        return any(fits) and (all(fits) if is_again else 2 * sum(fits) >= len(fits))

    def _is_of_group(self, place: int, records: Sequence[int]) -> bool:
        """Whether the name of a line holds what all records have in one of their columns."""
        name = {*_tokens(self._own(place)[0])}
        shared = (
            {self.texts[each][column] for each in records} - {""} for column in range(self.width)
        )
        return any({*_tokens(*texts)} <= name for texts in shared if len(texts) == 1)

    # cells

    def _empty(self, records: Sequence[int]) -> Mapping[int, frozenset[str]]:
        """The texts of each column that stand for an empty cell."""
        counted = [
            Counter(filter(None, (self.texts[place][column] for place in records)))
            for column in range(self.width)
        ]
        found: list[set[str]] = []
        usual: set[str] = set()
        for column, texts in enumerate(counted):
            marks = {text for text in texts if _is_mark(text)}
            others = texts.total() - sum(texts[text] for text in marks)
            measured = sum(count for text, count in texts.items() if _is_measured(text))
            if measured and measured >= MOSTLY * others:
                usual |= marks
                marks |= self._sentinels(texts, column)
            elif 2 * others < texts.total():
                marks = set()
            else:
                marks = {text for text in marks if _is_written(text)}
            wished = self.wishes.empty
            found.append(marks | {each for each in wished if each in texts or not self.is_whole})
        for marks, texts in zip(found, counted, strict=True):
            if any(len(text) > 2 for text in texts if text not in usual):
                marks |= {text for text in usual & texts.keys() if not _may_be_meant(text)}
        return {column: frozenset(marks) for column, marks in enumerate(found) if marks}

    def _sentinels(self, counted: Counter[str], column: int) -> set[str]:
        """Numbers that stand for an empty cell: far from all others, and there twice."""
        numbers = {
            text: float(found)
            for text in counted
            if (found := numerals.plain(text, "point") or numerals.plain(text, "comma"))
        }
        others = [number for number in numbers.values() if number not in SENTINELS]
        largest = [abs(number) for number in others]
        notes = " ".join(each.text for each in self.out.values()).split()
        sure = set()
        for text, number in numbers.items():
            if number not in SENTINELS or len(largest) < 2 or abs(number) <= max(largest):
                continue
            is_below = number < 0 <= min(others) and counted[text] > 1
            if not is_below and abs(number) < FAR * max(largest):
                continue
            is_sure = number < 0 and (counted[text] > 1 or text in notes)
            sure |= {text} if is_sure else set()
            self._guess(
                f"{text} in column {column + 1} was "
                f"{'read as an empty cell' if is_sure else 'kept as a number'}: "
                "`read: {empty: [...]}` names what stands for empty cells"
            )
        return sure

    def _tell_doubts(
        self, records: Sequence[int], empty: Mapping[int, frozenset[str]], names: Sequence[str]
    ) -> None:
        """Tell what keeps a column of numbers from being one, and lines that lack their name."""
        bare = [place for place in records if not self.texts[place][self.first]]
        if len(records) > 3 and len(bare) == 1 and bare[0] in (records[0], records[-1]):
            self._guess(
                f"line {self.lines[bare[0]].number} has no first cell and was kept as a record: "
                "`read: {headings: ..., units: ...}` says which lines are none"
            )
        for column, name in enumerate(names):
            texts = [self.texts[place][column] for place in records]
            texts = [text for text in texts if text and text not in empty.get(column, ())]
            odd = Counter(text for text in texts if not _is_measured(text))
            if len(odd) == 1 and 0 < 2 * odd.total() < len(texts) > 3:
                [text] = odd
                self._guess(
                    f"the column {name or column + 1} holds numbers and {text!r}: it is text; if "
                    f"that stands for an empty cell, say `read: {{empty: [{text!r}]}}`"
                )

    def _tell_first_record(self, head: int, records: Sequence[int]) -> None:
        """Tell if what was read as headings looks like the first record of a list without any."""
        above = self.texts[head]
        columns = self._measured_columns(records[:FIRST_LOOKED_AT])
        measured = {column: above[column] for column in columns if _is_measured(above[column])}
        numbers = [each for each in map(_number, measured.values()) if each is not None]
        steps = {other - one for one, other in pairwise(numbers)}
        is_series = steps == {1.0} or (len(numbers) > 2 and len(steps) == 1 and min(steps) > 0)
        are_years = bool(numbers) and all(number in YEARS for number in numbers)
        are_years = are_years and not all(
            _number(self.texts[place][column]) in YEARS
            for place in records[:FIRST_LOOKED_AT]
            for column in measured
        )
        are_dates = len(measured) > 1 and not numbers
        is_again = any(
            text and text == self.texts[place][column]
            for column, text in enumerate(above)
            for place in records
        )
        if is_again or (measured and not (is_series or are_years or are_dates)):
            self._guess(
                f"line {self.lines[head].number} was read as the headings and looks like a record: "
                "`read: {headings: 0}` reads a table without headings"
            )

    def _no_columns(self, records: Sequence[int], names: Sequence[str]) -> Mapping[int, str]:
        """Columns without a name that hold nothing, or the numbers of the lines."""
        found = {}
        for column, name in enumerate(names):
            texts = [self.texts[place][column] for place in records]
            if not name and not any(texts):
                found[column] = "empty"
            elif (
                any(names)
                and name.casefold() in NUMBERED
                and self.is_whole
                and self.width > 2 < len(texts)
            ):
                counted = [list(map(str, range(first, first + len(texts)))) for first in (0, 1)]
                if texts in counted:
                    found[column] = "numbers of the lines"
        return found

    def _is_escaped(self) -> bool:
        """Whether `&` stands before entities alone, none of which is a cell of its own."""
        texts = [text for row in self.texts for text in row if text]
        escaped = [text for text in texts if "&" in text]
        if any(map(_WRITTEN_BREAK.search, texts)):
            return True
        if not escaped or any("<" in text or ">" in text for text in texts):
            return False
        return not any(_ENTITY.fullmatch(text) or "&" in _ENTITY.sub("", text) for text in escaped)


def _fits(
    kind: str, value: Decimal, numbers: Sequence[Decimal], is_whole: bool, *, is_named: bool
) -> bool:
    """Whether `value` is what `kind` says of `numbers`, as rounded as it is written.

    What is called "All" and nothing else (`is_named`) may be their average.
    """
    if not numbers:
        return False
    total = sum(numbers, Decimal())
    if not is_whole:
        return is_named and kind in SUMS and min(numbers) >= 0 and value >= total > max(numbers)
    digits = -int(value.normalize().as_tuple().exponent)
    spread = rounded = Decimal("0.51").scaleb(-min(max(digits, 0), 4))
    if kind in SUMS and any(number != number.to_integral_value() for number in numbers):
        spread += abs(total) * _SHARE
    average = total / len(numbers)
    if kind == "total" and is_named and len(numbers) > 2 and abs(value - average) <= rounded:
        return True
    expected = {
        "total": (total,),
        "subtotal": (total,),
        "mean": (average,),
        "median": (median(numbers),),
        "minimum": (min(numbers),),
        "maximum": (max(numbers),),
        "deviation": (pstdev(numbers), stdev(numbers)) if len(numbers) > 1 else (),
    }[kind]
    return any(abs(value - Decimal(each)) <= spread for each in expected)


def _lines(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    more = f" and {len(numbers) - 10:,} more" if len(numbers) > 10 else ""
    return f"line{'s' * (len(numbers) > 1)} {shown}{more}"


def _quoted(found: Sequence[LeftOut]) -> str:
    text = found[0].text
    return f"{text[:77]}..." if len(text) > 80 else text
