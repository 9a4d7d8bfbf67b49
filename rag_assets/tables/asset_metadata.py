"""What is shown of rows and their texts beside the counts of a pass."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change.steps import Preview
from rag_assets.reports.metadata_values import LongListing, Plot, Value
from rag_assets.reports.previews import first_rows
from rag_assets.store import Store
from rag_assets.tables import exported
from rag_assets.tables.exported import SourceTable

IN_TEXT = "columns in the text"
SAMPLED_BATCHES = 4
"""Batches of texts whose lengths are plotted: enough for the shape, whatever the table's size."""


def preview(store: Store, table: str) -> Preview:
    """The first rows in plain words; a key may be made of hidden columns and is left out."""

    def read() -> pa.Table | None:
        rows = first_rows(store, table, columns=["table", "title", "pairs"])
        if rows is None:
            return None
        in_words = pa.array([_in_words(pairs) for pairs in rows["pairs"].to_pylist()], pa.string())
        return rows.drop(["pairs"]).append_column("row", in_words)

    return Preview(("table", "title", "row"), read)


def tables(store: Store, *, sources: Collection[str]) -> Mapping[str, Value]:
    """Rows and empty cells of each table, and what its columns are called, from their records."""
    rows = [
        {
            "table": table.name,
            "title": table.title,
            "rows": table.rows,
            "columns": len(table.columns),
            "null rate": round(table.null_share, 4),
            IN_TEXT: _headings(table),
        }
        for table in exported.source_tables(store, sources=sources)
    ]
    return {"tables": LongListing(rows, long=[IN_TEXT])}


def lengths(store: Store, texts: str) -> Mapping[str, Value]:
    """How long the texts are, in characters, and how many each table has."""
    from rag_assets.reports.plots import histogram

    measured = [
        length
        for batch in islice(store.batches(texts, columns=["text"]), SAMPLED_BATCHES)
        for length in pc.utf8_length(batch["text"]).to_pylist()
    ]
    by_table = store.read(texts, columns=["source", "table"]).group_by(["source", "table"])
    counts = by_table.aggregate([([], "count_all")]).sort_by([("source", "ascending")])
    plot = histogram(measured, title="Length of the texts", x_label="characters")
    return {
        "rows_by_table": LongListing(
            [
                {"table": f"{row['source']}/{row['table']}", "rows": row["count_all"]}
                for row in counts.to_pylist()
            ]
        ),
        "text_lengths": Plot(plot),
    }


def _in_words(pairs: Sequence[Mapping[str, object]]) -> str:
    """Headings and values of a row, without those that are hidden or empty."""
    shown = (pair for pair in pairs if not pair["hidden"] and pair["value"] is not None)
    return "; ".join(f"{pair['heading']}: {pair['value']}" for pair in shown)


def _headings(table: SourceTable) -> str:
    """Each column that enters the text, with its heading there where that is another."""
    return ", ".join(
        column if column == heading else f"{column} → {heading}"
        for column, heading, hidden in zip(table.columns, table.headings, table.hidden, strict=True)
        if not hidden
    )
