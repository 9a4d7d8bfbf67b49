"""Branches of tables that trials of an earlier release left: they are removed, never made.

A branch of Lance lies in the folder of its table (`tree/`) and keeps the files of the version that
it stems from.
"""

from rag_assets.store.store import Store

PREFIX = "trial_"
"""With which the names of branches begin that belong to trials."""


def drop_trials(store: Store, table: str) -> None:
    """Remove all branches of trials from a table; the caller is its one writer."""
    branches = store.dataset(table).branches
    for name in branches.list():
        if name.startswith(PREFIX):
            branches.delete(name)
