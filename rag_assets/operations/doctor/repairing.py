"""A repair: what is wrong is taken away, the steps make it again, and the doctor looks once more.

What one round mends may show what it hid: a table is compared with its inputs only once these are
sound. A round that finds what the one before it found ends the repair: that cannot be mended here.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rag_assets.change.steps import StepContext
from rag_assets.config import Config, ConfigError
from rag_assets.documents.parsers.description import ParserUnavailableError
from rag_assets.graph import STEPS
from rag_assets.models.hosted import ServerError
from rag_assets.models.replicas import EncoderError
from rag_assets.models.weights import WeightsError
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.examining import Examination, examine
from rag_assets.operations.doctor.faults import Fault, Log, RowsAt, made_ready
from rag_assets.operations.serving_index.candidates import NothingReadError
from rag_assets.operations.serving_index.promotion import promote_refreshed
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store, serving_pointer
from rag_assets.store.catalog import name_of
from rag_assets.store.repair import delete_rows, mark_stale
from rag_assets.store.serving_pointer import ServingPointerError
from rag_assets.tables.exported import ExportRunsError
from rag_assets.workers.ray_pool import ClusterError

MOST_ROUNDS = 8
"""A fault in each table of the chain, one behind the other, is mended in fewer."""

CANNOT_RUN = (
    *(ConfigError, ClusterError, EncoderError, ExportRunsError, NothingReadError),
    *(ParserUnavailableError, ServerError, ServingPointerError, WeightsError),
)
"""Why a step or the pointer cannot do its part: the message says what to do."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair did."""

    mended: Sequence[Fault]
    """What was found on the way, and is gone."""
    left: Examination
    """What the last look found: nothing, or what cannot be mended here."""


def repair(practice: Practice) -> Repair:
    """Mend what an examination of the variants finds, and look again.

    The caller holds the lock on refreshes of the command line; the lock of each table that is
    written is taken here. What another process writes meanwhile is left to it.

    Raises:
        One of `CANNOT_RUN`: A step cannot run here.
    """
    found = examine(practice)
    mended: list[Fault] = []
    for _ in range(MOST_ROUNDS):
        faults = [each for each in found.faults if each.is_mendable]
        if not faults:
            break
        _mend(practice, faults)
        before, found = found, examine(practice)
        left = {_identity(each) for each in found.faults}
        mended += [each for each in faults if _identity(each) not in left]
        if {_identity(each) for each in before.faults} == left:
            break
    return Repair(mended, found)


def _mend(practice: Practice, faults: Sequence[Fault]) -> None:
    store, log = practice.store, practice.log
    _change_rows(store, faults, log=log)
    for fault in faults:
        for mend in fault.mends:
            mend(store, log)
    redone = [each for each in faults if each.is_redone]
    if any(each.is_of_source for each in redone):
        land_again(store, practice.config, log=log)
    if redone:
        hit = {name for each in redone for name in each.variants or practice.variants}
        variants = [name for name in practice.variants if name in hit]
        rebuild(store, practice.config, variants=variants, log=log)


def _change_rows(store: Store, faults: Sequence[Fault], *, log: Log) -> None:
    """Delete rows and mark rows as stale, those of each table under its lock."""
    deleted = _by_table(each.delete for each in faults if each.delete)
    remade = _by_table(each.remake for each in faults if each.remake)
    for table, version in sorted({*deleted, *remade}):
        with store.lock(table, log=log):
            if store.version(table) != version:
                log(f"{table} was written meanwhile: it is looked at again")
                continue
            made_ready(store, name_of(table))
            delete_rows(store, table, deleted[table, version])
            kept = np.setdiff1d(remade[table, version], deleted[table, version])
            mark_stale(store, table, kept)


def _by_table(rows: Iterable[RowsAt]) -> dict[tuple[str, int], np.ndarray]:
    """The rows of each version of a table, each once."""
    found: defaultdict[tuple[str, int], np.ndarray] = defaultdict(lambda: np.empty(0, np.uint64))
    for each in rows:
        place = (each.table, each.version)
        found[place] = np.union1d(found[place], each.row_ids)
    return found


def _identity(fault: Fault) -> tuple[str, str, int]:
    return fault.kind, fault.subject, fault.count


def land_again(store: Store, config: Config, *, log: Log) -> None:
    """Read the sources again, as a refresh does."""
    work = _work(store, config, config.serving_variant, log=log)
    read = [kind for kind in STEPS.kinds if kind.reads_sources]
    for kind in read:
        if kind.is_planned:
            kind.refresh(work)
    for source in config.sources.tables:
        refresh_exports(store, source, allow_shrink=False, log=log)
    for kind in read:
        if not kind.is_planned:
            kind.refresh(work)


def rebuild(store: Store, config: Config, *, variants: Sequence[str], log: Log) -> None:
    """Bring the tables of `variants` up to what was landed of the sources.

    Where what serves is among them, the pointer moves on if its gate lets it pass.

    Raises:
        MissingTableError: Nothing was landed yet.
        EncoderError, WeightsError, ParserUnavailableError: As the steps do.
    """
    for variant in variants:
        for step in STEPS.in_order(config, variant).values():
            if step.kind.is_planned and not step.kind.reads_sources:
                step.kind.refresh(_work(store, config, variant, log=log))
    if serving_pointer.serving_variant(store, config) in variants:
        promote_refreshed(store, config, log=log)


def _work(store: Store, config: Config, variant: str, *, log: Log) -> StepContext:
    return StepContext(store=store, config=config, variant=variant, steps=STEPS, log=log, warn=log)
