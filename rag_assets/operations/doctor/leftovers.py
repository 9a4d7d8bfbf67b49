"""What nothing names any more: old tables, begun ones, and caches that cannot be read."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from rag_assets.change.reclaim import remove_unnamed, unnamed_tables
from rag_assets.graph import STEPS
from rag_assets.operations.doctor import fault_rules
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.faults import Fault, Log
from rag_assets.store import Store
from rag_assets.store.atomic import take_away
from rag_assets.store.catalog import folder_of

LATE = 2
"""Clean-ups that a table without a name may outlive: more, and none is running."""


def faults_of(practice: Practice) -> Iterator[Fault]:
    """Tables that nothing names, remnants of killed runs, and damaged caches."""
    store, config = practice.store, practice.config
    late = LATE * config.clean_up.keep_days
    for generation, is_overdue in unnamed_tables(store, config, STEPS, keep_days=late).items():
        yield Fault(
            rule=fault_rules.UNNAMED if is_overdue else fault_rules.KEPT_AS_STOCK,
            subject=folder_of(generation),
            mends=[partial(_remove, generation=generation)] if is_overdue else (),
        )
    for generation in store.begun():
        yield Fault(
            rule=fault_rules.REMNANT,
            subject=folder_of(generation),
            mends=[partial(_drop, generation=generation)],
        )
    for file in _bad_caches(store.root):
        yield Fault(
            rule=fault_rules.BAD_CACHE,
            subject=str(file.relative_to(store.root)),
            mends=[partial(_unlink, file=file)],
        )


def _remove(store: Store, log: Log, *, generation: str) -> None:
    remove_unnamed(store, generation, log=log)


def _drop(store: Store, log: Log, *, generation: str) -> None:
    with store.lock(generation, log=log):
        if generation in store.begun():
            store.drop(generation)


def _unlink(store: Store, log: Log, *, file: Path) -> None:  # noqa: ARG001 - as all mends
    take_away(file)


def _bad_caches(root: Path) -> Iterator[Path]:
    """Caches that cannot be read: what they held is computed again."""
    import pyarrow.parquet as pq

    for file in sorted(root.glob("cache/*.sqlite")):
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as database:
            try:
                database.execute("PRAGMA quick_check(1)").fetchone()
            except sqlite3.OperationalError:
                continue  # it is busy, or may not be read by this user
            except sqlite3.DatabaseError:
                yield file
    for file in sorted((*root.glob("looks/*.parquet"), *root.glob("hashes/*.parquet"))):
        try:
            pq.read_metadata(file)
        except (pa.ArrowException, OSError):
            yield file
