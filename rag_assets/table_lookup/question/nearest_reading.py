"""Questions that the rules refuse, read by what they are most like: proposed, never computed.

The embedding model of the index says which table and which heading a question is most like, in any
language that it knows. It says nothing else. Which operation is meant, which values, numbers and
months select rows, and which words turn an answer round is for rules. Nothing is proposed where two
tables or headings are about as near, or where such a word has no role.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow.compute as pc

from rag_assets.identity import canonical_number
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, Operation
from rag_assets.table_lookup.question.asked_units import named_units
from rag_assets.table_lookup.question.conditions import listed
from rag_assets.table_lookup.question.demands import unmet_demand
from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.question.linking import TableLinks, links_of
from rag_assets.table_lookup.question.placing import conditions_of
from rag_assets.table_lookup.question.quantities import Quantity, counted_words, unit_at
from rag_assets.table_lookup.question.question import ORDINALS, AskedQuestion
from rag_assets.table_lookup.question.value_mentions import (
    is_judged,
    links_of_word,
    value_mentions,
)
from rag_assets.table_lookup.sentences.naming import naming_column
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets.table_lookup.tables.table_contents import TableContents
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.phrases import language_of
from rag_assets.table_lookup.words.translating import in_english
from rag_assets.table_lookup.words.word_forms import plain_words, squashed
from rag_assets.terms.dates import MONTHS
from rag_assets.terms.units import converted

Embed: TypeAlias = Callable[[Sequence[str]], np.ndarray]
"""The vectors (n, d), of length 1, of n texts as queries."""

MOST_TABLES = 8
"""Tables whose headings are compared: those whose titles and headings together are most like."""
FARTHEST = 0.05
"""A table that is so much less like than the best is not meant."""
TABLES_APART, HEADINGS_APART, TWINS_APART = 0.01, 0.025, 0.025
"""How much more like a table, or a heading, must be than the next; and of two headings of which one
holds the other, or that begin alike. Fitted on one of two corpora that were set apart for it."""
OF_VALUE = 0.03
"""What a condition counts for its table."""
SHORTEST_NAME = 3
MOST_UNREAD = 2
TEMPERATURES: Final = {"C": "degC", "F": "degF"}
"""Headings write letters for degrees that are other units elsewhere."""
OPERATIONS: Final[Mapping[str, Operation]] = {
    "rows": "rows",
    "count": "count",
    "mean": "mean",
    "median": "median",
    "sum": "sum",
    "max": "max",
    "min": "min",
}
_QUOTED = re.compile(r"[\"\u201c\u201d\u201e\u00ab\u00bb]")
_CAPITALS = re.compile(r"\b[A-Z]{3,}\b")


class Likeness:
    """How like texts are, by a model; each text goes through it once."""

    def __init__(self, embed: Embed) -> None:
        """Use `embed` for texts that are not known yet."""
        self._embed = embed
        self._known: dict[str, np.ndarray] = {}

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors (n, d) of `texts`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known |= zip(new, self._embed(new), strict=True)
        return np.array([self._known[text] for text in texts])


@dataclass(frozen=True, slots=True)
class NearestReading:
    """What a question is most like."""

    plan: LookupPlan
    table: TableLinks
    column: LinkedColumn | None
    """The heading that was taken for what it is most like; None where rows are counted."""
    unread: tuple[str, ...]
    """Words of the question that stand in no heading, title or value of the table."""


@dataclass
class _Reading:
    """A question on one table."""

    asked: AskedQuestion
    table: TableLinks
    contents: TableContents
    is_german: bool
    likeness: float
    """How like the table the question is."""
    near: dict[str, float]
    """How like each column that may be meant it is, by name."""
    conditions: list[Condition] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    """Places of the words that have a role."""
    units: list[str] = field(default_factory=list)
    """Units that what is asked for is named by: `a kilo`."""
    is_singled_out: bool = False
    """Whether the question says words of headings that say which are meant."""
    is_open: bool = False
    """Whether it is of this table, and open what of it is meant."""

    @property
    def naming(self) -> str | None:
        """The column that names rows."""
        column = naming_column(self.table.info)
        return column.name if column else None

    def take(self, condition: Condition, words: Iterable[int]) -> None:
        """Let `words` select rows."""
        self.conditions.append(condition)
        self.used |= {*words}

    def texts(self, column: str) -> list[str]:
        """The different texts of a column."""
        return self.contents.texts[column].unique().drop_null().to_pylist()

    @property
    def most_like(self) -> LinkedColumn:
        """The column that is most like."""
        return self.table.column(max(self.near, key=self.near.__getitem__))

    def nearest(self, fits: Callable[[LinkedColumn], bool]) -> LinkedColumn | None:
        """The column that is most like, of those that fit and select nothing; None if two are."""
        selecting = {each.column for each in self.conditions}
        fitting = [
            each
            for each in self.table.columns
            if each.info.name in self.near.keys() - selecting and fits(each)
        ]
        fitting.sort(key=lambda each: -self.near[each.info.name])
        if len(fitting) > 1:
            first, second = fitting[:2]
            apart = TWINS_APART if _are_twins(first, second) else HEADINGS_APART
            if self.near[first.info.name] - self.near[second.info.name] < apart:
                self.is_open = True
        return fitting[0] if fitting and not self.is_open else None


def nearest_reading(
    question: str, catalogue: Catalogue, likeness: Likeness
) -> NearestReading | None:
    """The plan of the table and heading that a question is most like; None where that is open.

    Args:
        question: In English, Swedish or German.
        catalogue: The tables that may be asked.
        likeness: By the model of the index.
    """
    is_german = language_of(question) == "de"
    text = in_english(question) if is_german else question
    links = links_of(catalogue)
    asked = links.parsed(text)
    if not links.tables or _QUOTED.search(question):
        return None
    [own] = likeness.of([question])
    found: list[tuple[float, _Reading, NearestReading]] = []
    readings = [
        _Reading(
            asked,
            table,
            catalogue.contents(table.info),
            is_german,
            float((likeness.of(_titled(table)) @ own).max()),
            dict(zip(names, (likeness.of(headings) @ own).tolist(), strict=True)),
        )
        for table in _nearest_tables(links.tables, own, likeness)
        for names, headings in [_headings(table)]
        if names
    ]
    most = max((each.likeness for each in readings), default=0)
    for reading in sorted(readings, key=lambda each: -each.likeness):
        if reading.likeness < most - FARTHEST:
            break
        read = _read(reading)
        if read is not None and not unmet_demand(text, read.plan, reading.table.info):
            found.append((reading.likeness + OF_VALUE * len(reading.conditions), reading, read))
        elif reading.is_open and not found:
            return None
    found.sort(key=lambda each: -each[0])
    if not found or (len(found) > 1 and found[0][0] - found[1][0] < TABLES_APART):
        return None
    return found[0][2]


def _nearest_tables(
    tables: Sequence[TableLinks], own: np.ndarray, likeness: Likeness
) -> list[TableLinks]:
    if len(tables) <= MOST_TABLES:
        return [*tables]
    titles = [f"{table.info.title}: {', '.join(_headings(table)[1])}" for table in tables]
    order = np.argsort(-(likeness.of(titles) @ own))
    return [tables[place] for place in order[:MOST_TABLES]]


def _headings(table: TableLinks) -> tuple[list[str], list[str]]:
    """The names of the columns that may be meant, and their headings with their units."""
    infos = [each.info for each in table.columns if each.info.filled and not each.info.is_hidden]
    return [each.name for each in infos], [
        f"{each.heading} in {each.unit}" if each.unit else each.heading for each in infos
    ]


def _titled(table: TableLinks) -> list[str]:
    """Each heading after the title of its table, with the first values of texts."""
    names, headings = _headings(table)
    values = [
        ", ".join(value[:30] for value in info.values[:3]) if not info.is_numeric else ""
        for info in (table.column(name).info for name in names)
    ]
    return [
        f"{table.info.title}: {heading}{', such as ' if shown else ''}{shown}"
        for heading, shown in zip(headings, values, strict=True)
    ]


def _read(reading: _Reading) -> NearestReading | None:
    """What is asked of this table; None where it is not, or where that is open."""
    _take_values(reading)
    _take_acronyms(reading)
    if not (_take_months(reading) and _take_numbers(reading)):
        return None
    operation = _operation(reading)
    if operation is None:
        return None
    reading.used |= {place for mark in reading.asked.marks for place in mark.words}
    planned = _planned(reading, operation)
    if planned is None:
        return None
    plan, column = planned
    places = range(len(reading.asked.words))
    if not _is_in_units(reading, column) or any(_turns(reading, each, column) for each in places):
        return None
    if not _is_read(reading, operation, column):
        return None
    info = reading.table.info
    plan = replace(plan, source=info.source, table=info.table, operation=operation)
    return NearestReading(plan, reading.table, column, tuple(_unread(reading, column)))


def _is_read(reading: _Reading, operation: Operation, column: LinkedColumn | None) -> bool:
    """Whether the words that nothing explains are few, and stand where they select no rows."""
    asked = reading.asked
    words = asked.words
    unread = {
        place
        for place in range(len(words))
        if not (
            place in reading.used
            or asked.is_harmless[place]
            or words[place].folded in vocabulary.PER
            or _is_of_table(reading, place, column)
        )
    }
    if {word.folded for word in words[:2]} & {"when", "nar"} and not (
        column and (column.is_date or column.is_year)
    ):
        return False
    subject = set()
    heads = [mark.words[-1] for mark in asked.marks if mark.operation == "count"]
    heads += [p for p, w in enumerate(words) if w.folded in vocabulary.WHICH]
    for head in heads:
        place = head + 1
        while place < len(words) and (place in unread or words[place].folded in ("of", "the", "av")):
            subject.add(place)
            place += 1
    left = unread - subject
    if operation == "count":
        first = heads[0] + 1 if heads else 0
        own = reading.table.heading_forms - reading.table.title_forms
        return not left and not (first < len(words) and words[first].forms & own)
    return len(left) <= MOST_UNREAD


def _operation(reading: _Reading) -> Operation | None:
    """What is asked for; None where that is more than one thing, or none that a plan has."""
    asked = reading.asked
    found = {
        mark.operation
        for mark in asked.marks
        if not {*mark.words} & reading.used
        and unit_at(asked.text, asked.words[mark.words[-1]].end, frozenset()) is None
    }
    return OPERATIONS.get(next(iter(found), "rows")) if len(found) < 2 else None


def _planned(
    reading: _Reading, operation: Operation
) -> tuple[LookupPlan, LinkedColumn | None] | None:
    """The plan, with the column that it is about; None where the table has none for it."""
    if operation == "rows" and not reading.conditions:
        _take_parts(reading)
        reading.is_open = not reading.conditions and reading.is_singled_out
    conditions = tuple(reading.conditions)
    base = LookupPlan("", "", conditions)
    if operation == "count":
        if not conditions:
            column = reading.most_like
            flag = Condition(column.info.name, "=", (1,))
            return (replace(base, where=(flag,)), column) if column.is_flag else None
        is_one = any(each.column == reading.naming and each.op == "=" for each in conditions)
        return None if is_one else (base, None)
    if operation == "rows":
        column = reading.nearest(lambda each: each.info.name != reading.naming)
        if column is None or not conditions:
            return None
        columns = tuple(filter(None, (reading.naming, column.info.name)))
        return replace(base, columns=columns), column
    column = reading.nearest(_computable(reading))
    return (replace(base, column=column.info.name), column) if column else None


def _take_values(reading: _Reading) -> None:
    """Values that the question names, whole; or names by the word that they begin with."""
    asked, table = reading.asked, reading.table
    units = {each for start, _, end in named_units(asked.text) for each in asked.inside(start, end)}
    for mention in value_mentions(asked, table):
        if {*mention.words} <= units:
            continue
        names = {each for each in mention.columns if not table.column(each).info.is_numeric}
        name = reading.naming if reading.naming in names else None
        name = name or min(names, key=lambda each: table.column(each).info.distinct, default=None)
        if name and (condition := listed(name, {*mention.values(name)})):
            reading.take(condition, mention.words)
    if reading.naming is None:
        return
    values = reading.texts(reading.naming)
    for place, word in enumerate(asked.words):
        is_name = word.is_name or word.text[0].isupper() or word.has_digit
        if place not in reading.used and is_name and len(word.text) >= SHORTEST_NAME:
            held = {each for each in values if _begins(each, word.text)}
            if condition := listed(reading.naming, held):
                reading.take(condition, (place,))


def _begins(value: str, word: str) -> bool:
    """`Kyocera Solar 5` begins with `Kyocera`, and `W12X50` with `W12`."""
    head, rest = value[: len(word)], value[len(word) :]
    if head.casefold() != word.casefold() or not rest:
        return False
    return not rest[0].isalnum() or (word[-1].isdigit() and rest[0].isalpha())


def _take_parts(reading: _Reading) -> None:
    """A word that stands within one value of the table and in no other: it names that row."""
    for place, word in enumerate(reading.asked.words):
        is_plain = reading.asked.is_harmless[place] or len(word.text) < SHORTEST_NAME
        if place in reading.used or is_plain or is_judged(word):
            continue
        held = links_of_word(word, reading.table)
        if len(held) == 1:
            [link] = held
            reading.take(Condition(link.column, "=", (link.value,)), (place,))


def _take_acronyms(reading: _Reading) -> None:
    """`global warming potential` for `100yr GWP`: the headings with these initials are meant."""
    words = [word.folded for word in reading.asked.words]
    acronyms = {
        name: {*map(str.casefold, _CAPITALS.findall(reading.table.column(name).info.heading))}
        for name in reading.near
    }
    for size in range(len(words), 2, -1):
        for place in range(len(words) - size + 1):
            initials = "".join(word[0] for word in words[place : place + size])
            if meant := {name for name, found in acronyms.items() if initials in found}:
                reading.near = {name: reading.near[name] for name in meant}
                reading.is_singled_out = True
                reading.used |= {*range(place, place + size)}
                return


def _take_months(reading: _Reading) -> bool:
    """`in July`: the days of any year, where one column of dates holds few enough."""
    asked = reading.asked
    for place, word in enumerate(asked.words):
        month = MONTHS.get(word.folded)
        is_dated = any(place in asked.inside(each.start, each.end) for each in asked.quantities)
        if month is None or is_dated or place in reading.used or len(word.text) < SHORTEST_NAME:
            continue
        texts = [each for each in reading.table.columns if not each.info.is_numeric]
        dates = [each.info.name for each in texts if each.is_date]
        if len(dates) != 1:
            return False
        days = {each for each in reading.texts(dates[0]) if each[5:7] == f"{month:02}"}
        condition = listed(dates[0], days)
        if condition is None:
            return False
        reading.take(condition, (place,))
    return True


def _take_numbers(reading: _Reading) -> bool:
    """Numbers as conditions on the columns that are most like; whether all are placed."""
    asked = reading.asked
    for quantity in asked.quantities:
        words = {*asked.inside(quantity.start, quantity.end)}
        if words & reading.used:
            continue
        is_spelled = not quantity.days and not asked.text[quantity.at].isdigit()
        if is_spelled and quantity.unit and not quantity.is_marked:
            reading.units.append(quantity.unit)
        elif not _take_headings(reading, quantity):
            conditions = _placed(reading, quantity)
            if not conditions:
                return False
            reading.conditions += conditions
        reading.used |= words
    return True


def _placed(reading: _Reading, quantity: Quantity) -> tuple[Condition, ...]:
    """A number on the column that is most like; nothing where none or more than one takes it."""
    dated = [each for each in reading.table.columns if each.is_date or each.is_year]
    if quantity.days and len(dated) > 1:
        return ()
    taking = {
        each.info.name: _conditions(reading, quantity, each) for each in reading.table.columns
    }
    column = reading.nearest(lambda each: bool(taking[each.info.name]))
    return taking[column.info.name] if column else ()


def _take_headings(reading: _Reading, quantity: Quantity) -> bool:
    """`100 year warming potential`: the number is a word of headings, which are then meant."""
    if quantity.is_marked or len(quantity.values) != 1:
        return False
    digits = str(quantity.values[0])
    headings = {name: squashed(reading.table.column(name).info.heading) for name in reading.near}
    meant = {name for name, heading in headings.items() if heading.startswith(digits)}
    if meant:
        reading.near = {name: reading.near[name] for name in meant}
    return bool(meant)


def _conditions(
    reading: _Reading, quantity: Quantity, column: LinkedColumn
) -> tuple[Condition, ...]:
    """What a number asks of a column: a bare one of those that hold it, and of no other."""
    info = column.info
    plain = replace(quantity, unit=None) if info.unit is None else quantity
    found = conditions_of(plain, column)
    if quantity.is_marked or quantity.days or not found:
        return found
    number = canonical_number(quantity.values[0])
    return found if pc.any(pc.equal(reading.contents.texts[info.name], number)).as_py() else ()


def _computable(reading: _Reading) -> Callable[[LinkedColumn], bool]:
    """Whether a column has numbers, of the kind of quantity and the unit that are named."""
    kinds = [(word, vocabulary.KINDS.get(word.folded)) for word in reading.asked.words]
    units = [unit for _, unit, _ in named_units(reading.asked.text)]

    def is_meant(column: LinkedColumn) -> bool:
        own = TEMPERATURES.get(column.info.unit or "", column.info.unit or "")
        return all(
            word.forms & column.forms or converted(1, own, unit) is not None
            for word, unit in kinds
            if unit
        ) and all(converted(1, own, unit) is not None for unit in units)

    meant = {each.info.name for each in reading.table.columns if is_meant(each)}
    if len(meant) > 1 and reading.most_like.info.name not in meant:
        reading.is_open = True  # nothing says which of one kind is meant

    def fits(column: LinkedColumn) -> bool:
        is_amount = column.info.is_numeric and not column.is_flag and not column.is_number
        return is_amount and column.info.name in meant

    return fits


def _is_in_units(reading: _Reading, column: LinkedColumn | None) -> bool:
    """Whether what is asked for is given in the units that the question names."""
    named = [*reading.units, *(unit for _, unit, _ in named_units(reading.asked.text))]
    if column is None:
        return not named
    own = [*filter(None, [column.info.unit]), *plain_words(column.info.heading)]
    return all(any(converted(1, each, unit) == 1 for each in own) for unit in named)


def _turns(reading: _Reading, place: int, column: LinkedColumn | None) -> bool:
    """Whether a word without a role would turn the answer, or names what is not there."""
    asked = reading.asked
    word = asked.words[place]
    if place in reading.used or _is_of_table(reading, place, column):
        return False
    is_inner = len(word.text) > 1 and word.text[1:] != word.text[1:].lower()
    is_capital = place > 0 and word.text[0].isupper() and not reading.is_german
    if word.has_digit or is_inner or is_capital:
        return True
    if word.folded in vocabulary.PER:
        after = asked.words[place + 1 : place + 2]
        return any(each.forms & reading.table.heading_forms for each in after)
    return word.folded in (
        vocabulary.TURNING
        | vocabulary.NOT_IN_A_PLAN
        | vocabulary.NEGATIONS
        | vocabulary.NOT_A_LOOKUP
        | counted_words().keys()
        | ORDINALS.keys()
    )


def _is_of_table(reading: _Reading, place: int, column: LinkedColumn | None) -> bool:
    """Whether a word is of the title, of the heading, or the short name of a condition: `AC`."""
    word = reading.asked.words[place]
    if word.forms & reading.table.title_forms or (column and word.forms & column.forms):
        return True
    selecting = (squashed(each.column) for each in reading.conditions)
    return word.text.isupper() and any(word.folded in each for each in selecting)


def _unread(reading: _Reading, column: LinkedColumn | None) -> Iterable[str]:
    """Words that say something, and that nothing of the table explains."""
    for place, word in enumerate(reading.asked.words):
        is_said = place in reading.used or reading.asked.is_harmless[place]
        if not is_said and not _is_of_table(reading, place, column):
            yield word.text


def _are_twins(first: LinkedColumn, second: LinkedColumn) -> bool:
    shorter, longer = sorted((first.info.heading, second.info.heading), key=len)
    return squashed(shorter) in squashed(longer) or shorter.split()[:1] == longer.split()[:1]
