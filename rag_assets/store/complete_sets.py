"""Complete sets: the documents, the rows and the joint table that one pass left together.

A refresh writes the three one after the other, and may be killed between any two. Readers open the
last set that was complete, never what is being written, so that no answer mixes old units with new
ones. A set pins its tables: a clean-up leaves them alone as long as the set is the last one.

Each variant has one record (`complete_sets/VARIANT.json`), written at the end of a refresh (see
`change.completing`). A recipe that was edited keeps being answered by the set of its variant until
its own is complete; a variant under another name finds the set of its recipe.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self, TypedDict

from rag_assets.config import Config, EmbeddingModel
from rag_assets.schemas import DOMAINS, VariantTables
from rag_assets.store.atomic import take_away, write_atomically
from rag_assets.store.catalog import name_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError
from rag_assets.store.pins import Pin, holds, pin_of
from rag_assets.store.rows_by_id import MissingIndexError, MissingTableError
from rag_assets.store.store import Store

FOLDER = "complete_sets"
PINNED = ("joint", "documents", "rows", "families", "table_rows", "manifest", "unit_links")


@dataclass(frozen=True, slots=True)
class CompleteSet:
    """Tables that belong together, and what they were made by."""

    variant: str
    """The name of the variant when the set was recorded."""
    joint: Pin
    documents: Pin | None
    """The documents with their vectors; None if no refresh recorded the set and there is no such
    table. The same holds for `rows`."""
    rows: Pin | None
    elements: str
    """The table that its chunks were cut from."""
    chunks: str
    model: str
    """Name of the embedding model; of that of documents where rows have another."""
    settings: Mapping[str, object]
    """Settings of the embedding model, by which queries are embedded."""
    recorded_at: str
    """The time when it was recorded: ISO 8601."""
    seen: str
    """Fingerprint of the records of the three passes: while it is the same, so is the set."""
    row_model: str | None = None
    """Name of the embedding model of rows, if it is another."""
    row_settings: Mapping[str, object] | None = None
    families: Pin | None = None
    """The table that says which documents are versions of one; None where nobody looked."""
    table_rows: Pin | None = None
    """The rows with their columns, as its units of rows were made from them; None where nothing
    says so."""
    manifest: Pin | None = None
    """The files with their hashes, as its units of documents were made from them; None where
    nothing says so."""
    unit_links: Pin | None = None
    """The names in its units; None where nobody looked, or looked at other units."""
    indexes: Sequence[str] | None = None
    """The names of its search indexes that are by other than the default settings: what they return
    for equal units is another thing. None where all are by the defaults."""

    @property
    def pins(self) -> tuple[Pin, ...]:
        """All that it pins, the joint table first."""
        others = (self.families, self.table_rows, self.manifest, self.unit_links)
        return (*self.unit_pins, *(pin for pin in others if pin is not None))

    @property
    def unit_pins(self) -> tuple[Pin, ...]:
        """The tables of units that it pins, the joint table first."""
        pinned = (self.joint, self.documents, self.rows)
        return tuple(pin for pin in pinned if pin is not None)

    @property
    def embedding(self) -> EmbeddingModel:
        """The model whose vectors its tables hold, or its table of documents."""
        return EmbeddingModel.model_validate(self.settings)

    @property
    def row_embedding(self) -> EmbeddingModel | None:
        """The model whose vectors its table of rows holds, if it is another."""
        return EmbeddingModel.model_validate(self.row_settings) if self.row_settings else None

    def query_models(
        self, store: Store, config: Config, *, variant: str
    ) -> Mapping[str, tuple[str, EmbeddingModel]]:
        """The name and the settings of the model that embeds queries, for each domain.

        They are those of the config where `variant` has the recipe of the set, else its own.
        """
        if variant in config.variants and self.is_of(store, config.tables_of(variant)):
            recipe = config.variant(variant)
            names = zip(DOMAINS, (recipe.document_model, recipe.table_model), strict=True)
            return {domain: (name, config.models[name]) for domain, name in names}
        of_documents, of_rows = (self.model, self.embedding), self.row_embedding
        of_table = (self.row_model or "", of_rows) if of_rows else of_documents
        return dict(zip(DOMAINS, (of_documents, of_table), strict=True))

    def is_of(self, store: Store, tables: VariantTables) -> bool:
        """Whether the set was made by the recipe that has these `tables`."""
        return name_of(self.joint.table) == store.known_as(tables.joint)

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """The set that `file` records; None if it cannot be read."""
        try:
            record = json.loads(file.read_text("utf-8"))
            pins = {name: Pin(**record[name]) for name in PINNED if record.get(name)}
            return cls(**(record | pins))
        except (OSError, ValueError, TypeError, AttributeError):
            return None


def set_of(store: Store, config: Config, variant: str) -> CompleteSet:
    """What answers for `variant`: the set of its recipe, else the last one that it had.

    Raises:
        ConfigError: The config has no such variant.
        MissingIndexError: It has no complete index.
    """
    tables = config.tables_of(variant)
    last = CompleteSet.read(file_of(store, variant))
    if last and last.is_of(store, tables):
        return last
    found = _of_recipe(store, tables) or last
    if found is None and (store.root / FOLDER).exists():
        raise MissingIndexError(variant)
    return found or as_it_stands(store, config, variant)


def set_of_recipe(store: Store, config: Config, variant: str) -> CompleteSet:
    """The set of the recipe that `variant` has now, to measure it and no earlier one.

    Raises:
        ConfigError: The config has no such variant.
        MissingIndexError: It has no complete index.
    """
    found = set_of(store, config, variant)
    tables = config.tables_of(variant)
    if not found.is_of(store, tables):
        raise MissingIndexError(variant)
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


def move(store: Store, moved: Mapping[Pin, Pin | None]) -> None:
    """Let the sets name what took the place of their pins; the next refresh records them anew.

    None takes the place of a table that need not be there: see `CompleteSet`.
    """
    for file in (store.root / FOLDER).glob("*.json"):
        complete_set = CompleteSet.read(file)
        if complete_set and moved.keys() & set(complete_set.pins):
            write_atomically(file, as_json(with_moved(complete_set, moved)))


def with_moved(complete_set: CompleteSet, moved: Mapping[Pin, Pin | None]) -> CompleteSet:
    """A set that names what took the place of its pins, and that the next refresh records anew."""
    pins = {name: moved.get(pin := getattr(complete_set, name), pin) for name in PINNED}
    return replace(complete_set, **pins, seen="")


def forget_gone(store: Store) -> None:
    """Forget the sets of variants that are no longer there, once their tables are gone.

    Tables that cannot be read or reached just now are not known to be gone.
    """
    for file in (store.root / FOLDER).glob("*.json"):
        complete_set = CompleteSet.read(file)
        with suppress(DamagedTablesError, *DAMAGE):
            if complete_set is None or not is_kept(store, complete_set):
                take_away(file)


def is_kept(store: Store, complete_set: CompleteSet) -> bool:
    """Whether all tables of a set can still be read as they were."""
    return all(holds(store, pin) for pin in complete_set.pins)


def file_of(store: Store, variant: str) -> Path:
    """The file that records the set of a variant."""
    return store.root / FOLDER / f"{variant}.json"


def as_json(complete_set: CompleteSet) -> str:
    """A set as its file records it."""
    return json.dumps(asdict(complete_set), indent=1)


class ModelFields(TypedDict):
    """The fields of a set that say what embeds its units."""

    model: str
    settings: Mapping[str, object]
    row_model: str | None
    row_settings: Mapping[str, object] | None


def models_of(config: Config, variant: str) -> ModelFields:
    """What embeds the units of `variant`, as its set records it."""
    recipe = config.variant(variant)
    settings = {name: config.models[name].model_dump(mode="json") for name in recipe.models}
    is_one = len(recipe.models) == 1
    return {
        "model": recipe.document_model,
        "settings": settings[recipe.document_model],
        "row_model": None if is_one else recipe.table_model,
        "row_settings": None if is_one else settings[recipe.table_model],
    }


def _of_recipe(store: Store, tables: VariantTables) -> CompleteSet | None:
    found = [complete_set for complete_set in all_sets(store) if complete_set.is_of(store, tables)]
    return max(found, key=lambda complete_set: complete_set.recorded_at, default=None)


def as_it_stands(store: Store, config: Config, variant: str) -> CompleteSet:
    """The newest tables, of a state that has recorded no set yet."""
    tables = config.tables_of(variant)
    if not store.count(tables.joint):
        raise MissingIndexError(variant)

    def pinned(name: str) -> Pin | None:
        return pin_of(store, name) if store.exists(name) else None

    return CompleteSet(
        variant=variant,
        joint=pin_of(store, tables.joint),
        documents=pinned(tables.documents),
        rows=pinned(tables.rows),
        families=pinned(tables.families) if store.ended(tables.families) else None,
        elements=tables.elements,
        chunks=tables.chunks,
        **models_of(config, variant),
        recorded_at="",
        seen="",
    )
