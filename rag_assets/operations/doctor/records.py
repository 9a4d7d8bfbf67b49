"""Whether records are of the tables as they are, and what nothing names any more.

Records of finished passes, the complete set of each variant, and the serving pointer with what it
pins: what answers queries can be read as it was when it was recorded. What nothing names: old
tables, begun ones, and caches that cannot be read.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from rag_assets.change import embeddable
from rag_assets.change.completing import is_nothing_yet, joint_made_from
from rag_assets.change.data_versions import Identities, content_of
from rag_assets.change.reclaim import remove_unnamed, unnamed_tables
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.operations.doctor.differences import command_of
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice, step_tables
from rag_assets.operations.doctor.faults import Fault, Log, reopened
from rag_assets.operations.doctor.files import damaged, damaged_by
from rag_assets.operations.doctor.table_scan import Census
from rag_assets.operations.serving_index.rollback import roll_back
from rag_assets.store import Store, complete_sets, exports, serving_pointer
from rag_assets.store.atomic import take_away
from rag_assets.store.catalog import folder_of, is_of_recipe
from rag_assets.store.complete_sets import CompleteSet, all_sets, file_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError
from rag_assets.store.pins import Pin, is_whole
from rag_assets.store.rows_by_id import MissingTableError
from rag_assets.store.serving_pointer import CURRENT, FOLDER, DamagedPointerError

RECORDS = ("completed", "indexes")
"""Folders of the state with a record for each table."""
LATE = 2
"""Clean-ups that a table without a name may outlive: more, and none is running."""


def unfinished(practice: Practice, table: ExaminedTable) -> Fault | None:
    """Whether the last pass over the table was begun and not finished."""
    store, step = practice.store, table.step
    if store.ended(step.table) is not None:
        return None
    return replace(
        table.fault(store, "unfinished"),
        remedy=command_of(table),
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
    return replace(
        table.fault(store, "false-record"),
        reason=f"{ended.rows:,} rows are recorded, {found.rows:,} are there"
        if found.rows != ended.rows
        else f"as many rows as recorded ({found.rows:,}), but not the same",
        delete=None if step.group == step.key else census.rows(np.ones(len(census), bool)),
        mends=[reopened(step.table)],
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
                    kind="stray-record",
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
                    kind="false-record",
                    subject=f"exports/{exported.about.name}",
                    reason=f"{left.rows:,} rows are recorded, {found.rows:,} are there",
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
            kind="unnamed" if is_overdue else "stock",
            subject=folder_of(generation),
            mends=[partial(_remove, generation=generation)] if is_overdue else (),
        )
    for generation in store.begun():
        yield Fault(
            kind="remnant",
            subject=folder_of(generation),
            mends=[partial(_drop, generation=generation)],
        )
    for file in _bad_caches(store.root):
        yield Fault(
            kind="bad-cache",
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
    """The file goes: what it held is written again by the steps, or computed again."""
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
    for file in sorted(root.glob("looks/*.parquet")):
        try:
            pq.read_metadata(file)
        except (pa.ArrowException, OSError):
            yield file


def set_faults(practice: Practice) -> Iterator[Fault]:
    """What is wrong with the complete sets of the variants."""
    for variant in practice.variants:
        file = file_of(practice.store, variant)
        if not file.exists():
            yield from _unrecorded(practice, variant, None)
            continue
        found = CompleteSet.read(file)
        if found is None:
            yield Fault(
                kind="unreadable-set",
                subject=f"{complete_sets.FOLDER}/{file.name}",
                variants=(variant,),
                mends=[partial(_unlink, file=file)],
                is_redone=True,
            )
            continue
        if gone := _gone(practice, found.pins, subject=f"variant {variant}"):
            mends = [partial(_unlink, file=file)]
            yield replace(gone, variants=(variant,), mends=mends, is_redone=True)
        else:
            yield from _unrecorded(practice, variant, found)


def tags(practice: Practice) -> Iterator[Fault]:
    """Versions that a tag keeps although neither a complete set nor the pointer has them."""
    store = practice.store
    holders = (*all_sets(store), *embeddable.kept(store, practice.config))
    pinned = {(pin.table, pin.version) for each in holders for pin in each.pins}
    for table in store.generations():
        with suppress(DamagedTablesError, MissingTableError):
            kept = {
                name: int(tag["version"]) for name, tag in store.dataset(table).tags.list().items()
            }
            newest = store.version(table)
            strange = [
                f"{name} (version {version})"
                for name, version in sorted(kept.items())
                if version != newest and (table, version) not in pinned
            ]
            if strange:
                yield Fault(
                    kind="tagged",
                    subject=folder_of(table),
                    count=len(strange),
                    examples=strange,
                )


def _unrecorded(practice: Practice, variant: str, recorded: CompleteSet | None) -> Iterator[Fault]:
    """Tables that belong together as they stand, although another set answers."""
    store = practice.store
    step = STEPS.completing(practice.config, variant)
    ended = store.ended(step.table)
    belongs = ended is not None and ended.made_from == joint_made_from(store, step)
    is_nothing = is_nothing_yet(store, practice.config, variant=variant)
    if is_nothing or not belongs or not (store.root / complete_sets.FOLDER).exists():
        return
    newest = {store.generation(name): store.ended(name) for name, _ in step.sources}
    newest[store.generation(step.table)] = ended
    pinned = {pin.table: pin.data_version for pin in recorded.pins} if recorded else {}
    if all(left and pinned.get(name) == left.data_version for name, left in newest.items()):
        return
    yield Fault(
        kind="unrecorded-set",
        subject=f"variant {variant}",
        variants=(variant,),
        is_redone=True,
    )


def pointer_faults(practice: Practice) -> Iterator[Fault]:
    """What is wrong with what serves, and with what a rollback would go back to."""
    store = practice.store
    try:
        pointer = serving_pointer.current(store)
    except DamagedPointerError as error:
        yield Fault(
            kind="damaged-pointer",
            subject=f"{FOLDER}/{CURRENT}",
            reason=str(error).partition(":")[0],
            remedy="rag-assets variants rollback",
            mends=[partial(_back, config=practice.config)],
        )
        return
    if pointer is None:
        return
    if gone := _gone(practice, pointer.pins, subject=f"serving pointer {pointer.number}"):
        # its variant is built again, and pinned anew
        variant = pointer.variant_in(store, practice.config)
        of_variant = (variant,) if variant else ()
        yield replace(gone, variants=of_variant, is_redone=variant in practice.variants)
    if why_not := embeddable.why_not(store, practice.config, pointer):
        yield Fault(kind="no-model", subject=f"serving pointer {pointer.number}", reason=why_not)
    for other in embeddable.kept(store, practice.config)[1:]:
        if not embeddable.can_serve(store, practice.config, other):
            yield Fault(
                kind="no-way-back",
                subject=f"serving pointer {other.number}",
                reason=other.variant,
            )


def _gone(practice: Practice, pins: Iterable[Pin], *, subject: str) -> Fault | None:
    """The pins of a complete set or of what serves that cannot be read, if there are any."""
    gone = [pin for pin in pins if not is_whole(practice.store, pin)]
    if not gone:
        return None
    examples = [f"version {pin.version} of {pin.table}" for pin in gone]
    return Fault(kind="pin-gone", subject=subject, count=len(gone), examples=examples)


def _back(store: Store, log: Log, *, config: Config) -> None:
    pointer = roll_back(store, config)
    log(f"serving pointer {pointer.number} serves what {pointer.restores} did")
