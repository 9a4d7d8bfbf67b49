"""Where one unit comes from: what the table of each step holds of it.

Each kind of step says what its table holds (`StepKind.traced`); a `UnitTrace` has what all of them
need for that: the unit, and the tables as they answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, TypeAlias

from pydantic import WithJsonSchema
from typing_extensions import TypeAliasType

from rag_assets.config import Config
from rag_assets.identity import Canonical
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of, name_of
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import Pin, holds
from rag_assets.store.provenance import Made, made_of, row_of
from rag_assets.store.serving_pointer import ServingPointer

ANY = WithJsonSchema({})
"""Generators of clients know no schema that holds itself."""
Json = TypeAliasType(
    "Json",
    "Annotated[str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None, ANY]",
)
Row: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class UnitStep:
    """One step of the way: what a table holds of the unit, and what it was made from."""

    asset: str
    """The asset that keeps the table."""
    table: str
    version: int
    """The version that was read."""
    made: Made | None
    """What the row was made from; None where the table has moved on since the index was built and
    holds the row no more."""
    facts: Mapping[str, Json]
    would_change: str
    """What would give another row here."""


@dataclass(frozen=True, kw_only=True)
class UnitTrace:
    """A unit of one variant, and the tables that it went through."""

    store: Store
    config: Config
    complete_set: CompleteSet
    unit: Row
    variant: str
    keys: Mapping[str, str]
    """The key column of each asset's table."""
    tables: Mapping[str, tuple[str, Canonical]] = field(default_factory=dict)
    """The table of each asset, and its settings by content; empty where the config has another
    recipe by now than the one that made the unit."""
    pointer: ServingPointer | None = None
    """What pins elements and chunks too; None: they are read at the newest version."""

    def step(
        self,
        asset: str,
        table: str,
        *,
        key: str,
        value: object,
        would_change: str,
        facts: Mapping[str, Json] | None = None,
        version: int | None = None,
    ) -> UnitStep:
        """What `table` holds where its column `key` is `value`."""
        at = version or self.store.version(table)
        is_there = row_of(self.store, table, key=key, value=str(value), version=at) is not None
        return UnitStep(
            asset=asset,
            table=folder_of(self.store.generation(table)),
            version=at,
            made=made_of(self.store, table, key=key, value=str(value), version=at)
            if is_there
            else None,
            facts=facts or {},
            would_change=would_change,
        )

    def row(self, table: str, key: str, value: object, *, version: int | None = None) -> Row | None:
        """The row of `table` whose column `key` is `value`."""
        return row_of(self.store, table, key=key, value=str(value), version=version)

    def held(self, table: str, pin: Pin | None) -> tuple[str, int | None]:
        """A table at the version that serves while that is kept, else at the newest."""
        if pin is not None and holds(self.store, pin):
            return pin.table, pin.version
        return table, None

    @property
    def elements(self) -> tuple[str, int | None]:
        """The table of elements, with the version to read."""
        pin = self.pointer.elements if self.pointer else None
        return self.held(self.complete_set.elements, pin)

    @property
    def chunks(self) -> tuple[str, int | None]:
        """The table of chunks, with the version to read."""
        pin = self.pointer.chunks if self.pointer else None
        return self.held(self.complete_set.chunks, pin)

    @cached_property
    def chunk(self) -> Row | None:
        """The chunk that is the unit."""
        table, version = self.chunks
        return self.row(table, "chunk_id", self.unit["unit_id"], version=version)

    @property
    def recipe(self) -> Mapping[str, str]:
        """The names of parser, chunking and serializer, as the config or the table's name has."""
        if self.tables:
            chosen = self.config.variant(self.variant)
            names = (chosen.parser, chosen.chunking, chosen.serializer)
        else:
            names = name_of(self.complete_set.joint.table).rpartition("-")[0].split("__")[1:4]
        return dict(zip(("parser", "chunking", "serializer"), names, strict=False))

    def table_of(self, asset: str) -> str | None:
        """The table of an asset; None where the config tells of another recipe."""
        return self.tables[asset][0] if asset in self.tables else None

    def settings(self, asset: str) -> Json:
        """The settings of a step by content; None where the config has others by now."""
        return as_json(self.tables[asset][1]) if asset in self.tables else None


def as_json(value: object) -> Json:
    """`value` as JSON has it; a time as text."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(name): as_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    return str(value)
