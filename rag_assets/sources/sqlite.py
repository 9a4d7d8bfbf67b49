"""Tables of an SQLite file as Arrow.

A column of SQLite may hold values of any type. ADBC takes the type of a column from its first rows,
so a table is read this way only if every value is of a type that fits the declared one.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.sources.adbc import StreamError, streaming
from rag_assets.sources.cells import MisfitError, as_array
from rag_assets.store import quoted, quoted_name

if TYPE_CHECKING:
    import sqlalchemy as sa


def rows(url: "sa.URL", table: str, *, kinds: Mapping[str, pa.DataType]) -> Iterator[pa.Table]:
    """The rows of `table`, columns named by position, in batches of bounded size.

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


def _is_odd(column: str, kind: pa.DataType) -> str:
    """SQL: whether a value of `column` is of another type than Arrow's `kind` comes from."""
    classes = ["text"]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        classes = ["integer"]
    elif pa.types.is_floating(kind):
        classes = ["integer", "real"]
    elif pa.types.is_binary(kind):
        classes = ["blob"]
    fitting = ", ".join(quoted(name) for name in [*classes, "null"])
    return f"max(typeof({column}) NOT IN ({fitting}))"


def _read(column: pa.Array, kind: pa.DataType) -> pa.Array | None:
    if column.null_count == len(column):
        return pa.nulls(len(column), kind)
    if pa.types.is_string(kind):
        column.validate(full=True)
    if column.type == kind:
        return column
    return as_array(column.to_pylist(), kind)
