"""The entries of a table source in the config: which of them takes which table, and how."""

from fnmatch import fnmatchcase

from rag_assets.config import TableSource, TableSpec
from rag_assets.sources.origins import Increment, Origin


def spec_of(source: TableSource, table: str) -> TableSpec | None:
    """The entry of the config that takes `table`: its own name before any pattern."""
    named = [spec for spec in source.tables if spec.name == table]
    if named:
        return named[0]
    if any(fnmatchcase(table, pattern) for pattern in source.exclude):
        return None
    patterns = (spec for spec in source.tables if spec.is_pattern)
    return next((spec for spec in patterns if fnmatchcase(table, spec.name)), None)


def increment_of(origin: Origin, spec: TableSpec, table: str) -> Increment | None:
    """How to ask for the newest rows of a table; None where it is read whole."""
    if spec.cursor is None or not origin.can_increment():
        return None
    key = spec.key or origin.describe(table).key
    return Increment(spec.cursor, key) if key else None
