"""Asset keys of exported tables: where the graph shows an entry of a table source."""

import re
import unicodedata

from rag_assets.config.sources import TableSource, TableSpec
from rag_assets.identity import fingerprint

PLAIN = re.compile(r"\w{1,80}", re.ASCII)
"""A table's name that Dagster accepts unchanged."""
MADE = re.compile(r".*_[0-9a-f]{12}")
"""A name as `node_of` makes it; a table with such a name of its own gets another one."""
LETTERS_KEPT = 40


def asset_path(source: TableSource, spec: TableSpec) -> tuple[str, ...]:
    """The key of the asset: a table has its own node, all patterns of a source share one."""
    node = () if spec.is_pattern else (node_of(spec.name),)
    return ("exports", source.name, *node)


def node_of(table: str) -> str:
    """The name of a table's node: letters A to Z, digits and _, as Dagster allows no others.

    A table with another name gets the letters that can be kept and a hash of the name, so that no
    two tables of a source share a node.
    """
    if PLAIN.fullmatch(table) and not MADE.fullmatch(table):
        return table
    letters = unicodedata.normalize("NFKD", table).encode("ascii", "ignore").decode()
    words = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")[:LETTERS_KEPT]
    return f"{words or 'table'}_{fingerprint(table)[:12]}"
