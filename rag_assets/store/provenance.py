"""When a row came into a table, and by which run: read from the table's own versions.

Each commit that adds rows carries the run that made it, among the properties of its transaction;
no row does, so a row stays equal whoever made it. A clean-up removes old versions with their
commits. Of a row that is older than all that are kept, what is left is when its file was written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rag_assets import schemas
from rag_assets.columns.sql import quoted
from rag_assets.store.rows_by_id import ROW_ID
from rag_assets.store.store import Store


@dataclass(frozen=True, slots=True)
class Made:
    """When a row was written as it stands."""

    at: str | None
    """ISO 8601, UTC; None if nothing is left that tells."""
    version: int | None
    """The version of the table that it came with; None where that was cleaned up."""
    run: str | None
    """Id of the run of Dagster that wrote it; None if its commit was cleaned up, or was written
    outside of a run."""

    @property
    def is_exact(self) -> bool:
        """Whether the time is exact: if not, the row was written then at the latest."""
        return self.version is not None


def row_of(
    store: Store, table: str, *, key: str, value: str, version: int | None = None
) -> Mapping[str, object] | None:
    """The row of `table` whose column `key` is `value`, without its vector; None if there is none.

    Raises:
        MissingTableError: No refresh has built the table yet.
    """
    return _row_where(store, table, f"{key} = {quoted(value)}", version=version)


def row_that_begins(
    store: Store, table: str, *, key: str, start: str, version: int | None = None
) -> Mapping[str, object] | None:
    """The first row of `table` whose column `key` begins with `start`, as `row_of` has it."""
    return _row_where(store, table, f"starts_with({key}, {quoted(start)})", version=version)


def _row_where(
    store: Store, table: str, where: str, *, version: int | None
) -> Mapping[str, object] | None:
    columns = [
        name
        for name in store.schema(table, version=version).names
        if name not in ("vector", schemas.SPARSE)
    ]
    rows = store.read(table, columns=columns, where=where, version=version)
    return rows.slice(0, 1).to_pylist()[0] if rows.num_rows else None


def made_of(store: Store, table: str, *, key: str, value: str, version: int | None = None) -> Made:
    """When and by which run the row was written that `table` holds at `version`.

    It looks for the first of the kept versions that holds the same row. A merge of files changes no
    row, so it does not count.

    Args:
        store: Holds the table.
        table: The name of the table, or one of its generations.
        key: Column that names a row.
        value: The row; where a key names several, all of them together.
        version: The newest one unless given.
    """
    last = version or store.version(table)
    kept = [each for each in store.versions(table) if each <= last]
    wanted = _content(store, table, key, value, version=last)
    first = _first(kept, lambda each: _content(store, table, key, value, version=each) == wanted)
    if first == kept[0] and first > 1:
        return Made(_written_at(store, table, key, value, version=first), None, None)
    return Made(time_of(store, table, first), first, store.run_of(table, version=first))


def last_seen(
    store: Store, table: str, *, key: str, start: str
) -> tuple[int, Mapping[str, object]] | None:
    """The newest kept version of a table with a row that is gone by now, and that row.

    Its `key` is `start`, or begins so.
    """
    for version in reversed(store.versions(table)):
        if row := row_that_begins(store, table, key=key, start=start, version=version):
            return version, row
    return None


def time_of(store: Store, table: str, version: int) -> str | None:
    """When a version was committed: ISO 8601, UTC; None if it was cleaned up."""
    found = [
        each["timestamp"]
        for each in store.dataset(table).versions()
        if each["version"] == version and isinstance(each["timestamp"], datetime)
    ]
    return _iso(found[0]) if found else None


def _content(store: Store, table: str, key: str, value: str, *, version: int) -> frozenset[str]:
    """What the rows called `value` say at one version; empty if there are none."""
    rows = store.read(
        table,
        columns=list(schemas.SYSTEM_COLUMNS),
        where=f"{key} = {quoted(value)}",
        version=version,
    )
    return frozenset("/".join(map(str, row.values())) for row in rows.to_pylist())


def _first(versions: Sequence[int], holds: Callable[[int], bool]) -> int:
    """The first of `versions` from which on it holds; of the last one it does."""
    low, high = 0, len(versions) - 1
    while low < high:
        middle = (low + high) // 2
        if holds(versions[middle]):
            high = middle
        else:
            low = middle + 1
    return versions[low]


def _written_at(store: Store, table: str, key: str, value: str, *, version: int) -> str | None:
    """When the file of the row was written, which is a merge of files where there was one."""
    batches = store.batches(
        table,
        columns=[key],
        where=f"{key} = {quoted(value)}",
        version=version,
        with_row_ids=True,
    )
    rows = [row for batch in batches for row in batch[ROW_ID].to_pylist()]
    written = [store.written_at(table, row_id=row, version=version) for row in rows]
    times = [each for each in written if each is not None]
    return _iso(max(times)) if times else None


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")
