"""`rag-assets tables list`: the tables of the sources, and those inside documents."""

import argparse

from rag_assets.reports.text_tables import table
from rag_assets.serving.commands.tables.show import WHOLE, inside_documents
from rag_assets.serving.replies import Reply, project_of
from rag_assets.store.exports import ExportedTable, all_exported
from rag_assets.table_lookup.tables.table_contents import TableContents

SUMMARY = "list tables, with the lines left out of them"
EXAMPLES = """\
  rag-assets tables
  rag-assets tables list --json"""


def run(options: argparse.Namespace) -> Reply:
    """List the tables that were read."""
    config, store = project_of(options)
    inside = inside_documents(store, config)
    rows = [*map(_row, all_exported(store)), *map(_row_inside, inside.values())]
    text = table(rows, columns=("table", "rows", "columns", "beside its records"))
    return Reply(
        record={"tables": rows}, text=text if rows else "No table was read yet: rag-assets refresh"
    )


def _row(held: ExportedTable) -> dict[str, str | int]:
    told = held.about.read.get(WHOLE, "")
    return _listed(held.about.name, held.rows, len(held.columns), told)


def _row_inside(contents: TableContents) -> dict[str, str | int]:
    info = contents.info
    return _listed(f"{info.source}/{info.table}", info.rows, len(info.columns), info.read)


def _listed(name: str, rows: int, columns: int, told: str) -> dict[str, str | int]:
    return {"table": name, "rows": rows, "columns": columns, "beside its records": told}
