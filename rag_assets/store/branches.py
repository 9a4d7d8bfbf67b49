"""Trial branches: other search indexes over the rows of a table, of which none is copied.

A branch of Lance has a history of its own, in the folder of its table (`tree/`), and reads the
files of the version that it stems from. What is written to it, the table does not see, nor does
anyone who searches the table. One lock is held while branches are in use: what stands there when it
is free was kept by a trial, or left by one that was killed. Either stays until the next clean-up.
"""

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_assets.store.pins import Pin
from rag_assets.store.store import Store

if TYPE_CHECKING:
    from lance import LanceDataset
    from lancedb.table import Table as LanceTable

LOCK = "index_trial"
PREFIX = "trial_"
"""With which the names of branches begin that belong to trials."""


@contextmanager
def trial_lock(store: Store, *, log: Callable[[str], None]) -> Generator[None]:
    """Be the one process that uses branches; wait for whoever is, and say so through `log`."""
    with store.lock(LOCK, log=log):
        yield


def open_branch(store: Store, pin: Pin, name: str) -> "LanceTable":
    """The branch `name` of the table of `pin`, begun at its version unless it is there.

    The caller holds `trial_lock`.

    Raises:
        ValueError: A branch of that name stems from another version.
    """
    table = store.open(pin.table)
    known = _branches(table.to_lance())
    if name not in known:
        return table.branches.create(name, from_version=pin.version)
    if known[name] != pin.version:
        raise ValueError(f"branch {name} of {pin.table} stems from version {known[name]}")
    return table.branches.checkout(name)


def drop_branch(store: Store, table: str, name: str) -> None:
    """Remove a branch with all that was written to it; the caller holds `trial_lock`."""
    dataset = store.dataset(table)
    if name in _branches(dataset):
        dataset.branches.delete(name)


def drop_all(store: Store, table: str) -> list[str]:
    """Remove all branches of trials from a table; their names. The caller holds `trial_lock`."""
    names = sorted(_branches(store.dataset(table)))
    for name in names:
        drop_branch(store, table, name)
    return names


def drop_unused(store: Store, table: str) -> list[str]:
    """Remove all branches of trials from a table unless a trial runs; their names."""
    with store.lock_if_free(LOCK) as is_free:
        return drop_all(store, table) if is_free else []


def stems(dataset: "LanceDataset") -> Collection[int]:
    """The versions that branches read the files of."""
    return {*_branches(dataset).values()}


def _branches(dataset: "LanceDataset") -> Mapping[str, int]:
    """The branches of trials, with the version that each stems from."""
    return {
        name: int(branch["parent_version"])
        for name, branch in dataset.branches.list().items()
        if name.startswith(PREFIX)
    }
