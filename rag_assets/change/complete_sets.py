"""Complete sets: the documents, the rows and the joint table that one pass left together.

A refresh writes the three one after the other, and may be killed between any two. Readers open the
last set that was complete, never what is being written, so that no answer mixes old units with new
ones. A set pins its tables: a clean-up leaves them alone as long as the set is the last one.

Each variant has one record (`complete_sets/VARIANT.json`), written at the end of a refresh. A
recipe that was edited keeps being answered by the set of its variant until its own is complete; a
variant under another name finds the set of its recipe.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from rag_assets.change.data_versions import pin_of
from rag_assets.change.deciding import fingerprint_of
from rag_assets.change.steps import REVISIONS, Step, made_from, variant_steps
from rag_assets.config import Config, EmbeddingModel
from rag_assets.identity import fingerprint
from rag_assets.schemas import VariantTables
from rag_assets.store import MissingTableError, Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.catalog import name_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError
from rag_assets.store.pins import Pin, holds
from rag_assets.store.places import remove_folder

FOLDER = "complete_sets"
KEY = "unit_id"
PINNED = ("joint", "documents", "rows")
JOINT = "joint_index"
"""The asset of the step that completes a variant."""


@dataclass(frozen=True, slots=True)
class CompleteSet:
    """Tables that belong together, and what they were made by."""

    variant: str
    """Its name when the set was recorded."""
    joint: Pin
    documents: Pin | None
    """None if no refresh recorded the set, and there is no such table; `rows` likewise."""
    rows: Pin | None
    elements: str
    """The table that its chunks were cut from."""
    chunks: str
    model: str
    """Name of the embedding model."""
    settings: Mapping[str, object]
    """Settings of the embedding model, by which queries are embedded."""
    recorded_at: str
    """ISO 8601."""
    seen: str
    """Fingerprint of the records of the three passes: while it is the same, so is the set."""

    @property
    def pins(self) -> tuple[Pin, ...]:
        """All that it pins, the joint table first."""
        return tuple(pin for pin in (self.joint, self.documents, self.rows) if pin is not None)

    @property
    def embedding(self) -> EmbeddingModel:
        """The model whose vectors its tables hold."""
        return EmbeddingModel.model_validate(self.settings)

    def is_of(self, store: Store, tables: VariantTables) -> bool:
        """Whether it was made by the recipe that has these `tables`."""
        return name_of(self.joint.table) == store.known_as(tables.joint)

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """The set that `file` records; None if it cannot be read."""
        try:
            record = json.loads(file.read_text("utf-8"))
            pins = {name: record[name] and Pin(**record[name]) for name in PINNED}
            return cls(**(record | pins))
        except (OSError, ValueError, TypeError, KeyError):
            return None


def record(store: Store, config: Config, *, variant: str) -> CompleteSet | None:
    """Let the tables of `variant` be its set, if they belong together as they stand.

    Where nothing changed since the last set, no table is opened. None where a part is still to
    come: what was recorded before stays.
    """
    tables = config.tables_of(variant)
    seen = _seen(store, config, variant)
    if seen is None:
        return None
    model = config.variant(variant).model
    known = CompleteSet.read(_file(store, variant))
    if known and known.seen == seen and known.is_of(store, tables):
        return known
    found = CompleteSet(
        variant=variant,
        joint=pin_of(store, tables.joint, key=KEY),
        documents=pin_of(store, tables.documents, key=KEY),
        rows=pin_of(store, tables.rows, key=KEY),
        elements=store.known_as(tables.elements),
        chunks=store.known_as(tables.chunks),
        model=model,
        settings=config.models[model].model_dump(mode="json"),
        recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        seen=seen,
    )
    if not _is_as_left(store, found) or _seen(store, config, variant) != seen:
        return None
    write_atomically(_file(store, variant), _as_json(found))
    return found


def record_all(store: Store, config: Config) -> list[str]:
    """The same for all variants, since they share tables; returns those whose tables belong."""
    return [variant for variant in config.variants if record(store, config, variant=variant)]


def take_over(store: Store, config: Config) -> None:
    """Record the sets of a state that an earlier release left behind, before it is written to.

    Each variant answers as it did then, until a refresh completes it. Whoever is killed on the way
    has recorded none; of a variant whose tables are damaged, the refresh says so.
    """
    folder = store.root / FOLDER
    if folder.exists() or not store.root.exists():
        return
    begun = store.root / f".{FOLDER}.{os.getpid()}"
    begun.mkdir(exist_ok=True)
    for variant in config.variants:
        with suppress(DamagedTablesError, MissingTableError):
            held = _as_it_stands(store, config, variant)
            write_atomically(begun / f"{variant}.json", _as_json(held))
    try:
        begun.rename(folder)
    except OSError:  # another process was first
        remove_folder(begun)


def set_of(store: Store, config: Config, variant: str) -> CompleteSet:
    """What answers for `variant`: the set of its recipe, else the last one that it had.

    Raises:
        ConfigError: The config has no such variant.
        MissingTableError: No refresh has completed it yet.
    """
    tables = config.tables_of(variant)
    last = CompleteSet.read(_file(store, variant))
    if last and last.is_of(store, tables):
        return last
    found = _of_recipe(store, tables) or last
    if found is None and (store.root / FOLDER).exists():
        raise MissingTableError(tables.joint)
    return found or _as_it_stands(store, config, variant)


def set_of_recipe(store: Store, config: Config, variant: str) -> CompleteSet:
    """The set of the recipe that `variant` has now, to measure it and no earlier one.

    Raises:
        ConfigError: The config has no such variant.
        MissingTableError: No refresh has completed it yet.
    """
    found = set_of(store, config, variant)
    tables = config.tables_of(variant)
    if not found.is_of(store, tables):
        raise MissingTableError(tables.joint)
    return found


def all_sets(store: Store) -> Iterator[CompleteSet]:
    """Every set that is recorded, in no particular order."""
    for file in (store.root / FOLDER).glob("*.json"):
        if found := CompleteSet.read(file):
            yield found


def answering(store: Store, config: Config) -> list[CompleteSet]:
    """The sets that answer for the variants of `config`: see `set_of`."""
    found: list[CompleteSet] = []
    for variant in config.variants:
        with suppress(MissingTableError):
            found.append(set_of(store, config, variant))
    return found


def move(store: Store, moved: Mapping[Pin, Pin]) -> None:
    """Let the sets name what took the place of their pins; the next refresh records them anew."""
    for file in (store.root / FOLDER).glob("*.json"):
        held = CompleteSet.read(file)
        if held and moved.keys() & set(held.pins):
            pins = {name: moved.get(pin := getattr(held, name), pin) for name in PINNED}
            write_atomically(file, _as_json(replace(held, **pins, seen="")))


def forget_gone(store: Store) -> None:
    """Forget the sets of variants that are no longer there, once their tables are gone.

    Tables that cannot be read or reached just now are not known to be gone.
    """
    for file in (store.root / FOLDER).glob("*.json"):
        held = CompleteSet.read(file)
        with suppress(DamagedTablesError, *DAMAGE):
            if held is None or not is_kept(store, held):
                file.unlink()


def is_kept(store: Store, held: CompleteSet) -> bool:
    """Whether all tables of a set can still be read as they were."""
    return all(holds(store, pin) for pin in held.pins)


def _file(store: Store, variant: str) -> Path:
    return store.root / FOLDER / f"{variant}.json"


def _as_json(held: CompleteSet) -> str:
    return json.dumps(asdict(held), indent=1)


def joint_made_from(store: Store, joint: Step) -> str:
    """What the joint table is made from as its two parts stand now.

    Equal to `made_from` of the joint table's completion if, and only if, the three belong together.
    """
    recipe = str(REVISIONS[joint.asset])
    return fingerprint_of(made_from(store, joint, recipe=recipe)())


def _seen(store: Store, config: Config, variant: str) -> str | None:
    """What a set is recorded by; None while a pass is under way or the tables do not belong."""
    step = variant_steps(config, variant)[JOINT]
    names = [step.table, *(name for name, _ in step.sources)]
    ended = [store.ended(name) for name in names]
    joint = ended[0]
    if None in ended or joint is None or joint.made_from != joint_made_from(store, step):
        return None
    files = [store.index_file(name) for name in names]
    indexes = [file.read_text("utf-8") if file.exists() else "" for file in files]
    return fingerprint([asdict(each) for each in ended if each], indexes)


def _is_as_left(store: Store, found: CompleteSet) -> bool:
    """Whether each table is what its last pass left: nobody has begun to write it again."""
    ended = [(pin, store.ended(pin.table)) for pin in found.pins]
    return all(left is not None and left.files == pin.files for pin, left in ended)


def _of_recipe(store: Store, tables: VariantTables) -> CompleteSet | None:
    found = [held for held in all_sets(store) if held.is_of(store, tables)]
    return max(found, key=lambda held: held.recorded_at, default=None)


def _as_it_stands(store: Store, config: Config, variant: str) -> CompleteSet:
    """The newest tables, of a state that no refresh of this release has written to."""
    tables = config.tables_of(variant)
    if not store.exists(tables.joint):
        raise MissingTableError(tables.joint)
    model = config.variant(variant).model

    def pinned(name: str) -> Pin | None:
        return pin_of(store, name, key=KEY) if store.exists(name) else None

    return CompleteSet(
        variant=variant,
        joint=pin_of(store, tables.joint, key=KEY),
        documents=pinned(tables.documents),
        rows=pinned(tables.rows),
        elements=tables.elements,
        chunks=tables.chunks,
        model=model,
        settings=config.models[model].model_dump(mode="json"),
        recorded_at="",
        seen="",
    )
