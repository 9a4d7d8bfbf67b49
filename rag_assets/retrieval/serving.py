"""Searching what serves: exactly what the serving pointer pins, as it was promoted."""

from collections.abc import Mapping

from rag_assets.config import ArmName, Config
from rag_assets.retrieval.arms import Arm
from rag_assets.retrieval.encoders import QueryEncoder
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store, serving_pointer
from rag_assets.store.pins import holds
from rag_assets.store.serving_pointer import GonePinsError, ServingPointer


def open_serving(
    store: Store,
    config: Config,
    *,
    encoder: QueryEncoder | None = None,
    arms: Mapping[ArmName, Arm] | None = None,
) -> VariantIndex:
    """The index that answers queries.

    Whatever became of its variant, its model or its retriever in the config: it is searched as it
    was promoted. A retriever that is named at a search is the config's, but for the recorded one.
    Without a pointer it is the last complete set of `serving.variant`.

    Args:
        store: Holds its tables.
        config: As it is now.
        encoder: Embeds queries. Unless given, it is the model of the index.
        arms: See `open_index`.

    Raises:
        ServingPointerError: The pointer is damaged, or its tables are gone.
        MissingIndexError: There is no pointer, and no complete index.
        DamagedTablesError: Files of its tables cannot be read.
    """
    pointer = serving_pointer.current(store)
    if pointer is None:
        return open_index(store, config, config.serving_variant, encoder=encoder, arms=arms)
    return open_pointer(store, config, pointer, encoder=encoder, arms=arms)


def open_pointer(
    store: Store,
    config: Config,
    pointer: ServingPointer,
    *,
    encoder: QueryEncoder | None = None,
    arms: Mapping[ArmName, Arm] | None = None,
) -> VariantIndex:
    """The index that `pointer` names: see `open_serving`."""
    for pin in pointer.complete_set.pins:
        if not holds(store, pin):
            if store.exists(pin.table):
                store.check(pin.table)  # a damaged table raises its own error
            raise GonePinsError(pointer.number, variant=pointer.variant)
    return open_index(
        store,
        config,
        pointer.variant_in(store, config) or pointer.variant,
        complete_set=pointer.complete_set,
        retrieval=pointer.query_side.within(config.retrieval),
        encoder=encoder,
        arms=arms,
    )
