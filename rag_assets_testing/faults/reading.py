"""What a reader that opens an index now gets, and whether it is of one piece."""

from collections.abc import Sequence
from typing import TypeAlias

from rag_assets.config import Config
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store
from rag_assets.store.pins import Pin
from rag_assets_testing.faults.hashing import HashEncoder

QUERY = "Report specimen series tested degrees steel"
RETRIEVERS = ("baseline", "bm25", "late_fusion")
RANKED = ("baseline", "bm25", "hybrid", "late_fusion")

Unit: TypeAlias = tuple[str, str]
"""Its id, and the fingerprint of its row."""
Entry: TypeAlias = tuple[str, float]
"""A unit and its score."""


def opened(config: Config) -> VariantIndex:
    """The index of the variant that serves, as a new process opens it."""
    return open_index(Store.of(config), config, config.serving_variant, encoder=HashEncoder(None))


def found(index: VariantIndex, query: str = QUERY) -> list[list[str]]:
    """The texts that each retriever finds."""
    return [
        [hit.text for hit in index.search(query, retriever=name, top_k=50)] for name in RETRIEVERS
    ]


def rankings(config: Config, queries: Sequence[str]) -> dict[tuple[str, str], list[Entry]]:
    """Units and scores of each query by each retriever, of an index opened now."""
    index = opened(config).without_cache()
    return {
        (name, query): list(ranking.entries)
        for name in RANKED
        for query, ranking in zip(
            queries, index.rank(queries, retriever=name, top_k=50).rankings, strict=True
        )
    }


def units(config: Config, index: VariantIndex) -> frozenset[Unit]:
    """The units of the joint table of an index, with the fingerprints of their rows."""
    return frozenset(_units(config, index.complete_set.joint))


def mixed(config: Config, index: VariantIndex) -> list[str]:
    """Units that the joint table of an index has and its domains lack, or the other way round."""
    held = index.complete_set
    apart = _units(config, held.joint) ^ _units(config, held.documents, held.rows)
    return sorted(unit for unit, _ in apart)


def _units(config: Config, *pins: Pin | None) -> set[Unit]:
    store = Store.of(config)
    tables = [store.read(pin.table, version=pin.version) for pin in pins if pin]
    columns = ("unit_id", "row_fingerprint")
    return {
        pair
        for table in tables
        for pair in zip(*(table[name].to_pylist() for name in columns), strict=True)
    }


def texts(config: Config, index: VariantIndex) -> Sequence[str]:
    """All texts that the index holds."""
    pin = index.complete_set.joint
    held = Store.of(config).read(pin.table, columns=["text"], version=pin.version)
    return sorted(held["text"].to_pylist())
