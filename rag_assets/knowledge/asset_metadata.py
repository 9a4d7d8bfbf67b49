"""What is shown of the links between units: how many there are of each kind, and examples."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change.steps import Preview
from rag_assets.reports.metadata_values import Plot, ShownRows, Value
from rag_assets.reports.previews import PREVIEW_ROWS
from rag_assets.store import Store
from rag_assets.store.unit_links import NAMED, links_of

NAMES = ("links by kind", "linked rows", "links of kinds")
KINDS = ("title", "key", "name", "foreign_key", "identifier", "formula", "relation")


def preview(store: Store, table: str) -> Preview:
    """The first units that mention a name, with their names as they are written."""

    def read() -> pa.Table | None:
        batch = next(store.batches(table, columns=["uri", "mentions"], rows=PREVIEW_ROWS), None)
        if batch is None:
            return None
        texts = ["; ".join(one["text"] for one in each) for each in batch["mentions"].to_pylist()]
        return pa.table({"uri": batch["uri"], "names": pa.array(texts, pa.string())})

    return Preview(("uri", "names"), read)


def links(store: Store, table: str) -> Mapping[str, Value]:
    """How many links of each kind documents and rows have, and how many rows have one."""
    from rag_assets.reports.plots import Bar, bars

    units = store.read(table, columns=[*NAMED])
    found = links_of(units)
    is_row = pc.is_null(units["document_id"])
    rows = units["unit_id"].filter(is_row)
    from_row = pc.is_in(found["unit_id"], rows.combine_chunks())
    counts = {
        side: [pc.sum(pc.and_(pc.equal(found["kind"], kind), mask)).as_py() or 0 for kind in KINDS]
        for side, mask in (("from documents", pc.invert(from_row)), ("from rows", from_row))
    }
    linked = pc.count_distinct(found["unit_id"].filter(from_row)).as_py()
    plot = bars(
        {side: [Bar(count) for count in each] for side, each in counts.items()},
        groups=[kind.replace("_", " ") for kind in KINDS],
        title="Links between units",
        y_label="links",
    )
    return {
        "links by kind": ShownRows(
            [
                {"kind": kind, **{side: each[place] for side, each in counts.items()}}
                for place, kind in enumerate(KINDS)
            ]
        ),
        "linked rows": f"{linked:,} of {len(rows):,}",
        "links of kinds": Plot(plot),
    }
