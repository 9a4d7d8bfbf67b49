"""Landed rows as the inputs of an exported table.

The key of a row is the text of its key columns, as a JSON list; without a key it is the content of
the row and how often that occurred so far. Its fingerprint is the content. Where a source told
which rows may have moved, only those landed, with the keys of all: what is held tells the rest.

The work is done by DuckDB, which spills to disk, so that memory stays bounded.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from typing_extensions import override

from rag_assets.change.changing_inputs import ChangingInputs
from rag_assets.change.data_versions import Identities
from rag_assets.change.difference import INPUTS, TARGET_ROWS, InputChanges
from rag_assets.change.sync import Batch, Failure
from rag_assets.sources.column_types import as_json, is_unique, load_keys, load_rows, normal
from rag_assets.sources.landed import Landed, StaleKeysError
from rag_assets.store import ROW_ID, Store
from rag_assets.store.exports import KEY, About, cells

if TYPE_CHECKING:
    import duckdb

DUPLICATES_SHOWN = 100
MADE = (
    r"(?i)0|[1-9][0-9]*|\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?|[0-9a-f]{24,}"
    r"|[0-9A-HJKMNP-TV-Z]{26}"
)
"""Keys that programs make: numbers, UUIDs, hashes, ULIDs."""
BATCH_ROWS = 65_536
ROWS_A_COMMIT = 32_768
BYTES_A_COMMIT = 64 << 20


class LandedRows(ChangingInputs):
    """The rows that landed, in the table `fresh` of a DuckDB.

    Its columns are c0, c1, ... by position. Once the key is chosen, the view `named` has them
    with `row_key` and `fingerprint`.
    """

    def __init__(self, connection: "duckdb.DuckDBPyConnection", landed: Landed) -> None:
        """Load them."""
        self.connection = connection
        self.landed = landed
        self.columns = pa.schema([normal(field) for field in landed.schema])
        self._moved: InputChanges | None = None
        self._key: list[str] = []
        load_rows(connection, "fresh", landed.files, schema=landed.schema)

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the table landed."""
        return self.landed.keys is None

    def first_key(self, candidates: Sequence[str]) -> list[str]:
        """The first of `candidates` whose values are unique; none if there is none."""
        return next(([name] for name in candidates if self.is_unique([name])), [])

    def is_unique(self, key: Sequence[str]) -> bool:
        """Whether no two rows have the same values in the columns of `key`."""
        if not set(key) <= set(self.columns.names):
            return False
        return is_unique(self.connection, "fresh", cells(self.columns, key))

    def is_written_by_people(self, name: str) -> bool:
        """Whether a column of a key holds texts that name a row: `QX-17`, `S355`, `SE`.

        Numbers that count, UUIDs and the like do not.
        """
        if not pa.types.is_string(self.columns.field(name).type):
            return False
        [cell] = cells(self.columns, [name])
        asked = f"SELECT bool_or(NOT regexp_full_match({cell}, '{MADE}')) FROM fresh"
        return bool(self._number(asked))

    def use_key(self, about: About) -> list[Failure]:
        """Name the rows by the key of `about`.

        Of rows that share a key one is kept, the first by content; the others are returned.
        """
        self._key = cells(self.columns, about.key)
        failures = []
        if about.key and not self.is_unique(about.key):
            failures = self._without_duplicates(about)
        name = as_json(self._key)
        if not about.key:
            name = "fingerprint || ':' || row_number() OVER (PARTITION BY fingerprint)"
        self.connection.execute(
            f"CREATE OR REPLACE VIEW named AS SELECT *, {name} AS {KEY} FROM fresh"
        )
        return failures

    def compare_with(self, store: Store, name: str, *, key: Sequence[str]) -> None:
        """Find out how the table differs from the exported table `name`, by the keys of all rows.

        Raises:
            StaleKeysError: What landed does not explain all the keys.
        """
        schema = pa.schema([self.landed.schema.field(column) for column in key])
        load_keys(self.connection, "present", self.landed.keys or (), schema=schema)
        held = Identities.of(store, store.generation(name), key=KEY)
        kept = store.batches(
            held.name,
            columns=[KEY],
            version=held.version,
            rows=BATCH_ROWS,
            with_row_ids=True,
        )
        fields = pa.schema([(KEY, pa.string()), (ROW_ID, pa.uint64())])
        self.connection.register("kept", pa.RecordBatchReader.from_batches(fields, kept))
        self.connection.execute(
            f"CREATE OR REPLACE TABLE held AS SELECT hash({KEY}) AS key, {ROW_ID} FROM kept"
        )
        self.connection.unregister("kept")
        keys = f"SELECT hash({KEY}) AS key FROM {{}}"  # two alike would not add up below
        gone = self._numbers(
            f"SELECT {ROW_ID} FROM held ANTI JOIN ({keys.format('present')}) USING (key)"
        )
        met = self._numbers(
            f"SELECT {ROW_ID} FROM held SEMI JOIN ({keys.format('named')}) USING (key)"
        )
        rows = self._number("SELECT count(*) FROM held")
        self.connection.execute("DROP TABLE held")
        count = self._number("SELECT count(*) FROM present")
        came = self.connection.sql(f"SELECT {KEY}, fingerprint FROM named").to_arrow_table()
        if rows - len(gone) + came.num_rows - len(met) != count:
            raise StaleKeysError
        left = np.unique(np.concatenate([gone, met]))
        before = pa.Table.from_batches(held.at(left, rows=rows), schema=TARGET_ROWS)
        self._moved = InputChanges(
            deleted=before.select(INPUTS.names),
            inserted=came.rename_columns(INPUTS.names).cast(INPUTS),
            count=count,
        )

    @property
    def rows(self) -> int:
        """Number of rows of the table."""
        return self._moved.count if self._moved else self._number("SELECT count(*) FROM fresh")

    def nulls(self) -> list[int]:
        """For each column, how many of the landed cells are NULL."""
        asked = (f"count(*) - count(c{place})" for place in range(len(self.columns)))
        return list(self.connection.execute(f"SELECT {', '.join(asked)} FROM fresh").fetchall()[0])

    @override
    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """All of them, in batches of schema `INPUTS`.

        Raises:
            StaleKeysError: Only those landed that may have moved.
        """
        if not self.is_whole:
            raise StaleKeysError
        found = self.connection.sql(f"SELECT {KEY} AS key, fingerprint FROM named")
        for batch in found.to_arrow_reader(BATCH_ROWS):
            yield batch.cast(INPUTS)

    @override
    def read_at(self) -> dict[str, str]:
        return {"memory": self.landed.memory}

    @override
    def since(self, read_at: Mapping[str, str]) -> InputChanges | None:
        return self._moved

    def transform(self, changed: pa.Table, /) -> Iterator[Batch]:
        """The landed rows with the keys of `changed`, sorted by key or else by all columns."""
        columns = [f"c{place}" for place in range(len(self.columns))]
        rows = "named"
        if changed.num_rows < self._number("SELECT count(*) FROM fresh"):
            wanted = pa.table({KEY: changed["key"]})
            self.connection.register("changed", wanted)
            self.connection.execute("CREATE OR REPLACE TABLE wanted AS FROM changed")
            self.connection.unregister("changed")
            rows = f"(SELECT named.* FROM named SEMI JOIN wanted USING ({KEY}))"
        order = ", ".join([f"{cell} NULLS FIRST" for cell in self._key] or columns)
        found = self.connection.sql(
            f"SELECT {', '.join(columns)}, {KEY} FROM {rows} ORDER BY {order}"
        )
        return _committed(found.to_arrow_reader(BATCH_ROWS))

    def _without_duplicates(self, about: About) -> list[Failure]:
        key = as_json(self._key)
        content = as_json(f"c{place}" for place in range(len(self.columns)))
        shared = f"SELECT {key} AS key FROM fresh GROUP BY ALL HAVING count(*) > 1"
        self.connection.execute(
            f"CREATE OR REPLACE TABLE spare AS SELECT rowid AS place, {key} AS key FROM fresh "
            f"WHERE {key} IN ({shared}) "
            f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY md5({content}), rowid) > 1"
        )
        spare = self._number("SELECT count(*) FROM spare")
        if not spare:
            return []
        self.connection.execute("DELETE FROM fresh WHERE rowid IN (SELECT place FROM spare)")
        keys = self.connection.execute(
            "SELECT key, count(*) FROM spare GROUP BY key ORDER BY key LIMIT ?", [DUPLICATES_SHOWN]
        ).fetchall()
        return _duplicates(about, keys, spare=spare)

    def _number(self, statement: str) -> int:
        return self.connection.execute(statement).fetchall()[0][0]

    def _numbers(self, statement: str) -> np.ndarray:
        return self.connection.execute(statement).fetchnumpy()[ROW_ID].astype(np.uint64)


def _duplicates(about: About, keys: Sequence[tuple[str, int]], *, spare: int) -> list[Failure]:
    """Failures for `spare` rows that were left out, of which `keys` are shown with their counts."""
    columns = ", ".join(about.key)
    failures = [
        Failure(
            key,
            f"{count + 1} rows of {about.name} have the key {columns} = {key}; one was kept: "
            "make the key unique at the source, or name other key columns in the config",
            f"{about.name} row {key}",
        )
        for key, count in keys
    ]
    rest = spare - sum(count for _, count in keys)
    if rest:
        failures.append(
            Failure(
                "*",
                f"{rest:,} more rows of {about.name} share a key ({columns}) with another row "
                "and were left out: name key columns that are unique",
                f"{about.name} (more)",
            )
        )
    return failures


def _committed(batches: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
    """Rows in pieces of a size that one commit should have."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        is_long = sum(part.num_rows for part in waiting) >= ROWS_A_COMMIT
        if is_long or sum(part.nbytes for part in waiting) >= BYTES_A_COMMIT:
            yield _batch(waiting)
            waiting = []
    if waiting:
        yield _batch(waiting)


def _batch(parts: Sequence[pa.RecordBatch]) -> Batch:
    rows = pa.Table.from_batches(parts)
    return Batch(rows, done=rows[KEY].to_pylist())
