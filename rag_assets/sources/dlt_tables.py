"""Tables of any dlt source: the source itself says how it is read and what of it is new.

dlt loads into a DuckDB file below the state. Beside the rows it holds all that dlt remembers: the
cursors, the schema and its contract. A load works on a copy, which takes the file's place in one
step, so that a load that fails or is killed leaves rows and cursors as they were. The rows are then
read from the file like those of a database, and what changed is found by comparing them.

Columns that dlt adds for itself are left out: it draws their values by chance. A row of a nested
list has the primary key of the row that it lies in, and its place in the list, instead.
"""

import re
import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from typing_extensions import override

from rag_assets.columns.sql import quoted_name
from rag_assets.config import Config, TableSource
from rag_assets.config.custom import named
from rag_assets.config.errors import ConfigError
from rag_assets.identity import fingerprint
from rag_assets.sources.column_types import by_position, normal
from rag_assets.sources.landed import Landed
from rag_assets.sources.landing import first_line, prepare_dlt, root_cause
from rag_assets.sources.origins import Description, Increment, Origin, Reading, TableRequest
from rag_assets.sources.source_locations import SourceError
from rag_assets.store import Store
from rag_assets.store.atomic import take_away
from rag_assets.store.clean_up import RUNNING
from rag_assets.store.completions import ForeignKey

if TYPE_CHECKING:
    import duckdb
    from dlt.common.schema.typing import TColumnSchema, TTableSchema
    from dlt.extract import DltSource

FOLDER = "dlt"
"""Folder below the state with a file for each dlt source."""
DATASET = "rows"
BATCH_ROWS = 50_000
ID, PARENT, PLACE = "_dlt_id", "_dlt_parent_id", "_dlt_list_idx"
"""dlt's columns for a row, the row that it lies in, and its place in the list there, from 0."""
OF_DLT = frozenset({ID, PARENT, PLACE, "_dlt_load_id", "_dlt_root_id"})


class DltTables(Origin):
    """The tables of one dlt source, those of its nested lists too."""

    def __init__(self, source: TableSource, store: Store, *, work: Path) -> None:
        """Nothing is loaded yet; temporary files go to `work`, which is on the state's disk."""
        self.source = source
        self.file = work / "loaded.duckdb"
        """What is read: the copy, and once it is kept what it replaced."""
        self._work = work
        self._kept = _file_of(store, source)
        self._tables: dict[str, TTableSchema] = {}

    @override
    def names(self) -> list[str]:
        """The tables of the source, which is loaded first.

        Raises:
            SourceError: It cannot be loaded; what is kept stays as it was.
        """
        if self._kept.exists():
            shutil.copyfile(self._kept, self.file)
        try:
            self._load()
        except SourceError:
            raise
        except Exception as error:
            raise SourceError(
                f"{self.source.name}: the dlt source {self.source.dlt} cannot be loaded "
                f"({_told(error)}): correct the source, its schema contract or "
                "its credentials. Nothing of this load was taken; the next refresh loads again "
                "from where the last one ended"
            ) from error
        return sorted(self._tables)

    @override
    def keep(self) -> None:
        self._kept.parent.mkdir(exist_ok=True)
        self.file = self.file.replace(self._kept)
        for other in self._kept.parent.glob(f"{self.source.name}-????????.duckdb"):
            if other != self._kept:  # of a source that the config no longer names
                take_away(other)

    def _load(self) -> None:
        prepare_dlt()
        import dlt
        from dlt.common.runtime.run_context import RunContext, switched_run_context
        from dlt.common.schema.utils import get_root_table

        name = re.sub(
            r"^(?=\d)", "_", self.source.name.replace("-", "_")
        )  # dlt takes no digit first
        with switched_run_context(RunContext(str(self.source.folder))):
            found = dlt_source(self.source.dlt or "", folder=self.source.folder, name=name)
            pipeline = dlt.pipeline(
                name,
                pipelines_dir=str(self._work / "pipelines"),
                destination=dlt.destinations.duckdb(str(self.file)),
                dataset_name=DATASET,
            )
            pipeline.config.restore_from_destination = True
            if self.source.incremental:
                pipeline.run(found, loader_file_format="parquet")
            else:
                pipeline.run(found, loader_file_format="parquet", refresh="drop_data")
        schema = pipeline.schemas[found.schema.name]
        self._tables = {
            name: schema.tables[name]
            for name in schema.data_table_names(seen_data_only=True)
            if get_root_table(schema.tables, name)["resource"] in found.selected_resources
        }

    @override
    def observed(self, table: str, *, increment: Increment | None) -> str | None:
        return None

    @override
    def glance(self, table: str, *, increment: Increment | None) -> str:
        return ""

    @override
    def describe(self, table: str) -> Description:
        """What dlt's schema says.

        Rows that dlt appends, or whose history it keeps, may share a primary key: there it is none.
        """
        root_name = self._lineage(table)[0]
        root, own = self._tables[root_name], self._tables[table]
        nested = self._nested_key(table)
        key = [name for _, name in nested] or _primary_key(own)
        is_history = "scd2" in (root.get("x-merge-strategy"), own.get("x-merge-strategy"))
        shared = _primary_key(root) if nested else []
        return Description(
            title=own.get("description"),
            key=() if root.get("write_disposition") == "append" or is_history else key,
            comments={
                name: text
                for name, column in _own_columns(own).items()
                if (text := column.get("description")) and not column.get("variant")
            },
            foreign_keys=[ForeignKey(columns=key[: len(shared)], table=root_name, others=shared)][
                : len(shared)
            ],
        )

    @override
    def reading(self, table: str, *, name: str, folder: Path, request: TableRequest) -> Reading:
        from dlt.extract import DltResource

        asked = self._asked(table)
        with self._connection() as connection:
            found = connection.sql(f"{asked} LIMIT 0").to_arrow_table().schema
        schema = pa.schema([normal(field) for field in found])

        def rows() -> Iterator[pa.Table]:
            with self._connection() as connection:
                for batch in connection.sql(asked).to_arrow_reader(BATCH_ROWS):
                    yield by_position(pa.Table.from_batches([batch]).cast(schema))

        resource = DltResource.from_data(rows(), name=name)
        return Reading([resource], lambda files: Landed(schema, files[name]))

    def _connection(self) -> "duckdb.DuckDBPyConnection":
        import duckdb

        connection = duckdb.connect(self.file, read_only=True)
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    def _lineage(self, table: str) -> list[str]:
        """The tables above a nested one, the first one first, and the table itself."""
        parent = self._tables[table].get("parent")
        return [*(self._lineage(parent) if parent else ()), table]

    def _nested_key(self, table: str) -> list[tuple[str, str]]:
        """Where a nested row lies: SQL and name of each column of its key.

        Empty for a table that is not nested, and where the rows above it have no primary key.
        """
        root, *below = self._lineage(table)
        key = _primary_key(self._tables[root]) if below else []
        cells = [(_cell(root, name), f"{root}__{name}") for name in key]
        places = [(_cell(one, PLACE), f"{one}__place") for one in below]
        return [*cells, *places] if key else []

    def _asked(self, table: str) -> str:
        """SQL: the rows of `table`, those of a nested one after the key of where they lie."""
        root, *below = lineage = self._lineage(table)
        rows = f"{DATASET}.{quoted_name(root)}"
        for above, one in zip(lineage, below, strict=False):
            ids = f"{_cell(one, PARENT)} = {_cell(above, ID)}"
            rows += f" JOIN {DATASET}.{quoted_name(one)} ON {ids}"
        cells = self._nested_key(table)
        for name, column in _own_columns(self._tables[table]).items():
            cell = _cell(table, name)
            is_json = column["data_type"] == "json"
            cells.append((f"to_json({cell})::VARCHAR" if is_json else cell, name))
        listed = ", ".join(f"{cell} AS {quoted_name(name)}" for cell, name in cells)
        return f"SELECT {listed} FROM {rows}"


def remove_unnamed(store: Store, config: Config, *, keep_days: float) -> int:
    """Remove the files of sources that `config` does not name, not loaded for `keep_days`.

    Returns:
        Their bytes.
    """
    named_files = {_file_of(store, source) for source in config.sources.tables if source.dlt}
    oldest = time.time() - max(timedelta(days=keep_days), RUNNING).total_seconds()
    freed = 0
    for file in {*(store.root / FOLDER).glob("*.duckdb")} - named_files:
        status = file.stat()
        if status.st_mtime < oldest:
            take_away(file)
            freed += status.st_size
    return freed


def _file_of(store: Store, source: TableSource) -> Path:
    return store.root / FOLDER / f"{source.name}-{fingerprint(source.dlt)[:8]}.duckdb"


def dlt_source(reference: str, *, folder: Path, name: str) -> "DltSource":
    """The source or resource that `package.module:NAME` stands for, or makes without arguments.

    Args:
        reference: As the config has it.
        folder: The project's folder, in which modules are looked for first.
        name: What the schema of a single resource is called.

    Raises:
        SourceError: There is no such module or name, or it is no dlt source.
    """
    from dlt.common.schema import Schema
    from dlt.extract import DltResource, DltSource

    try:
        found = named(reference, folder=folder)
    except ConfigError as error:
        raise SourceError(str(error)) from error
    if callable(found):
        found = found()
    if isinstance(found, DltResource):
        return DltSource(Schema(name), name, [found])
    if not isinstance(found, DltSource):
        raise SourceError(
            f"{reference} is no dlt source or resource, and makes none, but {type(found).__name__}:"
            " name a function with @dlt.source or @dlt.resource, or one that returns such a source"
        )
    return found.clone()


def _told(error: Exception) -> str:
    """What went wrong, and with which resource where dlt says that."""
    said = first_line(root_cause(error))
    if "64-bit" in said:
        said += "; hand so large a number over as a text"
    each: BaseException | None = error
    while each is not None:
        if name := getattr(each, "pipe_name", None):
            return f"{name}: {said}"
        each = each.__cause__
    return said


def _primary_key(table: "TTableSchema") -> list[str]:
    return [name for name, column in table["columns"].items() if column.get("primary_key")]


def _own_columns(table: "TTableSchema") -> "dict[str, TColumnSchema]":
    """Columns that hold values of the source; one that was empty so far is not there yet."""
    return {
        name: column
        for name, column in table["columns"].items()
        if name not in OF_DLT and "data_type" in column
    }


def _cell(table: str, column: str) -> str:
    return f"{quoted_name(table)}.{quoted_name(column)}"
