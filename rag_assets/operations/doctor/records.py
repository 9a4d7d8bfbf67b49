"""Whether records are of the tables as they are, and what nothing names any more.

What nothing names: old tables, begun ones, and caches that cannot be read.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from rag_assets.change.data_versions import Identities, content_of
from rag_assets.change.reclaim import remove_unnamed, unnamed_tables
from rag_assets.graph import STEPS
from rag_assets.operations.doctor import fault_rules
from rag_assets.operations.doctor.differences import command_of
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice, step_tables
from rag_assets.operations.doctor.faults import Fault, Log, reopened
from rag_assets.operations.doctor.files import damaged, damaged_by
from rag_assets.operations.doctor.table_scan import Census
from rag_assets.store import Store, exports
from rag_assets.store.atomic import take_away
from rag_assets.store.catalog import folder_of, is_of_recipe
from rag_assets.store.damage import DAMAGE, DamagedTablesError

RECORDS = ("completed", "indexes")
"""Folders of the state with a record for each table."""
LATE = 2
"""Clean-ups that a table without a name may outlive: more, and none is running."""


def unfinished(practice: Practice, table: ExaminedTable) -> Fault | None:
    """Whether the last pass over the table was begun and not finished."""
    store, step = practice.store, table.step
    if store.ended(step.table) is not None:
        return None
    return Fault(
        rule=fault_rules.UNFINISHED,
        subject=table.subject(store),
        variants=table.variants,
        command=command_of(table),
        is_redone=True,
        is_of_source=step.kind.reads_sources,
    )


def false_record(practice: Practice, table: ExaminedTable, census: Census) -> Fault | None:
    """Whether the record of a finished pass is of other rows than the table holds.

    Where one input gives several rows, a step does not see that the last of them is gone, and
    nothing tells whose it was: all are made again.
    """
    store, step = practice.store, table.step
    ended = store.ended(step.table)
    if ended is None:
        return None
    found = content_of(Identities.of(store, step.table, key=step.key))
    if (found.rows, found.data_version) == (ended.rows, ended.data_version):
        return None
    return Fault(
        rule=fault_rules.FALSE_RECORD,
        subject=table.subject(store),
        detail=f"{ended.rows:,} rows are recorded, {found.rows:,} are there"
        if found.rows != ended.rows
        else f"as many rows as recorded ({found.rows:,}), but not the same",
        variants=table.variants,
        delete=None if step.group == step.key else census.rows(np.ones(len(census), bool)),
        mends=[reopened(step.table)],
        is_redone=True,
    )


def stray_records(practice: Practice) -> Iterator[Fault]:
    """Records of tables that are gone, but for those that a step makes again."""
    store = practice.store
    made = {store.known_as(table.step.table) for table in step_tables(practice)}
    for folder in RECORDS:
        for file in sorted((store.root / folder).glob("*.json")):
            is_kept = is_of_recipe(file.stem) or file.stem.startswith(exports.PREFIX)
            if is_kept and file.stem not in made and not store.exists(file.stem):
                yield Fault(
                    rule=fault_rules.STRAY_RECORD,
                    subject=str(file.relative_to(store.root)),
                    mends=[partial(_removed, file=file)],
                )


def _removed(store: Store, log: Log, *, file: Path) -> None:
    with store.lock(file.stem, log=log):
        take_away(file)


def export_faults(practice: Practice) -> Iterator[Fault]:
    """Tables that were exported from sources: damaged, or of other rows than recorded."""
    store = practice.store
    for name in exports.names(store):
        if not store.exists(name):
            continue
        if fault := damaged(practice, name):
            yield fault
        elif exported := exports.exported(store, name):
            left = exported.completion
            try:
                found = content_of(Identities.of(store, name, key=exports.KEY))
            except (DamagedTablesError, *DAMAGE) as error:
                yield damaged_by(practice, name, str(error))
                continue
            if (found.rows, found.data_version) != (left.rows, left.data_version):
                yield Fault(
                    rule=fault_rules.FALSE_RECORD,
                    subject=f"exports/{exported.about.name}",
                    detail=f"{left.rows:,} rows are recorded, {found.rows:,} are there",
                    variants=tuple(practice.variants),
                    mends=[reopened(name)],
                    is_redone=True,
                    is_of_source=True,
                )


def leftover_faults(practice: Practice) -> Iterator[Fault]:
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
