"""A variant is complete: its tables are recorded as the set that answers from now on.

See `store.complete_sets` for what a set is.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial

from rag_assets.change.deciding import fingerprint_of
from rag_assets.change.steps import Domain, Step, StepList, StepTable, made_from
from rag_assets.config import Config
from rag_assets.identity import fingerprint
from rag_assets.schemas import DOCUMENT_FILES_TABLE, TABLE_ROWS_TABLE
from rag_assets.store import MissingTableError, Store, serving_pointer
from rag_assets.store.atomic import write_atomically
from rag_assets.store.complete_sets import (
    FOLDER,
    CompleteSet,
    as_it_stands,
    as_json,
    file_of,
    models_of,
)
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.pins import Pin, holds, pin_of
from rag_assets.store.search_indexes import COMMON_NAMES, VECTOR, settings_named
from rag_assets.store.table_locations import remove_folder
from rag_assets.store.text_parts import TEXT

SOURCES: Mapping[Domain, tuple[str, str]] = {
    "table": (TABLE_ROWS_TABLE, "row_id"),
    "document": (DOCUMENT_FILES_TABLE, "document_id"),
}
"""The table that the units of a domain come from, and its key."""


def record(store: Store, config: Config, steps: StepList, *, variant: str) -> CompleteSet | None:
    """Let the tables of `variant` be its set, if they belong together as they stand.

    Where nothing changed since the last set, no table is opened. None where a part is still to
    come, or there is nothing yet: what was recorded before stays.
    """
    if is_nothing_yet(store, config, variant=variant):
        return None
    tables = config.tables_of(variant)
    seen = _seen(store, config, steps, variant)
    if seen is None:
        return None
    known = CompleteSet.read(file_of(store, variant))
    is_known = known and known.seen == seen and known.is_of(store, tables)
    held = known if is_known else None
    source = partial(_source, store, config, steps, variant)
    rows = source("table", held=held.table_rows if held else None)
    files = source("document", held=held.manifest if held else None)
    if held and (held.table_rows, held.manifest) == (rows, files):
        return held
    units = [pin_of(store, name) for name in (tables.joint, tables.documents, tables.rows)]
    found = CompleteSet(
        variant=variant,
        joint=units[0],
        documents=units[1],
        rows=units[2],
        families=_families(store, tables.families),
        table_rows=rows,
        manifest=files,
        unit_links=_unit_links(store, config, steps, variant),
        elements=store.known_as(tables.elements),
        chunks=store.known_as(tables.chunks),
        **models_of(config, variant),
        recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        seen=seen,
        indexes=sorted({*map(settings_named, _index_names(store, units))} - COMMON_NAMES) or None,
    )
    # Looked at once more: another run may have begun to write while the pins were read.
    added = set(found.pins).difference(held.pins if held else ())
    if not _are_as_left(store, added) or _seen(store, config, steps, variant) != seen:
        return None
    write_atomically(file_of(store, variant), as_json(found))
    return found


def is_nothing_yet(store: Store, config: Config, *, variant: str) -> bool:
    """Whether nothing ever served, and `variant` has no unit that could."""
    return not (serving_pointer.number_now(store) or store.count(config.tables_of(variant).joint))


def record_all(store: Store, config: Config, steps: StepList) -> list[str]:
    """Record the sets of all variants, since they share tables.

    Returns those whose tables belong together.
    """
    return [name for name in config.variants if record(store, config, steps, variant=name)]


def take_over(store: Store, config: Config) -> None:
    """Record the sets of a state that has recorded none, before it is written to.

    So it is where a first refresh was killed at its very end. Each variant answers as it did then,
    until a refresh completes it. Whoever is killed on the way
    has recorded none; of a variant whose tables are damaged, the refresh says so.
    """
    folder = store.root / FOLDER
    if folder.exists() or not store.root.exists():
        return
    # Made aside and renamed as a whole, so that a killed run leaves no folder with some of the
    # sets.
    begun = store.root / f".{FOLDER}.{os.getpid()}"
    begun.mkdir(exist_ok=True)
    for variant in config.variants:
        with suppress(DamagedTablesError, MissingTableError):
            complete_set = as_it_stands(store, config, variant)
            write_atomically(begun / f"{variant}.json", as_json(complete_set))
    try:
        begun.rename(folder)
    except OSError:  # another process was first
        remove_folder(begun)


def is_up_to_date(store: Store, config: Config, steps: StepList, *, variant: str) -> bool:
    """Whether each table of `variant` was made from its inputs as they stand now.

    Sources are not looked at, nor what is installed: that is for a refresh to find out.
    """
    return all(follows(store, step) for step in steps.of_variant(config, variant).values())


def follows(store: Store, step: StepTable) -> bool:
    """Whether the last pass over the table of a step was made from its inputs as they stand now."""
    finished = store.completion(step.table)
    if finished is None or finished.parts is None:
        return False
    now = made_from(store, step.inputs, recipe=finished.parts.get("recipe", ""))()
    return finished.parts == now


def joint_made_from(store: Store, joint: Step) -> str:
    """What the joint table is made from as its two parts stand now.

    Equal to `made_from` of the joint table's completion if, and only if, the three belong together.
    """
    recipe = str(joint.revision)
    return fingerprint_of(made_from(store, joint.inputs, recipe=recipe)())


def _seen(store: Store, config: Config, steps: StepList, variant: str) -> str | None:
    """What a set is recorded by; None while a pass is under way or the tables do not belong."""
    step = steps.completing(config, variant)
    names = [step.table, *(name for name, _ in step.sources)]
    ended = [store.ended(name) for name in names]
    joint = ended[0]
    if None in ended or joint is None or joint.made_from != joint_made_from(store, step):
        return None
    tables = config.tables_of(variant)
    beside = filter(None, map(store.ended, (tables.families, tables.unit_links)))
    files = [store.index_file(name) for name in names]
    indexes = [file.read_text("utf-8", "replace") if file.is_file() else "" for file in files]
    parts = [asdict(each) for each in ended if each]
    return fingerprint(parts, indexes, *map(asdict, beside))


def _families(store: Store, name: str) -> Pin | None:
    """The families of documents; None where nobody has looked for them."""
    return pin_of(store, name) if store.ended(name) else None


def _unit_links(store: Store, config: Config, steps: StepList, variant: str) -> Pin | None:
    """The names in its units, if they were read in the units that the joint table holds."""
    ended = store.ended(name := config.tables_of(variant).unit_links)
    units = [each.asset for each in steps.completing(config, variant).inputs]
    joint = store.ended(config.tables_of(variant).joint)
    parts = [each.parts or {} for each in (ended, joint) if each]
    versions = [[found.get(asset) for asset in units] for found in parts]
    is_of_them = len(versions) == 2 and versions[0] == versions[1] and None not in versions[0]
    return pin_of(store, name) if is_of_them else None


def _source(
    store: Store,
    config: Config,
    steps: StepList,
    variant: str,
    domain: Domain,
    *,
    held: Pin | None,
) -> Pin | None:
    """What its units of one domain come from, if they were made from it as it stands.

    What is `held` by the set of these units stays while it is there.
    """
    if held and (_are_as_left(store, [held]) or holds(store, held)):
        return held
    table, key = SOURCES[domain]
    of_variant = steps.of_variant(config, variant).values()
    if not all(follows(store, step) for step in of_variant if step.kind.domain == domain):
        return None
    return pin_of(store, table, key=key) if store.exists(table) else None


def _index_names(store: Store, pins: Iterable[Pin]) -> Iterator[str]:
    """The names of the indexes of text and vectors of tables at their pinned versions."""
    for pin in pins:
        dataset = store.dataset(pin.table, version=pin.version)
        for each in dataset.describe_indices():
            if each.field_names in ([TEXT], [VECTOR]):
                yield each.name


def _are_as_left(store: Store, pins: Iterable[Pin]) -> bool:
    """Whether each table is what its last pass left: nobody has begun to write it again."""
    ended = [(pin, store.ended(pin.table)) for pin in pins]
    return all(left is not None and left.files == pin.files for pin, left in ended)
