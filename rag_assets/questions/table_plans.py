"""Lookup plans that somebody may ask a table for, drawn by hashes: plans come first, words later.

A plan selects 1 to a cap of rows, which are the gold. What is drawn hangs on the table's name, the
number of the draw, the keys of the rows and their cells; not on the order of rows, and on no other
table. A draw that an edited row has no part in gives the same plan again.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from functools import cached_property
from itertools import count, pairwise, product
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rag_assets.citations.values import Number, exact
from rag_assets.identity import canonical_number
from rag_assets.questions.picking import hashes, in_order, weights
from rag_assets.questions.table_words import TableWords, in_list
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanError, PlanValue
from rag_assets.table_lookup.plans.running import Found, cells_at, run_plan
from rag_assets.table_lookup.plans.sandbox import SandboxError
from rag_assets.table_lookup.sentences.naming import LONGEST_NAME, is_of_names, naming_column
from rag_assets.table_lookup.tables.catalogue import ROW_KEY, Catalogue, ColumnInfo, TableContents
from rag_assets.table_lookup.tables.cells import Comparison, folded

Kind: TypeAlias = Literal[
    "look_up", "list", "limit", "two_conditions", "count", "extreme", "top", "compare"
]
"""A cell of one row; rows with a value; rows beyond a limit; rows that fulfil two conditions, each
of which leaves some out; the number of such rows; the row with the highest or lowest number; so
many of these; two rows by one number."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

LEAST_FILLED = 0.05
"""A column is asked for if at least this share of its rows has a value."""
LONGEST_VALUE = 40
"""The most characters of a text by which rows are selected."""
MOST_DIGITS = 8
"""The most characters of a number that is a limit."""
TOPS = (2, 3, 5)
ATTEMPTS = 3
"""Draws of one kind that are tried before another kind."""
STEPS = (Decimal(5), Decimal(1))
"""People say 450 rather than 437."""
_UNSAID = re.compile(r"\s\s|^\*|[.:;]$|\d\)|,.*,|[\n\t]")
"""Marks of texts that are lists, sentences or slips rather than values."""


@dataclass(frozen=True)
class AskedTable:
    """A table, and what may be asked of it in the words of one language."""

    contents: TableContents
    catalogue: Catalogue
    """Holds this table alone."""
    words: TableWords
    most: int
    """The most rows that a plan may select."""

    @cached_property
    def columns(self) -> Mapping[str, ColumnInfo]:
        """All columns by their names."""
        return {each.name: each for each in self.contents.info.columns}

    @cached_property
    def label(self) -> ColumnInfo | None:
        """The column that names rows: one of numbers only where its heading can be said."""
        column = naming_column(self.contents.info)
        is_said = column and (not column.is_numeric or column.name in self.words.headings)
        return column if is_said and self._says_something(column) else None

    @cached_property
    def informative(self) -> Sequence[str]:
        """Columns that say something of a row: not hidden, no key, neither constant nor empty."""
        texts = self.contents.texts
        return [
            name
            for name in self.words.headings
            if self._says_something(self.columns[name]) and not self._has(name, "codes")
            if self.columns[name] != self.label and not texts[name].equals(texts[ROW_KEY])
        ]

    @cached_property
    def measured(self) -> Sequence[str]:
        """Columns of numbers that measure or count something."""
        numbers = (name for name in self.informative if self.columns[name].is_numeric)
        return [name for name in numbers if not self._has(name, "ordinals")]

    @cached_property
    def ranked(self) -> Sequence[str]:
        """The measured columns of which a highest and lowest number makes sense."""
        return [name for name in self.measured if not self._has(name, "ends")]

    @cached_property
    def choices(self) -> Sequence[str]:
        """Columns by a value of which rows are selected."""
        others = (self.columns[name] for name in self.informative if name not in self.measured)
        return [each.name for each in others if each.distinct < each.filled]

    @cached_property
    def hashes(self) -> np.ndarray:
        """The hashes of the keys of the rows."""
        return hashes(self.contents.rows[ROW_KEY].to_pylist())

    def cells(self, name: str) -> Sequence[PlanValue | None]:
        """The cells of a column as they are compared: folded texts, exact numbers, or None."""
        if name not in self._cells:
            self._cells[name] = [
                None if cell is None else folded(cell) if isinstance(cell, str) else exact(cell)
                for cell in self.contents.rows[name].to_pylist()
            ]
        return self._cells[name]

    def shown(self, name: str, places: Sequence[int]) -> tuple[PlanValue, ...]:
        """The cells at some places that are not empty, as they stand."""
        cells = cells_at(self.contents.info, places, self.catalogue, name)
        return tuple(cell for cell in cells if cell is not None)

    def places(self, condition: Condition) -> Sequence[int]:
        """The rows whose cell equals the one value of a condition."""
        [value] = condition.values
        wanted = folded(value) if isinstance(value, str) else value
        return [at for at, cell in enumerate(self.cells(condition.column)) if cell == wanted]

    @cached_property
    def _cells(self) -> dict[str, Sequence[PlanValue | None]]:
        return {}

    def _says_something(self, column: ColumnInfo) -> bool:
        if column.is_hidden or column.unit_column or column.unread or column.distinct < 2:
            return False
        if column.filled < max(2, LEAST_FILLED * self.contents.info.rows):
            return False
        if column.is_numeric:
            return (column.scale, column.minimum, column.maximum) != (0, 0, 1)
        return is_of_names(column) and not set(map(folded, column.values)) <= in_list("flags")

    def _has(self, name: str, words: str) -> bool:
        said = f"{self.words.headings[name]} {self.columns[name].heading}".casefold()
        return not in_list(words).isdisjoint(re.findall(r"\w+", said))


def sampled(table: AskedTable, draw: int) -> Iterator[tuple[Kind, Found]]:
    """The plans of a draw with their rows; the first counts, others are for where it is no good.

    The kinds take turns: so many draws as there are kinds have each of them once, where the table
    allows it.
    """
    name = f"{table.contents.info.source}/{table.contents.info.table}"
    kinds = in_order(KINDS, name, draw // len(KINDS))
    for turn, attempt in product(range(len(KINDS)), range(ATTEMPTS)):
        kind = kinds[(draw + turn) % len(KINDS)]
        try:
            plan = _Draw(table, (name, draw, kind, attempt)).plan(kind)
            found = run_plan(plan, table.catalogue) if plan else None
            if found and _is_meant(kind, found, table):
                yield kind, found
        except (PlanError, SandboxError):
            continue  # such as a text of more characters than a plan may have


def _is_meant(kind: Kind, found: Found, table: AskedTable) -> bool:
    """Whether the plan selects as many rows as its question means, by all that it says."""
    rows, plan = len(found.row_keys), found.plan
    if plan.order_by:
        ordered = [table.cells(plan.order_by)[at] for at in found.places]
        rows *= len(set(ordered)) == rows  # of equal numbers none is the highest
    if kind in ("look_up", "extreme", "top", "compare"):
        return rows == (2 if kind == "compare" else plan.limit or 1)
    parts = [LookupPlan(plan.source, plan.table, (each,)) for each in plan.where]
    alone = [len(run_plan(part, table.catalogue).row_keys) for part in parts[1:] and parts]
    return 1 <= rows <= table.most and rows < min([*alone, table.contents.info.rows])


@dataclass(frozen=True, slots=True)
class _Draw:
    """One draw of a plan."""

    table: AskedTable
    seed: tuple[str | int, ...]

    def plan(self, kind: Kind) -> LookupPlan | None:
        """A plan of that kind; None where this draw gives none."""
        every = range(self.table.contents.info.rows)
        match kind:
            case "look_up":
                return self._look_up()
            case "list":
                return self._rows(self._value(every))
            case "limit":
                return self._rows(self._limit(every))
            case "count":
                either = (self._value(every), self._limit(every))
                order = in_order((0, 1), *self.seed, "of")
                plan = self._rows(either[order[0]] or either[order[1]])
                return plan and replace(plan, columns=(), operation="count")
            case "two_conditions":
                first = self._value(every, most=len(every))
                places = self.table.places(first) if first else []
                second = self._limit(places) or self._value(places, without=first)
                return self._rows(first, second)
            case _:
                return self._ordered(kind)

    def _look_up(self) -> LookupPlan | None:
        table, asked = self.table, self._chosen(self.table.informative, "asked")
        if table.label is None or asked is None:
            return None
        for row in self._filled([table.label.name, asked])[:1]:
            where = [Condition(table.label.name, "=", table.shown(table.label.name, [row]))]
            others = [each for each in (*table.choices, *table.measured) if each != asked]
            others = [each for each in others if table.cells(each)[row] is not None]
            if len(table.places(where[0])) > 1 and (other := self._chosen(others, "other")):
                where.append(Condition(other, "=", table.shown(other, [row])))
            is_short = len(str(*table.shown(asked, [row]))) <= 2 * LONGEST_NAME
            if is_short and all(_is_said(each.values[0], LONGEST_NAME) for each in where):
                return self._rows(*where, columns=[asked])
        return None

    def _ordered(self, kind: Kind) -> LookupPlan | None:
        """The first rows by a number, or two that are named."""
        table, by = self.table, self._chosen(self.table.ranked, "by")
        limit = 1 if kind == "extreme" else in_order(TOPS, *self.seed, "number")[0]
        if by is None or not limit < min(table.columns[by].filled, table.most + 1):
            return None
        names, where = [table.label.name] if table.label else [], []
        if kind == "compare":
            called = table.cells(names[0]) if names else []
            held = Counter(called)
            alone = [at for at in self._filled([*names, by]) if names and held[called[at]] == 1]
            values = table.shown(names[0], alone[:2]) if alone[1:] else ()
            if not values or not all(_is_said(each, LONGEST_NAME) for each in values):
                return None
            where = [Condition(names[0], "in", values)]
        plan = self._rows(*where, columns=[*names, by])
        descending = in_order((True, False), *self.seed, "end")[0]
        limit = None if kind == "compare" else limit
        return plan and replace(plan, order_by=by, descending=descending, limit=limit)

    def _rows(self, *where: Condition | None, columns: Sequence[str] = ()) -> LookupPlan | None:
        """A plan for rows; where no column is asked for, the one that names rows is."""
        info, label = self.table.contents.info, self.table.label
        found = tuple(each for each in where if each)
        shown = tuple(columns) or ((label.name,) if label else ())
        whole = LookupPlan(info.source, info.table, found, shown)
        return whole if len(found) == len(where) else None

    def _value(
        self, places: Sequence[int], *, most: int = 0, without: Condition | None = None
    ) -> Condition | None:
        """A value of a column that several of these rows have, and at most so many."""
        table = self.table
        options = [each for each in table.choices if without is None or each != without.column]
        name = self._chosen(options, "choice")
        cells = table.cells(name) if name else []
        held = Counter(cells[at] for at in places if cells and cells[at] is not None)
        fitting = [value for value, count in held.items() if 1 < count <= (most or table.most)]
        fitting = [value for value in fitting if value and _is_said(value, LONGEST_VALUE)]
        if name is None or not fitting:
            return None
        value = in_order(fitting, *self.seed, "value")[0]
        own = [at for at in places if cells[at] == value]
        spelled = Counter(table.shown(name, own))
        return Condition(name, "=", (min(spelled, key=lambda one: (-spelled[one], str(one))),))

    def _limit(self, places: Sequence[int]) -> Condition | None:
        """A round limit of a column of numbers, beyond which 1 to the most of these rows lie."""
        name = self._chosen(self.table.measured, "measured")
        cells = self.table.cells(name) if name else []
        own = (cells[at] for at in places if cells)
        numbers = [cell for cell in own if isinstance(cell, (int, Decimal))]
        op: Comparison = in_order((">", ">=", "<", "<="), *self.seed, "op")[0]
        numbers.sort(reverse=op in (">", ">="))
        gaps = [pair for pair in pairwise(numbers[: self.table.most + 1]) if len({*pair}) > 1]
        if name is None or not gaps:
            return None
        low, high = sorted(in_order(gaps, *self.seed, "gap")[0])
        limit = round_between(low, high, with_low=op in (">", "<="))
        is_said = len(canonical_number(limit) or "") <= MOST_DIGITS and (limit or op in ("<", ">"))
        return Condition(name, op, (limit,)) if is_said else None

    def _chosen(self, options: Sequence[str], what: str) -> str | None:
        return in_order(options, *self.seed, what)[0] if options else None

    def _filled(self, names: Sequence[str]) -> Sequence[int]:
        """The rows with a cell in each of these columns, the chosen one first."""
        held = [self.table.cells(each) for each in names]
        order = np.argsort(weights(self.table.hashes, *self.seed), kind="stable").tolist()
        return [at for at in order if all(cells[at] is not None for cells in held)]


def round_between(low: Number, high: Number, *, with_low: bool) -> Number:
    """The roundest number from `low` to `high`, of which one end belongs to it."""
    least, most = Decimal(low), Decimal(high)
    for exponent in count((most - least).adjusted() + 1, -1):
        for step in (each.scaleb(exponent) for each in STEPS):
            found = (most / step).to_integral_value(ROUND_FLOOR) * step
            if with_low and found == most:
                found -= step
            if found > least or (with_low and found == least):
                return exact(found)
    raise AssertionError("some step is smaller than the gap")


def _is_said(value: PlanValue, longest: int) -> bool:
    """Whether people would write a value into a question."""
    text = str(value)
    is_short = len(text) <= longest and not _UNSAID.search(text)
    return is_short and folded(text) not in in_list("blanks")
