"""Where the graph shows what an entry of a table source takes."""

import re
import unicodedata
from typing import TYPE_CHECKING

from rag_assets.identity import fingerprint

if TYPE_CHECKING:
    from rag_assets.config.sections import TableSource, TableSpec

PLAIN = re.compile(r"\w{1,80}", re.ASCII)
"""A table's name that Dagster takes as it is."""
MADE = re.compile(r".*_[0-9a-f]{12}")
"""A name that `node_of` made; a table that is really called so gets another."""
LETTERS_KEPT = 40


def asset_path(source: "TableSource", spec: "TableSpec") -> tuple[str, ...]:
    """The key of the asset: a table has its own node, all patterns of a source share one."""
    node = () if spec.is_pattern else (node_of(spec.name),)
    return ("exports", source.name, *node)


def node_of(table: str) -> str:
    """The name of a table's node: letters A to Z, digits and _, all that Dagster takes.

    Any other name becomes those of its letters that can be written so, and a hash of it: no two
    tables of a source share a node.
    """
    if PLAIN.fullmatch(table) and not MADE.fullmatch(table):
        return table
    letters = unicodedata.normalize("NFKD", table).encode("ascii", "ignore").decode()
    words = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")[:LETTERS_KEPT]
    return f"{words or 'table'}_{fingerprint(table)[:12]}"
