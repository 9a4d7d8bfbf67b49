"""Tables of an SQLite file as Arrow, and whether the file has moved.

A column of SQLite may hold values of any type. ADBC takes the type of a column from its first rows,
so a table is read this way only if every value is of a type that fits the declared one.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.columns.sql import quoted, quoted_name
from rag_assets.identity import fingerprint
from rag_assets.sources.cells import LARGEST_EXACT, MisfitError, as_array
from rag_assets.sources.databases.adbc import StreamError, streaming
from rag_assets.sources.files.listing import SETTLED_AFTER, now

if TYPE_CHECKING:
    import sqlalchemy as sa

SHADOWS = "SELECT name FROM pragma_table_list WHERE type = 'shadow'"
"""The tables in which a virtual table, such as a full-text index, keeps what it holds."""
TELLS_SHADOWS = (3, 37)
"""Version of SQLite that first does."""


def rows(
    url: "sa.URL", table: str, *, kinds: Mapping[str, pa.DataType], busy: int
) -> Iterator[pa.Table]:
    """The rows of `table`, columns named by position, in batches of bounded size.

    A lock is waited for `busy` milliseconds.

    Raises:
        StreamError: ADBC cannot read the table as it is.
        MisfitError: A text is not of the type that its column declares.
    """
    relation = quoted_name(table)
    columns = {quoted_name(name): kind for name, kind in kinds.items()}
    tests = [_is_odd(column, kind) for column, kind in columns.items()]
    asked = ", ".join(
        f"CAST({column} AS REAL)" if pa.types.is_floating(kind) else column
        for column, kind in columns.items()
    )
    with streaming(url, table=table) as stream:
        stream.first_row(f"PRAGMA busy_timeout = {busy}")
        odd = stream.first_row(f"SELECT {', '.join(tests)} FROM {relation}")
        if any(odd):
            raise StreamError([table], ValueError("values are of several types"))
        for batch in stream.batches(f"SELECT {asked} FROM {relation}"):
            made = {
                name: _read(batch.column(place), kind)
                for place, (name, kind) in enumerate(kinds.items())
            }
            misfits = [name for name, column in made.items() if column is None]
            if misfits:
                raise MisfitError(table, misfits)
            yield pa.table(list(made.values()), names=[f"c{place}" for place in range(len(made))])


def mark_of(file: Path) -> str | None:
    """Fingerprint of the file's state; None while it may still be written to."""
    looked_at = now()
    state = state_of(file)
    settled = all(modified // 1_000 < looked_at - SETTLED_AFTER for _, _, modified, _ in state)
    return fingerprint(state) if settled else None


def state_of(file: Path) -> list[tuple[str, int, int, int]]:
    """Name, size, time and time of the change of its entry (ns) of the file and of its logs."""
    paths = [file, *(file.with_name(f"{file.name}{log}") for log in ("-wal", "-journal"))]
    found = [(path.name, path.stat()) for path in paths if path.exists()]
    return [
        (name, status.st_size, status.st_mtime_ns, status.st_ctime_ns) for name, status in found
    ]


def _is_odd(column: str, kind: pa.DataType) -> str:
    """SQL: whether a value of `column` is not of a type that Arrow's `kind` holds exactly."""
    classes, is_inexact = ["text"], ""
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        classes = ["integer"]
    elif pa.types.is_floating(kind):
        classes = ["integer", "real"]
        is_inexact = (
            f" OR typeof({column}) = 'integer' "
            f"AND {column} NOT BETWEEN -{LARGEST_EXACT} AND {LARGEST_EXACT}"
        )
    elif pa.types.is_binary(kind):
        classes = ["blob"]
    fitting = ", ".join(quoted(name) for name in [*classes, "null"])
    return f"max(typeof({column}) NOT IN ({fitting}){is_inexact})"


def _read(column: pa.Array, kind: pa.DataType) -> pa.Array | None:
    if column.null_count == len(column):
        return pa.nulls(len(column), kind)
    if pa.types.is_string(kind):
        column.validate(full=True)
    if column.type == kind:
        return column
    return as_array(column.to_pylist(), kind)
