"""A Dagster asset graph that keeps a retrieval index over documents and SQL tables fresh."""

from importlib import import_module

LATE = {"RetrievalIndex": "rag_assets.component"}
"""The names that are imported when they are asked for, as importing Dagster takes a second."""


def __getattr__(name: str) -> object:
    """Import a name of `LATE` when it is first asked for."""
    if name not in LATE:
        raise AttributeError(f"{__name__} has no {name}")
    found = getattr(import_module(LATE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The names of the package, those that are imported late among them: `dg` lists them."""
    return sorted({*globals(), *LATE})
