"""What is shown of elements and chunks beside the counts of a pass."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_assets.documents.elements.parse_report_rows import Accounts
from rag_assets.documents.families.shown import families_of
from rag_assets.documents.files import names_of
from rag_assets.reports.metadata_values import Plot, Record, ShownRows, Value
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.documents.chunks.chunk import ChunkReport

MOST_SHOWN = 50
"""Documents of one table."""


def types(store: Store, elements: str) -> Mapping[str, Value]:
    """How many elements there are of each type."""
    counts = store.read(elements, columns=["type"])["type"].value_counts().to_pylist()
    ordered = sorted(counts, key=lambda count: -count["counts"])
    return {
        "elements by type": ShownRows(
            [{"type": count["values"], "elements": count["counts"]} for count in ordered]
        )
    }


def completeness(store: Store, *, accounts: str) -> Mapping[str, Value]:
    """How many pages of all documents were read, and which ones needed a helper or failed."""
    names = names_of(store)
    pages = parsed = empty = 0
    helped: list[Record] = []
    for row in Accounts(store, accounts).rows():
        pages += row["pages"] or 0
        parsed += row["parsed"]
        empty += row["empty_pages"]
        for what in ("failed", "replaced"):
            document = names.get(row["document_id"], row["document_id"])
            helped += [
                {
                    "document": document,
                    "pages": part["pages"],
                    "what": what,
                    "reason": part["reason"],
                }
                for part in json.loads(row[what])
            ]
    return {
        "pages": f"{parsed:,} of {pages:,} read, {empty:,} of them empty",
        **({"pages with trouble": ShownRows(helped[:MOST_SHOWN])} if helped else {}),
    }


def versions(store: Store, families: str) -> Mapping[str, Value]:
    """The documents that are versions of one, and those that may be: a person decides on these."""
    shown = [
        {
            "document": each.uri,
            "version": each.version,
            "status": each.status,
            "family": each.family or "",
            "why": each.evidence,
        }
        for each in families_of(store, families)
    ]
    parts = {
        "versions of documents": [row for row in shown if row["status"] != "proposed"],
        "proposed versions": [row for row in shown if row["status"] == "proposed"],
    }
    return {name: ShownRows(rows[:MOST_SHOWN]) for name, rows in parts.items() if rows}


def edits(report: "ChunkReport") -> Mapping[str, Value]:
    """How many texts must be embedded after edits; nothing if no document was edited."""
    if report.share_new is None:
        return {}
    return {
        "texts kept after edits": report.texts_kept,
        "texts new after edits": report.texts_new,
        "share embedded again": round(report.share_new, 4),
    }


def lengths(store: Store, chunks: str) -> Mapping[str, Value]:
    """How long the chunks are, in tokens."""
    from rag_assets.reports.plots import histogram

    tokens = store.read(chunks, columns=["tokens"])["tokens"].to_pylist()
    plot = histogram(tokens, title="Length of the chunks", x_label="tokens")
    return {"chunk lengths": Plot(plot)}
