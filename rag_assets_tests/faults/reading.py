"""What a reader that opens an index now gets, and whether it is of one piece."""

from collections.abc import Sequence

from rag_assets.config import Config
from rag_assets.retrieval.search import Index, open_index
from rag_assets.store import Store
from rag_assets_tests.faults.hashing import HashEncoder

QUERY = "Report specimen series tested degrees steel"
RETRIEVERS = ("baseline", "bm25", "late_fusion")


def opened(config: Config) -> Index:
    """The index of the variant that serves, as a new process opens it."""
    return open_index(Store.of(config), config, config.serving_variant, encoder=HashEncoder(None))


def found(index: Index, query: str = QUERY) -> list[list[str]]:
    """The texts that each retriever finds."""
    return [
        [hit.text for hit in index.search(query, retriever=name, top_k=50)] for name in RETRIEVERS
    ]


def mixed(config: Config, index: Index) -> list[str]:
    """Units that the joint table of an index has and its domains lack, or the other way round."""
    store, held = Store.of(config), index.held

    def units(*pins: object) -> set[tuple[str, str]]:
        tables = [store.read(pin.table, version=pin.version) for pin in pins if pin]
        columns = ("unit_id", "row_fingerprint")
        return {
            pair
            for table in tables
            for pair in zip(*(table[name].to_pylist() for name in columns), strict=True)
        }

    apart = units(held.joint) ^ units(held.documents, held.rows)
    return sorted(unit for unit, _ in apart)


def texts(config: Config, index: Index) -> Sequence[str]:
    """All texts that the index holds."""
    pin = index.held.joint
    held = Store.of(config).read(pin.table, columns=["text"], version=pin.version)
    return sorted(held["text"].to_pylist())
