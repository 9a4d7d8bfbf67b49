"""Whether quarantine, accounts and pictures agree with the tables that they lie beside."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from rag_assets import schemas
from rag_assets.change import quarantine
from rag_assets.change.quarantine import all_entries
from rag_assets.change.steps import Step
from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.columns.sql import is_one_of
from rag_assets.documents.steps import FIGURE_DESCRIPTIONS, PARSED_DOCUMENTS
from rag_assets.graph import STEPS
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice
from rag_assets.operations.doctor.faults import EXAMPLES, Fault, Log, RowsAt
from rag_assets.store import ROW_ID, Store, images


def quarantine_faults(practice: Practice) -> Iterator[Fault]:
    """Entries of inputs that are gone, and marks that disagree with the entries."""
    store = practice.store
    known = {store.known_as(step.table): step for step in STEPS.all_of(practice.config)}
    entries = all_entries(store)
    for target in sorted({entry.target for entry in entries} & known.keys()):
        keys = [entry.failure.key for entry in entries if entry.target == target]
        if gone := _without_input(store, known[target], keys):
            yield Fault(
                kind="stray-quarantine",
                subject=target,
                count=len(gone),
                examples=sorted(gone)[:EXAMPLES],
                mends=[partial(_forget, target=target, keys=sorted(gone))],
            )
    yield from _marks(store)


def _without_input(store: Store, step: Step, keys: Collection[str]) -> set[str]:
    """The keys among `keys` that no input of the step has; none where it reads a source."""
    left = set(keys)
    if step.kind is FIGURE_DESCRIPTIONS or not step.inputs:
        return set()
    for each in step.inputs:
        if not store.exists(each.table):
            continue
        column = step.group if step.group in store.schema(each.table).names else each.key
        found = store.read_keys(each.table, column=column, keys=sorted(left), columns=[column])
        left -= set(found[column].to_pylist())
    return left


def _forget(
    store: Store,
    log: Log,  # noqa: ARG001 - as all mends
    *,
    target: str,
    keys: list[str],
) -> None:
    quarantine.forget(store, target, keys)


def _marks(store: Store) -> Iterator[Fault]:
    """Tables that the quarantine names without a mark, or marks of which it knows nothing."""
    if not store.exists(quarantine.QUARANTINE):
        return
    named = set(store.read(quarantine.QUARANTINE, columns=["target"])["target"].to_pylist())
    marked = set(quarantine.quarantined_targets(store))
    if wrong := sorted(named ^ marked):
        yield Fault(
            kind="quarantine-mark",
            subject=quarantine.QUARANTINE,
            count=len(wrong),
            examples=wrong[:EXAMPLES],
            mends=[_marked_anew],
        )


def _marked_anew(store: Store, log: Log) -> None:  # noqa: ARG001 - as all mends
    quarantine.mark_anew(store)


def _accounts(practice: Practice, table: ExaminedTable) -> str:
    """The table of accounts beside some elements."""
    return practice.config.tables_of(table.variants[0]).accounts


def account_faults(practice: Practice, table: ExaminedTable) -> Iterator[Fault]:
    """Documents with elements and no account, and accounts of documents that have none."""
    store, accounts = practice.store, _accounts(practice, table)
    if not store.exists(accounts):
        return
    version = store.version(table.step.table)
    held = store.read(accounts, columns=["document_id"])["document_id"]
    rows = _rows(store, table.step.table, column="document_id", version=version)
    parsed = rows["document_id"].combine_chunks()
    is_lost = KeyIndex(held).places(parsed) == ABSENT
    if is_lost.any():
        lost = rows.filter(pa.array(is_lost))
        documents = lost["document_id"].unique().to_pylist()
        yield replace(
            table.fault(store, "account-lost"),
            count=len(documents),
            examples=documents[:EXAMPLES],
            delete=RowsAt(store.generation(table.step.table), version, lost[ROW_ID].to_numpy()),
        )
    failed = [failure.key for failure in quarantine.quarantined(store, table.step.table)]
    explained = pa.chunked_array([parsed, pa.array(failed, pa.string())])
    is_stray = KeyIndex(explained).places(held) == ABSENT
    if is_stray.any():
        stray = held.filter(pa.array(is_stray)).to_pylist()
        yield Fault(
            kind="stray-account",
            subject=accounts,
            count=len(stray),
            examples=stray[:EXAMPLES],
            variants=table.variants,
            mends=[partial(_drop_accounts, accounts=accounts, documents=stray)],
        )


def _drop_accounts(store: Store, log: Log, *, accounts: str, documents: list[str]) -> None:
    with store.lock(accounts, log=log):
        store.delete(accounts, column="document_id", keys=documents)


def picture_faults(practice: Practice, table: ExaminedTable) -> Iterator[Fault]:
    """Elements that show pictures which are not stored."""
    store = practice.store
    version = store.version(table.step.table)
    rows = _rows(
        store, table.step.table, column=images.KEY, version=version, where="image IS NOT NULL"
    )
    if not rows.num_rows:
        return
    if not store.exists(schemas.IMAGES_TABLE):
        is_lost = np.ones(rows.num_rows, bool)
    else:
        stored = pa.chunked_array([images.stored(store, rows)])
        is_lost = KeyIndex(stored).places(rows[images.KEY].combine_chunks()) == ABSENT
    if is_lost.any():
        lost = rows.filter(pa.array(is_lost))
        yield replace(
            table.fault(store, "picture-lost"),
            count=lost.num_rows,
            examples=lost[images.KEY].to_pylist()[:EXAMPLES],
            mends=[
                partial(
                    _parse_again,
                    table=table.step.table,
                    accounts=_accounts(practice, table),
                    pictures=lost[images.KEY].unique().to_pylist(),
                )
            ],
        )


def _parse_again(store: Store, log: Log, *, table: str, accounts: str, pictures: list[str]) -> None:
    """Have documents parsed again, not copied: their pictures are kept while they are parsed."""
    with store.lock(table, log=log):
        store.reopen(table)
        rows = store.read(table, columns=["document_id"], where=is_one_of(images.KEY, pictures))
        documents = rows["document_id"].unique().to_pylist()
        store.delete(table, column="document_id", keys=documents)
    _drop_accounts(store, log, accounts=accounts, documents=documents)


def _rows(
    store: Store, table: str, *, column: str, version: int, where: str | None = None
) -> pa.Table:
    """A column of a table with the ids of its rows."""
    batches = list(
        store.batches(table, columns=[column], where=where, version=version, with_row_ids=True)
    )
    schema = pa.schema([pa.field(column, pa.string()), pa.field(ROW_ID, pa.uint64())])
    return pa.Table.from_batches(batches, batches[0].schema if batches else schema)


def faults_of(practice: Practice, table: ExaminedTable) -> Iterator[Fault]:
    """What the tables beside that of a step lack or have beyond it."""
    if table.step.kind is PARSED_DOCUMENTS:
        yield from account_faults(practice, table)
        yield from picture_faults(practice, table)
