"""The variants of a state: those of the config and those that were built, and how one goes."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from rag_assets.change.reclaim import only_of, remove_unnamed
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.operations.gate import blocked_candidate
from rag_assets.operations.problems.disk import files_below
from rag_assets.operations.serving_index.status import words_of
from rag_assets.process.errors import ExplainedError
from rag_assets.store import MissingTableError, Store, complete_sets, serving_pointer
from rag_assets.store.atomic import take_away

VariantState: TypeAlias = Mapping[str, str | int | bool | None]
"""What `variants_of` tells of a variant."""


class NotDroppedError(ExplainedError):
    """A variant cannot be dropped; the message says why."""


def variants_of(store: Store, config: Config) -> dict[str, VariantState]:
    """How each variant of `config` stands, in its order, and then each other that was built.

    Returns:
        For each whether it `serves` and is `in the config`, since when its index is complete
        (`built`, ISO 8601), its `units`, the `bytes alone` that nothing else uses, and the last
        `verdict` on it, as far as these are known.
    """
    sets = {each.variant: each for each in complete_sets.all_sets(store)}
    pointers = reversed(serving_pointer.history(store))
    verdicts = {each.variant: words for each in pointers if (words := words_of(each))}
    for held in (blocked_candidate.read(store, is_beside=True), blocked_candidate.read(store)):
        verdicts |= {held.variant: held.outcome} if held else {}
    serving = serving_pointer.serving_variant(store, config)
    has_served = serving_pointer.number_now(store) > 0
    found: dict[str, VariantState] = {}
    for variant in dict.fromkeys([*config.variants, *sorted(sets)]):
        built = sets.get(variant)
        if variant in config.variants:
            built = None
            with suppress(MissingTableError):
                built = complete_sets.set_of_recipe(store, config, variant)
        found[variant] = {
            "serves": variant == serving and (has_served or built is not None),
            "in the config": variant in config.variants,
            "built": built.recorded_at if built else None,
            "units": store.count(built.joint.table) if built else 0,
            "bytes alone": sum(_bytes_alone(store, config, variant).values()),
            "verdict": verdicts.get(variant),
        }
    return found


def drop(store: Store, config: Config, variant: str, *, log: Callable[[str], None]) -> int:
    """Remove the tables that only `variant` uses; returns the bytes that came free.

    Raises:
        NotDroppedError: It serves, or there is no such variant.
    """
    known = variants_of(store, config)
    if variant not in known:
        raise NotDroppedError(f"there is no variant {variant}; there are {', '.join(known)}")
    if known[variant]["serves"]:
        raise NotDroppedError(f"variant {variant} serves: let another one serve first")
    alone = _bytes_alone(store, config, variant)
    for generation in alone:
        remove_unnamed(store, generation, log=log)
    take_away(complete_sets.file_of(store, variant))
    held = blocked_candidate.read(store)
    if held and held.variant == variant:
        blocked_candidate.clear(store)
    blocked_candidate.clear_beside(store, variant)
    return sum(alone.values())


def _bytes_alone(store: Store, config: Config, variant: str) -> dict[str, int]:
    """The generations that only `variant` uses, and what each takes on this machine's disk."""
    return {
        each: sum(size for _, size in files_below(Path(store.uri(each))))
        for each in only_of(store, config, STEPS, variant=variant)
    }
