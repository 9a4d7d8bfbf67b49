"""Whether a state was built by defaults that are gone, beside a config that names no `defaults`.

Such a config would build other tables by itself. One that names them has chosen, and a state that
has a `format.json` was written by a release that knows no others.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple

from rag_assets.config import Config, ConfigError, Fusion, find
from rag_assets.config.addresses import tables_of
from rag_assets.config.former_defaults import FORMER, former_recipe, refusal
from rag_assets.config.retrieval import DEFAULT_ENTRIES, Retriever
from rag_assets.store.complete_sets import CompleteSet, file_of
from rag_assets.store.search_indexes import COMMON_TEXT_INDEX, text_index_name
from rag_assets.store.serving_pointer import ServingPointerError, current
from rag_assets.store.store import Store


def check(store: Store, config: Config) -> None:
    """Refuse a config that would build its state otherwise than it is.

    Raises:
        ConfigError: The first edition built it; the lines that keep it are named.
    """
    for sign in _signs(store, config):
        why = f"it names no `defaults`, and {sign} by the defaults of the first edition"
        raise ConfigError(f"{find()}: {refusal(config, edition=1, why=why)}")


def _signs(store: Store, config: Config) -> Iterator[str]:
    for name in config.variants:
        found = CompleteSet.read(file_of(store, name))
        if _has_former_tables(store, config, name, found):
            yield f"the tables of variant {name} in {store.root} were built"
        if found and _has_former_words(config, found):
            yield f"the full-text index of variant {name} in {store.root} was built"
    if serving := _former_retriever(store, config):
        yield f"the retriever {serving}, which answers from {store.root}, is"


def _has_former_tables(store: Store, config: Config, name: str, found: CompleteSet | None) -> bool:
    """Whether a variant, complete or not, was built by parts that it does not name."""
    variant = config.variant(name)
    former, present = (tables_of(config, one) for one in (former_recipe(variant), variant))
    if found:
        return found.is_of(store, former) and not found.is_of(store, present)
    pairs = zip(astuple(former), astuple(present), strict=True)
    return any(store.exists(old) and not store.exists(new) for old, new in pairs)


def _has_former_words(config: Config, found: CompleteSet) -> bool:
    """Whether a set is searched by the stop words of then, and the config names none."""
    text = config.index.text
    then = text_index_name(text.model_copy(update={"stop_words": FORMER.stop_words}))
    named = [name for name in found.indexes or () if name.startswith("text")]
    return "stop_words" not in text.model_fields_set and then in (named or [COMMON_TEXT_INDEX])


def _former_retriever(store: Store, config: Config) -> str | None:
    """What answers, if it fuses its signals as it did then, and the config as it does now."""
    with suppress(ServingPointerError):
        pointer = current(store)
        side = pointer.query_side if pointer else None
        if side and side.retriever in FORMER.retrievers:
            shipped = DEFAULT_ENTRIES["retrievers"][side.retriever]
            assert isinstance(shipped, Retriever), "the entries of its section are retrievers"
            fusion = FORMER.retrievers[side.retriever]["signal_fusion"]
            then = Fusion.model_validate(fusion).model_dump(mode="json")
            now = config.retrieval.retrievers[side.retriever].signal_fusion
            if side.settings["signal_fusion"] == then and now == shipped.signal_fusion:
                return side.retriever
    return None
