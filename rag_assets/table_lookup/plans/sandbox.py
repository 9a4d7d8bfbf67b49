"""A DuckDB in memory that reaches nothing outside, in which lookups run.

It opens no file, loads no extension, keeps its settings, and knows no table but the one that is
handed in. A statement is one SELECT over that table, built by `statements`; it is looked at once
more before it runs. Time, memory and rows are limited. The settings, and what each still lets
through, were tried on DuckDB 2.0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from threading import Timer
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.process.errors import ExplainedError

if TYPE_CHECKING:
    import duckdb

TABLE = "rows"
"""What the table that is handed in is called."""
SECONDS = 2.0
MEMORY = "256MB"
FUNCTIONS = frozenset({"Abs", "Contains", "Count", "Max", "Min", "Rank", "Sum", "Anonymous:FSUM"})
"""What a statement may call, as sqlglot names it."""


class SandboxError(ExplainedError, RuntimeError):
    """A statement was refused, or went beyond a limit; the message says which."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT with its values apart."""

    sql: str
    values: Sequence[str | float | Decimal]


def run(statement: Statement, table: pa.Table, *, seconds: float = SECONDS) -> pa.Table:
    """What `statement` gives of `table`, which it calls `TABLE`.

    Raises:
        SandboxError: It is no plain SELECT over that table, took too long or too much memory.
    """
    import duckdb

    _require_plain(statement.sql)
    with _engine().cursor() as connection:
        connection.register(TABLE, table)
        return _within(
            seconds,
            interrupt=connection.interrupt,
            work=lambda: connection.sql(
                statement.sql, params=list(statement.values)
            ).to_arrow_table(),
            errors=(duckdb.Error,),
        )


def _within(
    seconds: float,
    *,
    interrupt: Callable[[], None],
    work: Callable[[], pa.Table],
    errors: tuple[type[Exception], ...],
) -> pa.Table:
    timer = Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        return work()
    except errors as error:
        problem = (
            f"took longer than {seconds:g} s"
            if type(error).__name__ == "InterruptException"
            else f"could not be run: {error}"
        )
        raise SandboxError(f"the lookup {problem}") from error
    finally:
        timer.cancel()


@cache
def _require_plain(sql: str) -> None:
    """Refuse all but one SELECT over `TABLE` with the functions of `FUNCTIONS`.

    Raises:
        SandboxError: It is something else.
    """
    import duckdb
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        statements = duckdb.extract_statements(sql)
        parsed = sqlglot.parse_one(sql, read="duckdb")
    except (duckdb.Error, SqlglotError) as error:
        raise SandboxError(f"the lookup's statement cannot be read: {error}") from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SandboxError("the lookup's statement is not one SELECT")
    tables = [table.sql(dialect="duckdb") for table in parsed.find_all(exp.Table)]
    if not isinstance(parsed, exp.Select) or tables != [TABLE]:
        raise SandboxError(f"the lookup's statement reads other tables than its own: {tables}")
    called = {_name(each) for each in parsed.find_all(exp.Func)} - {"And", "Or"}
    if unknown := called - FUNCTIONS:
        raise SandboxError(f"the lookup's statement calls {', '.join(sorted(unknown))}")


def _name(function: object) -> str:
    named = type(function).__name__
    return (
        f"{named}:{str(getattr(function, 'this', '')).upper()}" if named == "Anonymous" else named
    )


def _settings() -> Mapping[str, str | bool | int | float | list[str]]:
    return {
        "enable_external_access": False,
        "lock_configuration": True,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "memory_limit": MEMORY,
        "threads": 1,
        "temp_directory": "",
    }


@cache
def _engine() -> "duckdb.DuckDBPyConnection":
    import duckdb

    return duckdb.connect(":memory:", config=dict(_settings()))
