"""Whether the records of finished passes are of the tables as they are.

A table whose record says that it was made from older inputs, or that has none, waits for a refresh:
that it differs from its inputs is no fault, and is not looked for.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rag_assets.change.data_versions import Identities, content_of
from rag_assets.change.steps import Step, made_from
from rag_assets.operations.doctor import rules
from rag_assets.operations.doctor.faults import Fault, Log, reopened
from rag_assets.operations.doctor.subjects import Practice, StepTable, step_tables
from rag_assets.store import Store, exports
from rag_assets.store.catalog import is_of_recipe

RECORDS = ("completed", "indexes")
"""Folders of the state with a record for each table."""


def standing(practice: Practice, table: StepTable) -> Fault | None:
    """Whether a pass over the table is unfinished, or it was made from older inputs."""
    store, step = practice.store, table.step
    ended = store.ended(step.table)
    waiting = partial(Fault, subject=table.subject(store), variants=table.variants, is_redone=True)
    command = f"{rules.REFRESH} --variant {table.variants[0]}" if table.variants else rules.REFRESH
    if ended is None:
        return waiting(
            rule=rules.UNFINISHED,
            command=command,
            mends=[reopened(step.table)],
            is_of_source=not step.has_variants and step.asset != "table_rows",
        )
    differs = _moved_inputs(store, step)
    if differs:
        return waiting(
            rule=rules.BEHIND, detail=f"{', '.join(differs)} changed since", command=command
        )
    return None


def _moved_inputs(store: Store, step: Step) -> list[str]:
    """The assets of the inputs that are others than those the table was made from."""
    ended = store.ended(step.table)
    if ended is None or not step.inputs:
        return []
    if ended.parts is None:
        return ["what an earlier release does not tell"]
    now = made_from(store, step, recipe=ended.parts.get("recipe", ""))()
    return [name for name, value in now.items() if ended.parts.get(name) != value]


def false_record(practice: Practice, table: StepTable) -> Fault | None:
    """Whether the record of a finished pass is of other rows than the table holds."""
    store, step = practice.store, table.step
    ended = store.ended(step.table)
    if ended is None:
        return None
    found = content_of(Identities.of(store, step.table, key=step.key))
    if (found.rows, found.data_version) == (ended.rows, ended.data_version):
        return None
    return Fault(
        rule=rules.FALSE_RECORD,
        subject=table.subject(store),
        detail=f"{ended.rows:,} rows are recorded, {found.rows:,} are there"
        if found.rows != ended.rows
        else f"as many rows as recorded ({found.rows:,}), but not the same",
        variants=table.variants,
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
                    rule=rules.STRAY_RECORD,
                    subject=str(file.relative_to(store.root)),
                    mends=[partial(_removed, file=file)],
                )


def _removed(store: Store, log: Log, *, file: Path) -> None:
    with store.lock(file.stem, log=log):
        file.unlink(missing_ok=True)
