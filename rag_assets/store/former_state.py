"""A state of before `format.json`, beside a config that names no `defaults`."""

from contextlib import suppress

from rag_assets.config import Config, ConfigError, find
from rag_assets.config.former_defaults import refusal
from rag_assets.store.complete_sets import CompleteSet, file_of
from rag_assets.store.search_indexes import COMMON_NAMES, text_index_name
from rag_assets.store.serving_pointer import ServingPointerError, current
from rag_assets.store.store import Store


def check(store: Store, config: Config) -> None:
    """Refuse a config by which the state would be built otherwise than it is.

    Raises:
        ConfigError: It names no `defaults`, and the state has other tables, stop words or
            retrievers, as those of the first edition are.
    """
    named = {text_index_name(config.index.text)} - COMMON_NAMES
    other = [
        f"the tables of variant {name}"
        for name in config.variants
        if (found := CompleteSet.read(file_of(store, name)))
        and not (found.is_of(store, config.tables_of(name)) and named <= {*(found.indexes or ())})
    ]
    with suppress(ServingPointerError):  # whoever reads it tells it
        pointer = current(store)
        if pointer and (name := pointer.query_side.retriever) in ("best", "fast"):
            now = config.retrieval.retrievers[name].model_dump(mode="json")
            other += [f"the retriever {name}"] * (now != pointer.query_side.settings)
    if other:
        why = f"it names no `defaults`, and {store.root} was built by others: {', '.join(other)}"
        raise ConfigError(f"{find()}: {refusal(why)}")
