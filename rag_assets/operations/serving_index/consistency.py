"""Whether the tables of a complete set agree with each other: what can be told in a moment.

Counts, indexes and encoders, at the pinned versions. `rag-assets doctor` looks at everything.
"""

from collections.abc import Iterator, Sequence

from rag_assets.config import TextIndexSettings
from rag_assets.models.weights import model_of
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import Pin
from rag_assets.store.search_indexes import text_index_name
from rag_assets.store.text_parts import text_index

VECTOR = "vector"


def inconsistencies(
    store: Store, complete_set: CompleteSet, *, text: TextIndexSettings
) -> list[str]:
    """What is wrong with the tables of a set, a sentence each; nothing if they may serve.

    Their full-text indexes have to be by the settings `text`.

    Raises:
        DamagedTablesError: Files of a table cannot be read.
        MissingTableError, ValueError: A table is gone.
    """
    return [
        *_counts(store, complete_set),
        *(wrong for pin in complete_set.unit_pins for wrong in _text_index(store, pin, text)),
        *_models(store, complete_set),
        *_dimensions(store, complete_set),
    ]


def encoder_ids(store: Store, pin: Pin) -> Sequence[str]:
    """What computed the vectors of a table of units, sorted."""
    found: set[str] = set()
    for batch in store.batches(pin.table, columns=["encoder_id"], version=pin.version):
        found.update(batch["encoder_id"].unique().to_pylist())
    return sorted(found)


def _counts(store: Store, complete_set: CompleteSet) -> Iterator[str]:
    """The joint table holds the units of its two parts."""
    parts = [pin for pin in (complete_set.documents, complete_set.rows) if pin is not None]
    if len(parts) < 2:
        return  # a set that was never recorded
    joint, *counted = (_rows(store, pin) for pin in (complete_set.joint, *parts))
    if joint != sum(counted):
        yield (
            f"the joint table has {joint:,} units, and its parts {counted[0]:,} of documents and "
            f"{counted[1]:,} of table rows"
        )


def _rows(store: Store, pin: Pin) -> int:
    return store.open(pin.table, version=pin.version).count_rows()


def _text_index(store: Store, pin: Pin, settings: TextIndexSettings) -> Iterator[str]:
    """BM25 counts the units that the table has; rows outside the vector index are scanned."""
    dataset = store.open(pin.table, version=pin.version).to_lance()
    index = text_index(dataset, name=text_index_name(settings))
    if dataset.count_rows() and not index.is_exact:
        folder = folder_of(pin.table)
        if not index.parts:
            yield f"{folder} has no full-text index by the settings of the config"
        else:
            yield f"the full-text index of {folder} does not cover all its units"


def _models(store: Store, complete_set: CompleteSet) -> Iterator[str]:
    """Vectors that are compared are of one model."""
    parts = [pin for pin in (complete_set.documents, complete_set.rows) if pin is not None]
    compared = parts if complete_set.row_settings else [complete_set.joint]
    for pin in compared:
        models = {model_of(encoder) for encoder in encoder_ids(store, pin)}
        if len(models) > 1:
            yield f"{folder_of(pin.table)} has vectors of {len(models)} models"


def _dimensions(store: Store, complete_set: CompleteSet) -> Iterator[str]:
    """Tables of one model have vectors of one length."""
    if complete_set.row_settings:
        return
    found = {_dimension(store, pin) for pin in complete_set.unit_pins}
    if len(found) > 1:
        lengths = ", ".join(map(str, sorted(found)))
        yield f"the vectors of its tables have different lengths: {lengths}"


def _dimension(store: Store, pin: Pin) -> int:
    return store.schema(pin.table, version=pin.version).field(VECTOR).type.list_size
