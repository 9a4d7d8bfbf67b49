"""A table as it stood: who reads a pin reads those rows and no others, or gets an error."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets import schemas
from rag_assets.columns.contents import Content
from rag_assets.store import Store
from rag_assets.store.damage import DAMAGE, DamagedTablesError
from rag_assets.store.repair import missing_index_files
from rag_assets.store.table_locations import UnreachableTablesError

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of one generation of a table, and what it lies in."""

    table: str
    """The generation: see `store.catalog`."""
    version: int
    files: str
    """The hash of the files, see `Store.files`: a table that was deleted and built anew has the
    same numbers again."""
    data_version: str
    """The hash of what the table holds at that version: see `columns.contents`."""


def pin_of(store: Store, name: str, *, key: str = "unit_id") -> Pin:
    """The table called `name` as it stands now; its rows are told by `key` and fingerprint.

    Raises:
        MissingTableError: No refresh has built it yet.
        DamagedTablesError: Its files cannot be read.
    """
    table = store.generation(name)
    version = store.version(table)
    files = store.files(table, version=version)
    assert files is not None, "the newest version is there"
    ended = store.ended(name)
    if ended:
        return Pin(table, version, files, ended.data_version)
    identity = [key, schemas.FINGERPRINT.name]
    rows = store.read(table, columns=identity, version=version)
    return Pin(table, version, files, Content.of(rows.select(identity)).data_version)


def opened(store: Store, pin: Pin) -> "LanceTable":
    """The table as it stood, for searching.

    Raises:
        ValueError: It is gone, or was built anew.
    """
    table = store.open(pin.table, version=pin.version)
    if store.files(pin.table, version=pin.version) != pin.files:
        raise ValueError(f"version {pin.version} of {pin.table} is another than the pinned one")
    return table


def holds(store: Store, pin: Pin) -> bool:
    """Whether the rows of `pin` can still be read there, and no others are in their place.

    Raises:
        DamagedTablesError: Files of the table cannot be read.
        OSError, ValueError: The tables cannot be reached, which says nothing of what they hold.
    """
    if not store.exists(pin.table):
        return False
    files = store.files(pin.table, version=pin.version)
    if files is None:
        store.versions(pin.table)  # where nothing answers, no version is found either
    return files == pin.files


def is_whole(store: Store, pin: Pin) -> bool:
    """Whether its rows can be read, and all files of them and of their indexes are there.

    Raises:
        UnreachableTablesError: The object store does not answer, which says nothing of them.
    """
    try:
        if not holds(store, pin):
            return False
        store.check(pin.table, version=pin.version)
        return not missing_index_files(store, pin.table, version=pin.version)
    except UnreachableTablesError:
        raise
    except (DamagedTablesError, *DAMAGE):
        return False
