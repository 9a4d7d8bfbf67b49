"""Who may see what: the groups that sources name in the config, looked up when somebody asks.

No unit says who may see it, so that a renamed group or another pattern rewrites none. The rules of
a source give each unit an audience: the groups that may see it, or everybody. Whoever asks has an
`Access`. What an index lets it see is a `Sight`: searches, reads, lookups and counts get it before
they begin, and go on as if there were no other units.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache, partial
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.sql import quoted
from rag_assets.config import Config, RowGroups
from rag_assets.config.globs import file_pattern
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet

Audience: TypeAlias = frozenset[str] | None
"""The groups that may see a unit; None: everybody."""
NOBODY: frozenset[str] = frozenset()
PLACE = ("unit_id", "source", "uri", "table")
"""The columns of a unit that say by which rule it is seen."""
BETWEEN = ","
"""Stands between several groups in a cell."""
TABLES_KEPT = 64
"""Tables whose rows name groups, of which these are remembered."""

View = TypeVar("View")
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Access:
    """What somebody who asks may see."""

    groups: frozenset[str] | None = None
    """The groups that they are in. None: everything may be seen, as by the person at the machine
    and by an administrator."""

    def within(self, config: Config) -> "Access":
        """The same access, its groups those that `config` knows.

        Where no source names groups there is nothing to look up: it is `EVERYTHING`.
        """
        sources = (*config.sources.documents, *config.sources.tables)
        if self.groups is None or all(each.groups is None for each in sources):
            return EVERYTHING
        return Access(self.groups & {*config.groups})


EVERYTHING = Access()


@dataclass(frozen=True, slots=True)
class SourceRule:
    """One pattern of the `groups` of a source."""

    key: str
    """Where it stands in the config."""
    fits: Callable[[str], object]
    """Whether it is about the document or table of a name."""
    says: frozenset[str] | RowGroups
    """The groups, or the column that names them."""


class AccessRules:
    """Which groups may see which unit of one complete set, by the config as it is now."""

    def __init__(self, store: Store, config: Config, complete_set: CompleteSet) -> None:
        self._store = store
        self._rows = complete_set.table_rows
        self._known = frozenset(config.groups)
        self._documents = {each.name for each in config.sources.documents}
        self._of_source: dict[str, Sequence[SourceRule] | None] = {}
        for kind, sources in (
            ("documents", config.sources.documents),
            ("tables", config.sources.tables),
        ):
            for source in sources:
                self._of_source[source.name] = (
                    None
                    if source.groups is None
                    else [
                        SourceRule(
                            key=f"sources.{kind}.{source.name}.groups.{pattern}",
                            fits=file_pattern(pattern).fullmatch
                            if kind == "documents"
                            else partial(_is_called, pattern=pattern),
                            says=groups if isinstance(groups, RowGroups) else frozenset(groups),
                        )
                        for pattern, groups in source.groups.items()
                    ]
                )
        self._audiences_of_rows = lru_cache(TABLES_KEPT)(self._read_audiences)
        self._tables_of = cache(self._read_tables)

    def of_place(self, source: str, name: str) -> Audience | Mapping[str, frozenset[str]]:
        """Who may see a document or a table; of a table whose rows differ, by the ids of its rows.

        What no pattern fits, and what is of a source that the config does not have, is nobody's;
        so is a row that names no known group.
        """
        if source in self._of_source and self._of_source[source] is None:
            return None
        rule = self.rule_of(source, name)
        if rule is None:
            return NOBODY
        if isinstance(rule.says, RowGroups):
            return self._audiences_of_rows(source, name, rule.says.column)
        return rule.says

    def rule_of(self, source: str, name: str) -> SourceRule | None:
        """The first pattern of a source that fits a document or table; None if none does."""
        rules = self._of_source.get(source) or ()
        return next((each for each in rules if each.fits(name)), None)

    def has_any(self, source: str, groups: frozenset[str]) -> bool:
        """Whether a source, or a row of it, names one of some groups, or it is open to all."""
        if source not in self._of_source:
            return False
        if (rules := self._of_source[source]) is None:
            return True
        says = [each.says for each in rules]
        if any(not isinstance(each, RowGroups) and not groups.isdisjoint(each) for each in says):
            return True
        by_row = any(isinstance(each, RowGroups) for each in says)
        places = (self.of_place(source, table) for table in self._tables_of(source) if by_row)
        audiences = (each.values() for each in places if isinstance(each, Mapping))
        return any(not groups.isdisjoint(named) for each in audiences for named in each)

    def of_unit(self, unit: Mapping[str, object]) -> Audience:
        """Who may see a unit, a row of `schemas.units` with the columns `PLACE`."""
        found = self.of_place(str(unit["source"]), str(unit["table"] or unit["uri"]))
        return found.get(str(unit["unit_id"]), NOBODY) if isinstance(found, Mapping) else found

    def name_of(self, source: str, table: str) -> str:
        """The document of a table inside one (`URI#INDEX`), or the table of a source."""
        return table.rpartition("#")[0] if source in self._documents else table

    def of_units(self, units: pa.Table) -> tuple[np.ndarray, list[Audience]]:
        """The audiences of units with the columns `PLACE`: (n,) places in a list, and the list."""
        known: dict[Audience, int] = {}
        of_place: dict[tuple[str, str], Audience | Mapping[str, frozenset[str]]] = {}
        places = np.empty(len(units), np.int32)
        columns = (units[name].to_pylist() for name in PLACE)
        for at, (unit, source, uri, table) in enumerate(zip(*columns, strict=True)):
            place = source, table or uri
            if place not in of_place:
                of_place[place] = self.of_place(*place)
            found = of_place[place]
            audience = found.get(unit, NOBODY) if isinstance(found, Mapping) else found
            places[at] = known.setdefault(audience, len(known))
        return places, [*known]

    def why(self, access: Access, unit: Mapping[str, object]) -> tuple[bool, str]:
        """Whether a unit (a row of `schemas.units`) is seen, and by which rule, in words."""
        source, name = str(unit["source"]), str(unit["table"] or unit["uri"])
        if access.groups is None:
            return True, "everything is seen without groups, as by an administrator"
        if source not in self._of_source:
            return False, f"the config has no source {source}: what is left of it is nobody's"
        if self._of_source[source] is None:
            return True, f"the source {source} is open to all: it has no groups"
        if (rule := self.rule_of(source, name)) is None:
            return False, f"no pattern in groups of the source {source} fits {name}: it is nobody's"
        audience = self.of_unit(unit) or ()
        named = f"names {', '.join(sorted(audience)) or 'no known group'}"
        if isinstance(rule.says, RowGroups):
            named = f"takes the column {rule.says.column}, whose cell {named}"
        is_seen = not access.groups.isdisjoint(audience)
        return is_seen, f"{rule.key} {named}"

    def _read_audiences(self, source: str, table: str, column: str) -> dict[str, frozenset[str]]:
        """The known groups that the cells of a column name, by the ids of the rows."""
        if (pin := self._rows) is None:
            return {}
        where = f"source = {quoted(source)} AND `table` = {quoted(table)}"
        rows = self._store.read(
            pin.table, columns=["row_id", "pairs"], where=where, version=pin.version
        ).combine_chunks()
        pairs = rows["pairs"].combine_chunks()
        cells, of_row = pairs.flatten(), pc.list_parent_indices(pairs)
        is_named = pc.equal(cells.field("column"), column)
        named = rows["row_id"].take(of_row.filter(is_named)).to_pylist()
        audiences = cache(self._groups_in)
        values = cells.field("value").filter(is_named).to_pylist()
        return {row: audiences(value or "") for row, value in zip(named, values, strict=True)}

    def _read_tables(self, source: str) -> Collection[str]:
        """The tables of a source that have rows."""
        if (pin := self._rows) is None:
            return ()
        where = f"source = {quoted(source)}"
        rows = self._store.read(pin.table, columns=["table"], where=where, version=pin.version)
        return rows["table"].unique().to_pylist()

    def _groups_in(self, cell: str) -> frozenset[str]:
        return self._known & {name.strip() for name in cell.split(BETWEEN)}


def _is_called(table: str, pattern: str) -> bool:
    """Whether a pattern of the config is, or fits, the name of a table."""
    return table == pattern or fnmatchcase(table, pattern)


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """What of one index somebody may see."""

    rules: AccessRules
    groups: frozenset[str]

    def is_of(self, audience: Audience) -> bool:
        """Whether they are among an audience."""
        return audience is None or not self.groups.isdisjoint(audience)

    def sees_document(self, source: str, uri: str) -> bool:
        """Whether they may see a document."""
        return self.rows_of(source, uri) is None

    def sees_unit(self, unit: Mapping[str, object]) -> bool:
        """Whether they may see a unit, a row of `schemas.units` with the columns `PLACE`."""
        return self.is_of(self.rules.of_unit(unit))

    def rows_of(self, source: str, table: str) -> Collection[str] | None:
        """The ids of the rows of a table that they may see; None: all of it."""
        found = self.rules.of_place(source, table)
        if isinstance(found, Mapping):
            return {row for row, audience in found.items() if self.is_of(audience)}
        return None if self.is_of(found) else NOBODY

    def is_there(self, source: str, table: str) -> bool:
        """Whether they may see any row of a table, of a source or inside a document."""
        rows = self.rows_of(source, self.rules.name_of(source, table))
        return rows is None or bool(rows)


class of_whole(cached_property[Read]):  # noqa: N801 - it is written as `cached_property` is
    """A property that is read once, for the whole of something and for all views of it.

    A view is a copy whose attribute `whole` is what it is a view of.
    """

    def __init__(self, read: Callable[[View], Read]) -> None:
        """Read it of the whole."""

        def shared(view: View) -> Read:
            whole = getattr(view, "whole", None)
            return read(view) if whole is None else getattr(whole, self.attrname or "")

        super().__init__(shared)
