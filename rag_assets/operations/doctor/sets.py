"""Whether what answers queries can be read as it was when it was recorded.

That is the complete set of each variant, and the serving pointer with what it pins.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from rag_assets.change import embeddable
from rag_assets.change.completing import is_nothing_yet, joint_made_from
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.operations.doctor import fault_rules
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.faults import Fault, Log
from rag_assets.operations.serving_index.promotion import roll_back
from rag_assets.store import Store, complete_sets, serving_pointer
from rag_assets.store.atomic import take_away
from rag_assets.store.catalog import folder_of
from rag_assets.store.complete_sets import CompleteSet, all_sets, file_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError
from rag_assets.store.pins import Pin, holds
from rag_assets.store.repair import missing_index_files
from rag_assets.store.rows_by_id import MissingTableError
from rag_assets.store.serving_pointer import CURRENT, FOLDER, DamagedPointerError, ServingPointer


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
                rule=fault_rules.UNREADABLE_SET,
                subject=f"{complete_sets.FOLDER}/{file.name}",
                variants=(variant,),
                mends=[partial(_forgotten, file=file)],
                is_redone=True,
            )
            continue
        gone = [pin for pin in found.pins if not is_kept(practice.store, pin)]
        if gone:
            yield Fault(
                rule=fault_rules.PIN_GONE,
                subject=f"variant {variant}",
                count=len(gone),
                examples=[f"version {pin.version} of {pin.table}" for pin in gone],
                variants=(variant,),
                mends=[partial(_forgotten, file=file)],
                is_redone=True,
            )
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
                    rule=fault_rules.TAGGED,
                    subject=folder_of(table),
                    count=len(strange),
                    examples=strange,
                )


def is_kept(store: Store, pin: Pin) -> bool:
    """Whether the rows of a pin can be read, and all files of them and their indexes are there."""
    try:
        if not holds(store, pin):
            return False
        store.check(pin.table, version=pin.version)
        return not missing_index_files(store, pin.table, version=pin.version)
    except (DamagedTablesError, *DAMAGE):
        return False


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
        rule=fault_rules.UNRECORDED_SET,
        subject=f"variant {variant}",
        variants=(variant,),
        is_redone=True,
    )


def _forgotten(store: Store, log: Log, *, file: Path) -> None:  # noqa: ARG001 - as all mends
    """The record goes: the steps write the next one, once the tables belong together."""
    take_away(file)


def pointer_faults(practice: Practice) -> Iterator[Fault]:
    """What is wrong with what serves, and with what a rollback would go back to."""
    store = practice.store
    try:
        pointer = serving_pointer.current(store)
    except DamagedPointerError as error:
        yield Fault(
            rule=fault_rules.DAMAGED_POINTER,
            subject=f"{FOLDER}/{CURRENT}",
            detail=str(error).partition(":")[0],
            command="rag-assets rollback",
            mends=[partial(_back, config=practice.config)],
        )
        return
    if pointer is None:
        return
    yield from _gone(practice, pointer)
    if why_not := embeddable.why_not(store, practice.config, pointer):
        yield Fault(
            rule=fault_rules.NO_MODEL, subject=f"serving pointer {pointer.number}", detail=why_not
        )
    for other in embeddable.kept(store, practice.config)[1:]:
        if not embeddable.can_serve(store, practice.config, other):
            yield Fault(
                rule=fault_rules.NO_WAY_BACK,
                subject=f"serving pointer {other.number}",
                detail=other.variant,
            )


def _gone(practice: Practice, pointer: ServingPointer) -> Iterator[Fault]:
    """Pins of what serves that cannot be read: its variant is built again, and pinned anew."""
    variant = pointer.variant_in(practice.store, practice.config)
    gone = [pin for pin in pointer.pins if not is_kept(practice.store, pin)]
    if gone:
        yield Fault(
            rule=fault_rules.PIN_GONE,
            subject=f"serving pointer {pointer.number}",
            count=len(gone),
            examples=[f"version {pin.version} of {pin.table}" for pin in gone],
            variants=(variant,) if variant else (),
            is_redone=variant in practice.variants,
        )


def _back(store: Store, log: Log, *, config: Config) -> None:
    pointer = roll_back(store, config)
    log(f"serving pointer {pointer.number} serves what {pointer.restores} did")
