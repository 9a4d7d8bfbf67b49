"""Pieces of SQL text: literals, identifiers, and conditions that name keys."""

from collections.abc import Iterator, Sequence

KEYS_PER_STATEMENT = 5_000
"""Keys named in one `IN (...)`: keeps a statement's text and plan small."""


def parts_of(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    """`keys` in parts that fit one statement."""
    for start in range(0, len(keys), KEYS_PER_STATEMENT):
        yield keys[start : start + KEYS_PER_STATEMENT]


def is_one_of(column: str, values: Sequence[str]) -> str:
    """SQL condition: `column` is one of `values`."""
    return f"{column} IN ({', '.join(quoted(value) for value in values)})"


def quoted(value: str) -> str:
    """`value` as an SQL string literal."""
    return "'" + value.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """`name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
