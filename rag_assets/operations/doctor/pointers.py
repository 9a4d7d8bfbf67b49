"""Whether the serving pointer can be read, and what it pins."""

from collections.abc import Iterator
from functools import partial

from rag_assets.change import embeddable
from rag_assets.config import Config
from rag_assets.operations.doctor import fault_rules
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.faults import Fault, Log
from rag_assets.operations.doctor.sets import is_kept
from rag_assets.operations.serving_index.promotion import roll_back
from rag_assets.store import Store, serving_pointer
from rag_assets.store.serving_pointer import CURRENT, FOLDER, DamagedPointerError, ServingPointer


def faults_of(practice: Practice) -> Iterator[Fault]:
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
