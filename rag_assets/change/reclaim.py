"""Clean-up of all tables: old versions go, and in time the tables that nothing names any more.

A table is named by a variant of the config, by a complete set that answers for one, or by a Lance
tag. Any other stays for a while: it is the stock from which a recipe that comes back, or another
one, takes texts and vectors. When it was first seen without a name stands in `unnamed.json`, until
a refresh names it again: one by another config of the same state, too.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rag_assets.change import completing
from rag_assets.change.quarantine import record
from rag_assets.change.steps import variant_steps
from rag_assets.config import Config
from rag_assets.store import Store, complete_sets
from rag_assets.store.atomic import write_atomically
from rag_assets.store.catalog import folder_of, is_of_recipe, name_of
from rag_assets.store.clean_up import RUNNING, Cleaned, clean_up_all
from rag_assets.store.damage import DamagedTablesError

if TYPE_CHECKING:
    from rag_assets.store.complete_sets import CompleteSet

UNNAMED = "unnamed.json"


@dataclass(frozen=True, slots=True)
class CleanedTables:
    """What a clean-up did to the tables of a state."""

    cleaned: Sequence[Cleaned]
    removed: Sequence[str]
    """Tables that nothing has named for long enough, by their folders."""
    bytes_freed: int


def clean_up_tables(
    store: Store,
    config: Config,
    *,
    keep_days: float,
    log: Callable[[str], None],
) -> CleanedTables:
    """Clean up every table, and remove those that nothing has named for `keep_days`.

    Raises:
        DamagedTablesError: Some could not be read; the others have been cleaned up.
    """
    completing.take_over(store, config)
    answering = complete_sets.answering(store, config)
    pinned = _pinned(store, named=_named(store, config, answering), answering=answering)
    cleaned: list[Cleaned] = []
    damaged: DamagedTablesError | None = None
    try:
        cleaned.extend(clean_up_all(store, keep_days=keep_days, pinned=pinned, log=log))
    except DamagedTablesError as error:  # the others have been cleaned up
        damaged = error
    freed = sum(one.bytes_freed for one in cleaned)
    after = max(timedelta(days=keep_days), RUNNING)
    removed = {
        folder_of(generation): _removed(store, generation, log=log)
        for generation in _due(store, named=_named(store, config, answering), after=after)
    }
    completing.record_all(store, config)  # what was merged: the old fragments go the next time
    complete_sets.forget_gone(store)
    if damaged:
        raise damaged
    return CleanedTables(cleaned, sorted(removed), freed + sum(removed.values()))


def note_named(store: Store, config: Config) -> None:
    """Take tables that `config` names for named, whatever a clean-up by another config found."""
    known = _known(store)
    if not known:
        return
    named = _of_variants(store, config, complete_sets.answering(store, config))
    _write(
        store,
        {generation: at for generation, at in known.items() if generation not in named},
        known=known,
    )


def _pinned(
    store: Store, *, named: Collection[str], answering: "Collection[CompleteSet]"
) -> Mapping[str, Collection[int]]:
    """The versions that complete sets pin, by the generation of their table.

    Those too by which another config is answered, as long as their joint tables stay.
    """
    others = [each for each in complete_sets.all_sets(store) if each.joint.table not in named]
    pinned: defaultdict[str, set[int]] = defaultdict(set)
    for each in (*answering, *others):
        for pin in each.pins:
            pinned[pin.table].add(pin.version)
    return pinned


def _named(store: Store, config: Config, answering: "Collection[CompleteSet]") -> set[str]:
    """Generations that somebody names."""
    shared = [name for name in store.names() if not is_of_recipe(name)]
    return {*map(store.generation, shared), *_of_variants(store, config, answering)}


def _of_variants(store: Store, config: Config, answering: "Collection[CompleteSet]") -> set[str]:
    """Generations that a variant names, or what answers for one."""
    variants = [
        name
        for variant in config.variants
        for step in variant_steps(config, variant).values()
        for name in step.tables
    ]
    sets = [name for each in answering for name in (each.elements, each.chunks)]
    return {
        *map(store.generation, (*variants, *sets)),
        *(pin.table for each in answering for pin in each.pins),
    }


def _due(store: Store, *, named: Collection[str], after: timedelta) -> list[str]:
    """Generations that nothing has named since `after` ago; the others' time is written down."""
    now = time.time()
    known = _known(store)
    unnamed = [generation for generation in store.generations() if generation not in named]
    since = {generation: min(known.get(generation, now), now) for generation in unnamed}
    due = [generation for generation in unnamed if now - since[generation] >= after.total_seconds()]
    due = [generation for generation in due if not _is_tagged(store, generation)]
    _write(
        store,
        {generation: at for generation, at in since.items() if generation not in due},
        known=known,
    )
    return due


def _is_tagged(store: Store, generation: str) -> bool:
    try:
        return bool(store.open(generation).to_lance().tags.list())
    except DamagedTablesError:
        return False


def _known(store: Store) -> dict[str, float]:
    """When each generation was first seen without a name."""
    try:
        record = json.loads((store.root / UNNAMED).read_text("utf-8"))
        return {str(name): float(at) for name, at in record.items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}


def _write(store: Store, since: Mapping[str, float], *, known: Mapping[str, float]) -> None:
    if since != known:
        write_atomically(store.root / UNNAMED, json.dumps(since, indent=1, sort_keys=True))


def _removed(store: Store, generation: str, *, log: Callable[[str], None]) -> int:
    """Remove a generation and what is recorded of it; returns the bytes that came free."""
    with store.lock(name_of(generation), log=log):
        try:
            freed = sum(store.sizes(generation).values())
        except DamagedTablesError:
            freed = 0
        is_last = store.generation(name_of(generation)) == generation
        if is_last:
            record(store, target=name_of(generation), failures=[])
            store.index_file(generation).unlink(missing_ok=True)
        store.forget(generation)
    log(f"{folder_of(generation)}: removed, nothing uses it any more")
    return freed
