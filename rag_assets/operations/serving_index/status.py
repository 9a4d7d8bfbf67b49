"""What serves, since when, and whether the verdict that allowed it still holds."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from rag_assets.config import Config
from rag_assets.operations.gate import judging as gate
from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.store import Store, serving_pointer
from rag_assets.store.serving_pointer import DamagedPointerError, MovedBy, ServingPointer


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingStatus:
    """The serving pointer, as `rag-assets status` tells it."""

    variant: str
    """The name of the variant in the config now."""
    number: int
    since: str
    """The time of the move: ISO 8601, UTC."""
    by: MovedBy
    reason: str | None
    """Why the gate was overridden, in the words of who asked for it."""
    restores: int | None
    """The number that a rollback went back to."""
    retriever: str
    verdict: str | None
    """PASS in its own words, or what was overridden; None once a document was erased."""
    judged_at: str | None
    stale: str | None
    """Why the verdict would allow nothing any more; None while it holds."""
    unheeded: str | None
    """What `serving.variant` names, where that is another one: a promotion decides by now."""


def serving_status(store: Store, config: Config) -> ServingStatus | None:
    """How the serving pointer stands; None if nothing was promoted, or it is damaged."""
    try:
        pointer = serving_pointer.current(store)
    except DamagedPointerError:
        return None
    if pointer is None:
        return None
    verdict = recorded_verdict(pointer)
    variant = pointer.variant_in(store, config) or pointer.variant
    return ServingStatus(
        variant=variant,
        number=pointer.number,
        since=pointer.moved_at,
        by=pointer.by,
        reason=pointer.reason,
        restores=pointer.restores,
        retriever=pointer.query_side.retriever,
        verdict=words_of(pointer),
        judged_at=verdict.judged_at if verdict else None,
        stale=_stale(store, config, pointer, verdict) if verdict else None,
        unheeded=None if config.serving.variant == variant else config.serving.variant,
    )


def recorded_verdict(pointer: ServingPointer) -> Verdict | None:
    """The verdict that let it serve; None if there is none, or one that cannot be read."""
    try:
        return Verdict.from_json(pointer.verdict) if pointer.verdict else None
    except ValueError:  # of another release
        return None


def words_of(pointer: ServingPointer) -> str | None:
    """What that verdict says; of another release, its outcome alone."""
    verdict = recorded_verdict(pointer)
    outcome = (pointer.verdict or {}).get("outcome")
    return verdict.words if verdict else str(outcome) if outcome else None


def _stale(store: Store, config: Config, pointer: ServingPointer, verdict: Verdict) -> str | None:
    """What served before, and how it was searched, is history: that does not age."""
    basis = gate.basis_of(store, config, serving=None, candidate=pointer.complete_set)
    before = verdict.basis
    now = replace(basis, serving=before.serving, retriever=before.retriever)
    max_age = timedelta(days=config.gate.max_age)
    return verdict.stale_because(now, at=datetime.now(UTC), max_age=max_age)
