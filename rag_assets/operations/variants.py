"""The variants of a state: those of the config and those that were built, and how one goes."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rag_assets.change.reclaim import only_of, remove_unnamed
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.operations.gate import blocked_candidate
from rag_assets.store import MissingTableError, Store, complete_sets, serving_pointer
from rag_assets.store.atomic import take_away
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.serving_pointer import serving_variant


class NotDroppedError(Exception):
    """A variant cannot be dropped; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantState:
    """How a variant stands."""

    variant: str
    serves: bool
    is_configured: bool
    """Whether the config names it."""
    built_at: str | None
    """ISO 8601, UTC: since when its index is complete as it is; None if it was never built."""
    units: int
    bytes_alone: int
    """What of its tables nothing else uses."""
    verdict: str | None
    """Of the last try to let it serve; None where nobody tried, or nothing is known of it."""


def variants_of(store: Store, config: Config) -> list[VariantState]:
    """All variants of `config`, in its order, and then others that were built."""
    sets = {each.variant: each for each in complete_sets.all_sets(store)}
    serving = serving_variant(store, config)
    verdicts = _verdicts(store)
    found = []
    for variant in dict.fromkeys([*config.variants, *sorted(sets)]):
        built = _built(store, config, variant) or sets.get(variant)
        alone = only_of(store, config, STEPS, variant=variant)
        found.append(
            VariantState(
                variant=variant,
                serves=variant == serving,
                is_configured=variant in config.variants,
                built_at=built.recorded_at if built else None,
                units=store.count(built.joint.table) if built else 0,
                bytes_alone=_bytes(store, alone),
                verdict=verdicts.get(variant),
            )
        )
    return found


def drop(store: Store, config: Config, variant: str, *, log: Callable[[str], None]) -> int:
    """Remove the tables that only `variant` uses; returns the bytes that came free.

    Raises:
        NotDroppedError: It serves, or there is no such variant.
    """
    known = {each.variant: each for each in variants_of(store, config)}
    if variant not in known:
        raise NotDroppedError(f"there is no variant {variant}; there are {', '.join(known)}")
    if known[variant].serves:
        raise NotDroppedError(f"variant {variant} serves: let another one serve first")
    for generation in only_of(store, config, STEPS, variant=variant):
        remove_unnamed(store, generation, log=log)
    take_away(complete_sets.file_of(store, variant))
    held = blocked_candidate.read(store)
    if held and held.variant == variant:
        blocked_candidate.clear(store)
    return known[variant].bytes_alone


def _built(store: Store, config: Config, variant: str) -> CompleteSet | None:
    """The complete index of the recipe that `variant` has now."""
    with suppress(MissingTableError):
        if variant in config.variants:
            return complete_sets.set_of_recipe(store, config, variant)
    return None


def _verdicts(store: Store) -> dict[str, str]:
    """What the gate last said of each variant, as far as it is recorded."""
    found = {
        each.variant: str(each.verdict["outcome"])
        for each in reversed(serving_pointer.history(store))
        if each.verdict
    }
    held = blocked_candidate.read(store)
    return found | ({held.variant: held.outcome} if held else {})


def _bytes(store: Store, generations: Sequence[str]) -> int:
    folders = [Path(store.uri(each)) for each in generations]  # of an object store: none is here
    return sum(file.stat().st_size for folder in folders for file in folder.rglob("*"))
