"""Asset keys of exported tables: where the graph shows an entry of a table source."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from rag_assets.config.sources import TableSource, TableSpec
from rag_assets.identity import fingerprint

PLAIN = re.compile(r"\w{1,80}", re.ASCII)
"""A table's name that Dagster accepts unchanged."""
MADE = re.compile(r".*_[0-9a-f]{12}")
"""A name that ends as one with a hash does."""
LETTERS_KEPT = 40


def asset_path(source: TableSource, spec: TableSpec) -> tuple[str, ...]:
    """The key of the asset: a table has its own node, all patterns of a source share one."""
    node = () if spec.is_pattern else (node_of(spec.name, (each.name for each in source.tables)),)
    return ("exports", source.name, *node)


def node_of(table: str, tables: Iterable[str]) -> str:
    """The name of a table's node: letters A to Z, digits and _, as Dagster allows no others.

    A table with another name gets the letters that can be kept. A hash of the name follows where
    none can be kept or one of `tables` comes by the same, so that no two share a node.
    """
    words = _words(table)
    is_its_own = words == table or all(words != _words(each) for each in tables if each != table)
    if words and is_its_own and not MADE.fullmatch(words):
        return words
    return f"{words or 'table'}_{fingerprint(table)[:12]}"


@lru_cache(maxsize=4096)
def _words(table: str) -> str:
    if PLAIN.fullmatch(table):
        return table
    letters = unicodedata.normalize("NFKD", table).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")[:LETTERS_KEPT]
