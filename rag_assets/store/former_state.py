"""A state of before `format.json`, beside a config that names no `defaults`."""

import json
from collections.abc import Iterator
from contextlib import suppress

from rag_assets.config import Config, ConfigError, find
from rag_assets.config.former_defaults import refusal
from rag_assets.store.catalog import name_of
from rag_assets.store.search_indexes import COMMON_NAMES, settings_named, text_index_name

UNREADABLE = (OSError, ValueError, TypeError, KeyError)
"""A record that cannot be read counts as absent."""


def check(config: Config) -> None:
    """Refuse a config by which its state would be built otherwise than it is.

    Raises:
        ConfigError: It names no `defaults`, and the state has other tables, stop words or
            retrievers, as those of the first edition are.
    """
    if other := ", ".join(_other_than_built(config)):
        why = f"it names no `defaults`, and {config.state_dir} was built by others: {other}"
        raise ConfigError(f"{find()}: {refusal(why)}")


def _other_than_built(config: Config) -> Iterator[str]:
    """What the records of complete sets and of the serving pointer have otherwise."""
    root = config.state_dir
    named = {settings_named(text_index_name(config.index.text))} - COMMON_NAMES
    for name in config.variants:
        with suppress(*UNREADABLE):
            held = json.loads((root / "complete_sets" / f"{name}.json").read_text("utf-8"))
            tables = name_of(held["joint"]["table"]), config.tables_of(name).joint
            built, wanted = (table.rpartition("-")[2] for table in tables)
            if built != wanted or not named <= {*(held.get("indexes") or ())}:
                yield f"the tables of variant {name}"
    with suppress(*UNREADABLE):
        side = json.loads((root / "serving" / "current.json").read_text("utf-8"))["query_side"]
        name, retrievers = side["retriever"], config.retrieval.retrievers
        is_other = retrievers[name].model_dump(mode="json") != side["settings"]
        if is_other and name in ("best", "fast"):
            yield f"the retriever {name}"
