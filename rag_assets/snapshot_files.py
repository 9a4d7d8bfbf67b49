"""The files of a snapshot, and how they are read as one table.

    <table>.parquet   the rows, sorted by key
    <table>.patch     what changed since in a large table: rows that take the place of others,
                      rows that were added, and marks of rows that are gone
    <table>.marks     for each row of the first, in its order, the hash that the database computed
                      of it and the identity that the data version is made of
    <table>.json      the record of the last pass: see `snapshot_passes`

A small table is only its Parquet file, written anew whenever something changed. In a large one a
change costs what changed: it goes to the patch, until that holds a tenth of the table and both
become one file again. A patch or marks that do not name the Parquet file beside them as theirs do
not count: they belong to one that a killed run left behind or never finished.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

METADATA = b"rag_assets"
BOOKS = b"rag_assets_books"
"""Key of what a patch or marks say about themselves: the fields of `Books`."""
BATCH_ROWS = 65_536

HASH = pa.field("hash", pa.int64())
"""What the database computed of a whole row; NULL where it was not asked."""
MARKS = pa.schema([HASH, pa.field("high", pa.uint64()), pa.field("low", pa.uint64())])
"""The hash, and the two halves of a row's identity: the MD5 of its key and content."""
REPLACES = pa.field("replaces", pa.int64())
"""Position in the Parquet file of the row that this one replaces; NULL for a new one."""
IS_REMOVED = pa.field("is_removed", pa.bool_())
"""Whether there is no row any more where `replaces` points at."""
PLACE = pa.field("place", pa.int64())
"""Position of a row: in the Parquet file or, beyond its end, in the patch."""


class Said(TypedDict):
    """What a snapshot says about itself: see `About`."""

    source: str
    table: str
    title: str
    key: list[str]
    hidden: list[str]
    headings: dict[str, str]
    data_version: str


MAGIC = b"PAR1"
"""The first and the last bytes of each Parquet file."""


@dataclass(frozen=True, slots=True)
class Books:
    """What a patch, or the marks of a Parquet file, add up to."""

    base: str
    """Data version of the Parquet file that they belong to."""
    rows: int
    bits: int
    """Bitwise sum (xor) of the identities of all rows."""


@dataclass(frozen=True)
class Snapshot:
    """The files of one snapshot; each is opened when it is first asked for."""

    file: Path

    @property
    def patch_file(self) -> Path:
        """Where the patch lies, if there is one."""
        return self.file.with_suffix(".patch")

    @property
    def marks_file(self) -> Path:
        """Where the marks lie, if there are any."""
        return self.file.with_suffix(".marks")

    @cached_property
    def footer(self) -> "FileMetaData":
        """The footer of the Parquet file."""
        import pyarrow.parquet as pq

        return pq.read_metadata(self.file)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, each with its heading as `comment`."""
        return self.footer.schema.to_arrow_schema()

    @cached_property
    def columns(self) -> pa.Schema:
        """Names and types of the columns alone."""
        return pa.schema([(field.name, field.type) for field in self.schema])

    @cached_property
    def patch(self) -> "FileMetaData | None":
        """The footer of the patch, if there is one of this Parquet file."""
        return self._footer_of(self.patch_file)

    @cached_property
    def books(self) -> Books | None:
        """What the rows add up to; None without marks of this Parquet file."""
        marks = self._footer_of(self.marks_file)
        if marks is None:
            return None
        return _books(self.patch or marks)

    @property
    def base_version(self) -> str:
        """Data version of the Parquet file alone."""
        return _document(self.footer)["data_version"]

    @property
    def said(self) -> Said:
        """What the snapshot says about itself."""
        return _document(self.patch or self.footer)

    @property
    def rows(self) -> int:
        """Number of rows."""
        patched = _books(self.patch) if self.patch else None
        return patched.rows if patched else self.footer.num_rows

    def batches(
        self, columns: Sequence[str] | None = None, *, rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """The rows, at most `rows` at a time: those of the patch first."""
        schema = self.columns if columns is None else _chosen(self.columns, columns)
        for table in self._live(schema, with_marks=False):
            named = table.select(range(len(schema))).rename_columns(schema.names)
            yield from named.to_batches(max_chunksize=rows)

    def placed(self, columns: Sequence[str], *, with_marks: bool) -> pa.RecordBatchReader:
        """The `columns` of all rows, named c0, c1, ..., then `MARKS` if asked for, and `PLACE`."""
        chosen = _chosen(self.columns, columns)
        fields = [pa.field(f"c{place}", field.type) for place, field in enumerate(chosen)]
        schema = pa.schema([*fields, *(MARKS if with_marks else ()), PLACE])
        tables = self._live(chosen, with_marks=with_marks)
        batches = (
            batch
            for table in tables
            for batch in table.rename_columns(schema.names).cast(schema).to_batches()
        )
        return pa.RecordBatchReader.from_batches(schema, batches)

    def is_replaced(self) -> np.ndarray:
        """For each row of the Parquet file whether the patch replaces or removes it."""
        is_replaced = np.zeros(self.footer.num_rows, dtype=bool)
        replaced = self.patched([REPLACES.name])[REPLACES.name]
        is_replaced[replaced.drop_null().to_numpy()] = True
        return is_replaced

    def patch_batches(self, *, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of the patch, at most `rows` at a time."""
        patched = self.patched()
        live = patched.filter(pc.invert(patched[IS_REMOVED.name]))
        columns = live.select(range(len(self.columns))).rename_columns(self.columns.names)
        return iter(columns.to_batches(max_chunksize=rows))

    def patched(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The patch as it lies on disk, or some of its columns, with `PLACE`; empty if none is."""
        import pyarrow.parquet as pq

        schema = patch_schema(self.columns)
        if columns is not None:
            schema = pa.schema([schema.field(name) for name in columns])
        rows = schema.empty_table()
        if self.patch is not None:
            rows = pq.read_table(self.patch_file, columns=schema.names)
        places = pa.array(np.arange(rows.num_rows) + self.footer.num_rows)
        return rows.cast(schema).append_column(PLACE, places)

    def _live(self, schema: pa.Schema, *, with_marks: bool) -> Iterator[pa.Table]:
        """The rows of the patch, then those of the Parquet file that it does not replace."""
        names = [f"c{self.columns.get_field_index(name)}" for name in schema.names]
        names += MARKS.names if with_marks else []
        patched = self.patched([*names, IS_REMOVED.name])
        yield patched.filter(pc.invert(patched[IS_REMOVED.name])).select([*names, PLACE.name])
        is_replaced = self.is_replaced()
        start = 0
        for table in self._groups(schema.names, with_marks=with_marks):
            place = np.arange(start, start + table.num_rows)
            kept = ~is_replaced[place]
            start += table.num_rows
            placed = table.append_column(PLACE, pa.array(place))
            yield placed if kept.all() else placed.filter(pa.array(kept))

    def _groups(self, columns: Sequence[str], *, with_marks: bool) -> Iterator[pa.Table]:
        """The row groups of the Parquet file, the marks beside their rows if asked for."""
        import pyarrow.parquet as pq

        with ExitStack() as opened:
            rows = opened.enter_context(pq.ParquetFile(self.file))
            marks = opened.enter_context(pq.ParquetFile(self.marks_file)) if with_marks else None
            for group in range(rows.num_row_groups):
                cells = rows.read_row_group(group, columns=list(columns))
                arrays = [cells[name] for name in columns]
                names = list(columns)
                if marks is not None:
                    beside = marks.read_row_group(group)
                    arrays += beside.columns
                    names += beside.column_names
                yield pa.table(arrays, names=names)

    def _footer_of(self, beside: Path) -> "FileMetaData | None":
        import pyarrow.parquet as pq

        if not beside.is_file():
            return None
        footer = pq.read_metadata(beside)
        return footer if _books(footer).base == self.base_version else None


def is_whole(file: Path) -> bool:
    """Whether the snapshot at `file` and what lies beside it begin and end as Parquet files do.

    A file that was cut short or overwritten does not; nothing is read but these few bytes.
    """
    snapshot = Snapshot(file)
    beside = [each for each in (snapshot.patch_file, snapshot.marks_file) if each.is_file()]
    return file.is_file() and all(map(_is_parquet, (file, *beside)))


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as held:
        begin = held.read(len(MAGIC))
        held.seek(max(file.stat().st_size - len(MAGIC), len(MAGIC)))
        return begin == held.read() == MAGIC


def metadata_of(file: Path) -> Said:
    """What the snapshot at `file` says about itself."""
    return Snapshot(file).said


def data_version_of(file: Path) -> str:
    """Data version of the snapshot at `file`; `absent` if there is none, or it is damaged."""
    return metadata_of(file)["data_version"] if is_whole(file) else "absent"


def rows_of(file: Path) -> int:
    """Number of rows of the snapshot at `file`; 0 if there is none, or it is damaged."""
    return Snapshot(file).rows if is_whole(file) else 0


def rows_in(files: Iterable[Path]) -> int:
    """Number of rows in landed Parquet files."""
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(file).num_rows for file in files)


def schema_of(file: Path) -> pa.Schema:
    """The columns of the snapshot at `file`, each with its heading as `comment`."""
    return Snapshot(file).schema


def first_rows(file: Path, *, count: int) -> pa.Table:
    """The first `count` rows of the snapshot at `file`."""
    snapshot = Snapshot(file)
    batch = next(snapshot.batches(rows=count), None)
    return pa.Table.from_batches([] if batch is None else [batch], snapshot.columns)


def newest(file: Path, *, column: str) -> float | Decimal | datetime | date | time | None:
    """The greatest value of `column` in the snapshot at `file`; None if there is none.

    Only numbers, dates and times count: how texts are ordered is up to each database.
    """
    if not file.is_file():
        return None
    snapshot = Snapshot(file)
    if column not in snapshot.columns.names:
        return None
    kind = snapshot.columns.field(column).type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return None
    greatest = [pc.max(batch.column(0)) for batch in snapshot.batches([column])]
    return pc.max(pa.array([value.as_py() for value in greatest], kind)).as_py()


def patch_schema(columns: pa.Schema) -> pa.Schema:
    """The columns of a patch: those of the table by position, marks, and what it replaces."""
    by_place = [pa.field(f"c{place}", field.type) for place, field in enumerate(columns)]
    return pa.schema([*by_place, *MARKS, REPLACES, IS_REMOVED])


def with_books(schema: pa.Schema, books: Books, *, said: Mapping[str, object]) -> pa.Schema:
    """`schema` as the file of a patch or of marks carries it."""
    counted = {"base": books.base, "rows": books.rows, "bits": str(books.bits)}
    return schema.with_metadata(
        {METADATA: json.dumps(said, ensure_ascii=False), BOOKS: json.dumps(counted)}
    )


def put_in_place(fresh: Path, file: Path) -> None:
    """Rename the finished file `fresh` to `file`; a crash leaves the old one or the new one."""
    with fresh.open("rb") as written:
        os.fsync(written.fileno())
    fresh.replace(file)


def _books(footer: "FileMetaData") -> Books:
    counted = json.loads((footer.metadata or {})[BOOKS])
    return Books(counted["base"], rows=counted["rows"], bits=int(counted["bits"]))


def _document(footer: "FileMetaData") -> Said:
    return json.loads((footer.metadata or {})[METADATA])


def _chosen(columns: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([columns.field(columns.get_field_index(name)) for name in names])
