"""Writes tables as the exports do."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from rag_assets.sources.column_types import by_position
from rag_assets.sources.exporting import ExportRequest, export_table
from rag_assets.sources.landed import Landed
from rag_assets.store.exports import About

STEEL = [
    {"id": 1, "material": "Steel A", "melting": 1340, "yield_strength": "240 MPa"},
    {"id": 2, "material": "Steel B", "melting": 1400, "yield_strength": None},
]
HEADINGS = {"material": "Material", "melting": "Melting point", "yield_strength": "Yield strength"}
"""The example of the appendix: 'Metal properties' with two items."""


def write_table(
    store,
    rows,
    *,
    source="db",
    table="metals",
    title="Metal properties",
    key=("id",),
    hidden=("id",),
    headings=HEADINGS,
    keys=None,
    units=None,
):
    """Let the exported table of `source`/`table` hold `rows`, a table or a list of rows.

    With `keys` of all rows, `rows` are only those that moved.
    """
    data = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    about = About(
        source=source,
        table=table,
        title=title,
        key=key,
        hidden=hidden,
        headings=headings,
        units=units or {},
    )
    with TemporaryDirectory() as folder:
        landed = Path(folder) / "landed.parquet"
        pq.write_table(by_position(data), landed)
        every_key = Path(folder) / "keys.parquet"
        pq.write_table(by_position(pa.table({"id": keys or []})), every_key)
        export_table(
            ExportRequest(
                store,
                landed=Landed(
                    schema=data.schema, files=[landed], keys=None if keys is None else [every_key]
                ),
                about=about,
                key_candidates=(),
                look="",
                recipe="",
                work=Path(folder) / "work",
                allow_shrink=True,
                log=lambda _: None,
            )
        )
