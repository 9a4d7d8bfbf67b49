"""Rollback: what an earlier record pins serves again, without a gate.

It stands: what it went back from is not promoted by the next night, unless the sources or the
config have changed what would serve, or somebody calls `promote`.
"""

from dataclasses import replace

from rag_assets.change import embeddable
from rag_assets.config import Config
from rag_assets.operations.gate import blocked_candidate
from rag_assets.operations.gate.verdicts import utc_now
from rag_assets.store import Store, serving_pointer
from rag_assets.store.serving_pointer import GonePinsError, ServingPointer, ServingPointerError


def roll_back(store: Store, config: Config, *, to: int | None = None) -> ServingPointer:
    """Serve again what an earlier record pins: the previous one that can serve, or number `to`.

    Raises:
        ServingPointerError: There is no such record, its tables are gone, or queries cannot be
            embedded for it.
        PointerMovedError: Another process moved the pointer meanwhile.
    """
    after = serving_pointer.number_now(store)
    wanted = serving_pointer.recorded(store, to) if to else _newest_to_restore(store, config)
    if wanted is None:
        content = serving_pointer.recorded(store, after).content if after else ""
        others = [each for each in serving_pointer.history(store) if each.content != content]
        later = next((each for each in others if embeddable.can_serve(store, config, each)), None)
        raise ServingPointerError(
            "there is nothing to roll back to: "
            + (
                f"no older one has served; `rag-assets variants rollback --to {later.number}` goes "
                "forward"
                if later
                else "nothing else has served yet"
            )
        )
    if not serving_pointer.is_held(store, wanted):
        wanted.query_side.within(config.retrieval)  # raises its own error
        raise GonePinsError(wanted.number, variant=wanted.variant, is_serving=False)
    if why_not := embeddable.why_not(store, config, wanted):
        raise ServingPointerError(
            f"number {wanted.number} cannot serve again, every search would be refused: {why_not}. "
            "What serves now goes on; to go back, put the former files of that model in place first"
        )
    restored = wanted.restores or wanted.number
    back = replace(wanted, moved_at=utc_now(), by="rollback", reason=None, restores=restored)
    moved = serving_pointer.move(store, back, after=after)
    blocked_candidate.clear_all(store, moved.variant)
    return moved


def _newest_to_restore(store: Store, config: Config) -> ServingPointer | None:
    """The newest earlier record that can serve; where none can, the newest."""
    for each in serving_pointer.earlier(store):
        if embeddable.can_serve(store, config, each):
            return each
    return serving_pointer.previous(store)
