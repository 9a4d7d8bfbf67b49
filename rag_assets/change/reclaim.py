"""Clean-up of all tables: old versions go, and in time the tables that nothing names any more.

A table is named by a variant of the config, by a complete set that answers for one, by the serving
pointer (and what a rollback would go back to), or by a Lance tag; an exported one, by a table
source of the config. Any other stays for a while: it is the stock from which a recipe that comes
back, or another one, takes texts and vectors. When it was first seen without a name stands in
`unnamed.json`, until a refresh names it again: one by another config of the same state, too.
"""

import json
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rag_assets.change import completing, embeddable
from rag_assets.change.quarantine import record
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.store import MissingTableError, Store, complete_sets, exports
from rag_assets.store.atomic import take_away, write_atomically
from rag_assets.store.catalog import folder_of, is_of_recipe, name_of
from rag_assets.store.clean_up import RUNNING, Cleaned, clean_up_all, old_bytes
from rag_assets.store.damage import DAMAGE, DamagedTablesError

if TYPE_CHECKING:
    from rag_assets.store.complete_sets import CompleteSet

UNNAMED = "unnamed.json"
LEAST_FREE = 64_000_000
"""With fewer free bytes, tables that nothing names go before anything is written."""


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
    steps: StepList,
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
    pinned = _pinned(
        store, config, named=_named(store, config, steps, answering), answering=answering
    )
    after = max(timedelta(days=keep_days), RUNNING)
    since = _unnamed_since(store, named=_named(store, config, steps, answering))
    is_full = shutil.disk_usage(store.root).free < LEAST_FREE
    removed = {  # first of all on a full disk: it makes room, and writes nothing
        folder_of(generation): _removed(store, generation, log=log)
        for generation in (_old_enough(store, since, after=after) if is_full else ())
    }
    cleaned: list[Cleaned] = []
    damaged: DamagedTablesError | None = None
    try:
        cleaned.extend(clean_up_all(store, keep_days=keep_days, pinned=pinned, log=log))
    except DamagedTablesError as error:  # the others have been cleaned up
        damaged = error
    freed = sum(one.bytes_freed for one in cleaned)
    removed |= {
        folder_of(generation): _removed(store, generation, log=log)
        for generation in _due(store, named=_named(store, config, steps, answering), after=after)
    }
    # what was merged has a set of its own now: the old fragments go the next time
    completing.record_all(store, config, steps)
    complete_sets.forget_gone(store)
    if damaged:
        raise damaged
    return CleanedTables(cleaned, sorted(removed), freed + sum(removed.values()))


def bytes_to_free(store: Store, config: Config, steps: StepList, *, keep_days: float) -> int:
    """What a clean-up now would free of tables and their versions; nothing is written.

    Merging is left out: what it writes anew takes room until the next clean-up. Damaged tables
    count as nothing.
    """
    answering = complete_sets.answering(store, config)
    named = _named(store, config, steps, answering)
    after = max(timedelta(days=keep_days), RUNNING)
    due = _old_enough(store, _unnamed_since(store, named=named), after=after)
    pinned = _pinned(store, config, named=named, answering=answering)
    freed = 0
    for generation in store.generations():
        with suppress(DamagedTablesError, MissingTableError, *DAMAGE):
            if generation in due:
                freed += sum(store.sizes(generation).values())
            else:
                kept = pinned.get(generation, ())
                freed += old_bytes(store, generation, older_than=after, pinned=kept)
    return freed


def note_named(store: Store, config: Config, steps: StepList) -> None:
    """Take tables that `config` names for named, whatever a clean-up by another config found."""
    known = _known(store)
    if not known:
        return
    answering = complete_sets.answering(store, config)
    named = _of_variants(store, config, steps, answering) | _of_sources(store, config)
    _write(
        store,
        {generation: at for generation, at in known.items() if generation not in named},
        known=known,
    )


def _pinned(
    store: Store,
    config: Config,
    *,
    named: Collection[str],
    answering: "Collection[CompleteSet]",
) -> Mapping[str, Collection[int]]:
    """The versions that complete sets and serving pointers pin, by the generation of their table.

    Those too by which another config is answered, as long as their joint tables stay.
    """
    others = [each for each in complete_sets.all_sets(store) if each.joint.table not in named]
    pinned: defaultdict[str, set[int]] = defaultdict(set)
    for each in (*answering, *others, *embeddable.kept(store, config)):
        for pin in each.pins:
            pinned[pin.table].add(pin.version)
    return pinned


def _named(
    store: Store, config: Config, steps: StepList, answering: "Collection[CompleteSet]"
) -> set[str]:
    """Generations that somebody names."""
    shared = [
        name
        for name in store.names()
        if not is_of_recipe(name) and not name.startswith(exports.PREFIX)
    ]
    return {
        *map(store.generation, shared),
        *_of_sources(store, config),
        *_of_variants(store, config, steps, answering),
    }


def _of_sources(store: Store, config: Config) -> set[str]:
    """Exported tables whose source the config names, or that cannot say which source they are of.

    What a source that it names no longer has, the next refresh of that source removes.
    """
    named = set()
    for name in exports.names(store):
        found = exports.identity(store, name)
        if found is None or found[0] in config.table_sources:
            named.add(store.generation(name))
    return named


def _of_variants(
    store: Store, config: Config, steps: StepList, answering: "Collection[CompleteSet]"
) -> set[str]:
    """Generations that a variant names, what answers for one, or what serves."""
    variants = [
        name
        for variant in config.variants
        for step in steps.of_variant(config, variant).values()
        for name in step.tables
    ]
    served = embeddable.kept(store, config)
    sets = [*answering, *(each.complete_set for each in served)]
    names = [name for each in sets for name in (each.elements, each.chunks)]
    return {
        *map(store.generation, (*variants, *names)),
        *(pin.table for each in (*answering, *served) for pin in each.pins),
    }


def _due(store: Store, *, named: Collection[str], after: timedelta) -> list[str]:
    """Generations that nothing has named since `after` ago; the others' time is written down."""
    since = _unnamed_since(store, named=named)
    due = _old_enough(store, since, after=after)
    _write(
        store,
        {generation: at for generation, at in since.items() if generation not in due},
        known=_known(store),
    )
    return due


def _unnamed_since(store: Store, *, named: Collection[str]) -> dict[str, float]:
    """When each generation that nothing names was first seen so."""
    now = time.time()
    known = _known(store)
    unnamed = [generation for generation in store.generations() if generation not in named]
    return {generation: min(known.get(generation, now), now) for generation in unnamed}


def _old_enough(store: Store, since: Mapping[str, float], *, after: timedelta) -> list[str]:
    """The generations that may go."""
    now = time.time()
    due = [generation for generation, at in since.items() if now - at >= after.total_seconds()]
    return [generation for generation in due if not _is_tagged(store, generation)]


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
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(store: Store, since: Mapping[str, float], *, known: Mapping[str, float]) -> None:
    if since != known:
        write_atomically(store.root / UNNAMED, json.dumps(since, indent=1, sort_keys=True))


def _removed(store: Store, generation: str, *, log: Callable[[str], None]) -> int:
    """Remove a generation and what is recorded of it; returns the bytes that came free."""
    name = name_of(generation)
    with store.lock(name, log=log):
        try:
            freed = sum(store.sizes(generation).values())
        except DamagedTablesError:
            freed = 0
        is_last = store.generation(name) == generation
        if is_last:
            exported = exports.identity(store, name) if name.startswith(exports.PREFIX) else None
            target = "/".join(["exports", *exported]) if exported else name
            record(store, target=target, failures=[])
            take_away(store.index_file(generation))
        store.forget(generation)
    log(f"{folder_of(generation)}: removed, nothing uses it any more")
    return freed


def unnamed_tables(
    store: Store, config: Config, steps: StepList, *, keep_days: float
) -> Mapping[str, bool]:
    """The generations that nothing names, and whether each has been so for `keep_days`."""
    named = _named(store, config, steps, complete_sets.answering(store, config))
    since = _unnamed_since(store, named=named)
    overdue = _old_enough(store, since, after=max(timedelta(days=keep_days), RUNNING))
    return {generation: generation in overdue for generation in since}


def remove_unnamed(store: Store, generation: str, *, log: Callable[[str], None]) -> None:
    """Remove a generation that nothing names, and what is recorded of it."""
    _removed(store, generation, log=log)


def only_of(store: Store, config: Config, steps: StepList, *, variant: str) -> list[str]:
    """The generations that nothing but `variant` names: what a state without it can do without.

    The variant need not be in `config` any more: its complete set says what was built of it.
    """
    rest = {name: recipe for name, recipe in config.variants.items() if name != variant}
    others = config.model_copy(update={"variants": rest})
    named = _named(store, others, steps, complete_sets.answering(store, others))
    recorded = complete_sets.CompleteSet.read(complete_sets.file_of(store, variant))
    sets = [recorded] if recorded else []
    alone = {name: config.variants[name] for name in config.variants if name == variant}
    own = _of_variants(store, config.model_copy(update={"variants": alone}), steps, sets)
    there = set(store.generations())
    return sorted(each for each in (own - named) & there if not _is_tagged(store, each))
