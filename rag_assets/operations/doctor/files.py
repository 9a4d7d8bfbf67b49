"""Whether each table can be opened and read at all."""

from collections.abc import Iterator

from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice
from rag_assets.operations.doctor.faults import Fault, Log, Mend, made_ready
from rag_assets.store import Store, exports
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet, all_sets
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.repair import damage_of, drop_damaged_parts

IN_A_BUCKET = "delete the table in the object store, and run `rag-assets refresh`"
"""A connection that fails looks like damage: nothing is removed there."""


def damaged(practice: Practice, table: str, *, of: ExaminedTable | None = None) -> Fault | None:
    """What is wrong with the files of a table that is there; `of` says whose it is."""
    wrong = damage_of(practice.store, table)
    return damaged_by(practice, table, wrong, of=of) if wrong else None


def damaged_by(
    practice: Practice, table: str, wrong: str, *, of: ExaminedTable | None = None
) -> Fault:
    """A table of which something was found wrong while it was read."""
    store = practice.store
    is_of_source = of is not None and of.step.kind.reads_sources
    return Fault(
        kind="damaged",
        subject=store.uri(table).rpartition("/")[2].removesuffix(".lance"),
        reason=wrong.partition("\n")[0],
        variants=of.variants if of else tuple(practice.variants),
        remedy=IN_A_BUCKET if practice.config.tables_url else "",
        mends=[] if practice.config.tables_url else [_mended(store.generation(table))],
        is_redone=practice.config.tables_url is None,
        is_of_source=is_of_source or table.startswith(exports.PREFIX),
    )


def _mended(generation: str) -> Mend:
    """Take away what cannot be read; all of the table, if not even its parts can be listed."""

    def mend(store: Store, log: Log) -> None:
        with store.lock(generation, log=log):
            made_ready(store, name_of(generation))
            try:
                gone = drop_damaged_parts(store, generation)
                log(f"{generation}: {gone} damaged parts taken away")
            except DamagedTablesError:
                store.drop(generation)
                log(f"{generation}: removed, since it cannot be read")

    return mend


def lost(practice: Practice, table: ExaminedTable) -> Fault | None:
    """Whether the table is gone although a variant was once completed with it.

    Of a variant whose recipe was edited since, the new tables were never there.
    """
    store = practice.store
    if store.exists(table.step.table) or table.step.kind.is_optional:
        return None
    built = {each.variant for each in all_sets(store) if _is_as_built(practice, table, each)}
    hit = tuple(name for name in table.variants or practice.variants if name in built)
    if not hit:
        return None
    return Fault(
        kind="lost",
        subject=table.subject(store),
        reason=f"the table of {table.step.asset}",
        variants=hit,
        is_redone=True,
        is_of_source=not table.step.kind.has_variants,
    )


def _is_as_built(practice: Practice, table: ExaminedTable, made: CompleteSet) -> bool:
    """Whether a set was made with the table: the shared ones are those of every recipe."""
    if not table.step.kind.has_variants:
        return True
    is_known = made.variant in practice.variants
    return is_known and made.is_of(practice.store, practice.config.tables_of(made.variant))


def side_tables(
    practice: Practice, tables: list[ExaminedTable]
) -> Iterator[tuple[str, ExaminedTable]]:
    """The tables that lie beside those of steps, each with one that it lies beside."""
    seen: set[str] = set()
    for table in tables:
        for name in table.step.side_tables:
            if name not in seen and practice.store.exists(name):
                seen.add(name)
                yield name, table
