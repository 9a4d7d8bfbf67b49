"""Tables exported from sources: what each is called here, and what it says of itself.

A table of a source may have any name, so its name in the store is made of some letters for people
and a hash of source and table. Its columns are called c0, c1, ... for the same reason. Which table
it is, which columns it has and which of them are its key stands in the metadata of its schema: it
holds as long as the generation lives, since a table with other columns or another key is begun
anew. What else is said of it (title, headings, hidden columns) stands in the record of its last
complete pass. Without that record it is unfinished, and nobody reads it.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, cast

import pyarrow as pa

from rag_assets import schemas
from rag_assets.columns.numerals import Mark
from rag_assets.identity import fingerprint
from rag_assets.store.catalog import name_of
from rag_assets.store.completions import ExportRecord, ForeignKey, PassRecord
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.store import Store

PREFIX = "exports-"
"""How the names of exported tables begin."""
KEY = "row_key"
"""Column with the key of each row: see `sources.landed_rows`."""
METADATA = b"rag_assets"
LETTERS_KEPT = 40
_DECIMAL = re.compile(r"decimal128\((\d+), (-?\d+)\)")


@dataclass(frozen=True, slots=True)
class About:
    """What an exported table says of itself."""

    source: str
    table: str
    title: str
    key: Sequence[str]
    """Columns that identify a row; empty where the whole row does."""
    hidden: Sequence[str] | None
    """Columns kept out of the text; None: those of the key that no person writes."""
    headings: Mapping[str, str]
    """Each column's name in plain words, with the unit in square brackets."""
    read: Mapping[str, str] = field(default_factory=dict)
    """How the cells of a column were read, by column, where that had to be decided; `*` is the
    table."""
    shown: Mapping[str, str] = field(default_factory=dict)
    """The column with what a program shows of a column's cells, by column. Its cell is NULL where
    that says no more, and empty where another cell shows it."""
    units: Mapping[str, str] = field(default_factory=dict)
    """The unit that the config declares for a column, by column: its cells are converted to it."""
    decimal: Mark | None = None
    """What begins the decimals of numbers in its texts, where the config or its file tells."""
    foreign_keys: Sequence[ForeignKey] = ()
    """The foreign keys that the database declares. No row depends on them, so no data version names
    them."""

    @property
    def name(self) -> str:
        """Source and table, as a person writes them."""
        return f"{self.source}/{self.table}"

    @property
    def document(self) -> dict[str, str | list[str] | dict[str, str]]:
        """What the table is, as its data version takes it in."""
        return {
            "source": self.source,
            "table": self.table,
            "title": self.title,
            "key": list(self.key),
            "hidden": list(self.hidden or ()),
            "headings": dict(self.headings),
            **({"shown": dict(self.shown)} if self.shown else {}),
            **({"units": dict(self.units)} if self.units else {}),
            **({"decimal": self.decimal} if self.units and self.decimal else {}),
        }

    def with_key(self, key: Sequence[str], *, hidden: Sequence[str]) -> "About":
        """A copy in which `key` identifies a row, and `hidden` are hidden unless others are."""
        return replace(
            self, key=list(key), hidden=list(hidden if self.hidden is None else self.hidden)
        )


@dataclass(frozen=True)
class ExportedTable:
    """A table of a source as the last complete pass left it."""

    store: Store
    name: str
    """The name of the table in the store."""
    about: About
    columns: pa.Schema
    """Names and types of its columns, in the order of the source."""
    nulls: Sequence[int]
    """The number of NULL cells of each column."""
    completion: PassRecord

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.completion.rows

    @cached_property
    def data_version(self) -> str:
        """Same rows, columns and words about them: same version, on any machine."""
        return data_version(self.completion.data_version, self.columns, self.about)

    @cached_property
    def generation(self) -> str:
        """The generation that its name means."""
        return self.store.generation(self.name)

    @cached_property
    def version(self) -> int | None:
        """The version in which the rows lie; None while another pass writes the table."""
        version = self.store.version(self.generation)
        is_left = self.store.files(self.generation, version=version) == self.completion.files
        return version if is_left else None

    @property
    def commented(self) -> pa.Schema:
        """The columns, each with its heading as `comment`, and how it was `read`, if decided."""
        words = self.about.headings
        return pa.schema(
            [
                field.with_metadata(
                    {
                        "comment": words.get(field.name, field.name),
                        **({"read": how} if (how := self.about.read.get(field.name)) else {}),
                    }
                )
                for field in self.columns
            ]
        )

    def first_rows(self, count: int) -> pa.Table:
        """The first `count` rows as they lie."""
        batch = next(self.batches(rows=count), None)
        return pa.Table.from_batches([] if batch is None else [batch], self.columns)

    def batches(
        self, columns: Sequence[str] | None = None, *, rows: int, version: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows with all or some columns by their names, at most `rows` at a time."""
        names = self.columns.names if columns is None else list(columns)
        asked = cells(self.columns, names)
        for batch in self.store.batches(self.generation, columns=asked, rows=rows, version=version):
            yield batch.select(asked).rename_columns(names)


def table_name(source: str, table: str) -> str:
    """What the table of a source is called in the store, and no other table."""
    plain = unicodedata.normalize("NFKD", f"{source} {table}").encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:LETTERS_KEPT].strip("-")
    return f"{PREFIX}{words or 'table'}-{fingerprint(source, table)[:12]}"


def cells(columns: pa.Schema, names: Sequence[str]) -> list[str]:
    """What the columns `names` are called in the store."""
    return [f"c{columns.names.index(name)}" for name in names]


def schema_of(about: About, columns: pa.Schema) -> pa.Schema:
    """The schema in the store of a table with these `columns`."""
    fixed = {
        "source": about.source,
        "table": about.table,
        "key": list(about.key),
        "columns": _listed(columns),
    }
    fields = [pa.field(f"c{place}", field.type) for place, field in enumerate(columns)]
    key = pa.field(KEY, pa.string(), nullable=False)
    return pa.schema(
        [*fields, key, schemas.FINGERPRINT],
        metadata={METADATA: json.dumps(fixed, ensure_ascii=False)},
    )


def data_version(of_rows: str, columns: pa.Schema, about: About) -> str:
    """The data version of a table whose rows have the data version `of_rows`."""
    return fingerprint(of_rows, [list(each) for each in _listed(columns)], about.document)[:32]


def described(about: About, columns: pa.Schema, nulls: Sequence[int]) -> ExportRecord:
    """What the record of a complete pass keeps about a table."""
    said = {**asdict(about), "hidden": list(about.hidden or ())}
    return cast("ExportRecord", said | {"columns": _listed(columns), "nulls": list(nulls)})


def exported(store: Store, name: str) -> ExportedTable | None:
    """The table called `name` in the store; None if there is none, or it is unfinished."""
    completion = store.ended(name)
    if completion is None or completion.about is None:
        return None
    said = cast("dict[str, Any]", completion.about)
    about = About(**{each.name: said[each.name] for each in fields(About) if each.name in said})
    columns, nulls = _columns(said["columns"]), said["nulls"]
    return ExportedTable(store, name, about, columns, nulls, completion)


def all_exported(store: Store) -> list[ExportedTable]:
    """All tables that are complete, sorted by source and table; none of them is opened."""
    held = [each for name in names(store) if (each := exported(store, name))]
    return sorted(held, key=lambda each: (each.about.source, each.about.table))


def names(store: Store) -> list[str]:
    """What all exported tables are called here, complete or not."""
    return sorted({name_of(each) for each in store.generations() if each.startswith(PREFIX)})


def tables_of(store: Store, source: str) -> list[str]:
    """The tables of `source` that lie here, complete or not, sorted.

    One that is both unfinished and damaged is left out: it cannot say which table it is.
    """
    found = (identity(store, name) for name in names(store))
    return sorted(each[1] for each in found if each is not None and each[0] == source)


def fixed_parts(store: Store, name: str) -> tuple[pa.Schema, list[str]] | None:
    """Columns and key of the table called `name`, complete or not; None if there is none."""
    if not store.exists(name):
        return None
    said = _said(store, name)
    return _columns(said["columns"]), list(said["key"])


def identity(store: Store, name: str) -> tuple[str, str] | None:
    """Source and table of the table called `name`, as the record says or, without one, the schema.

    None if there is no such table, or if it is both unfinished and damaged.
    """
    held = exported(store, name)
    if held is not None:
        return held.about.source, held.about.table
    if not store.exists(name):
        return None
    try:
        said = _said(store, name)
    except DamagedTablesError:
        return None  # its next export begins it anew
    return said["source"], said["table"]


def remove(store: Store, name: str) -> None:
    """Remove a table for good, with all of its generations; the caller is its one writer."""
    store.reopen(name)
    for generation in store.generations():
        if name_of(generation) == name:
            store.forget(generation)


def _said(store: Store, name: str) -> dict:
    return json.loads((store.schema(name).metadata or {})[METADATA])


def _listed(columns: pa.Schema) -> list[tuple[str, str]]:
    return [(field.name, str(field.type)) for field in columns]


def _columns(listed: Sequence[tuple[str, str]]) -> pa.Schema:
    return pa.schema([pa.field(name, _kind(kind)) for name, kind in listed])


def _kind(name: str) -> pa.DataType:
    """The type of Arrow that spells itself so."""
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    spelled = {str(kind): kind for kind in _KINDS}
    return spelled[name]


_KINDS = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.bool_(), pa.float64(), pa.string(), pa.binary(), pa.date32(), pa.time64("us")),
    *(pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
)
"""The types that a column may have, but for decimals: see `sources.kinds`."""
