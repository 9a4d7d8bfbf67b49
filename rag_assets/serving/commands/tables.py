"""`rag-assets tables`: tables with what was decided of each before its first record."""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import suppress

from rag_assets import config as configuration
from rag_assets.reports.text_tables import table
from rag_assets.serving.commands.export import chosen
from rag_assets.serving.replies import Reply
from rag_assets.store import MissingTableError, Store
from rag_assets.store.complete_sets import set_of
from rag_assets.store.exports import ExportedTable, all_exported
from rag_assets.store.serving_pointer import serving_variant
from rag_assets.table_lookup.tables.document_tables import document_contents
from rag_assets.table_lookup.tables.table_contents import TableContents

SUMMARY = "list tables with the lines left out of them, headings, units, types and empty cells"
EXAMPLES = """\
  rag-assets tables
  rag-assets tables parts
  rag-assets tables "manuals/pump.pdf#12"     a table inside a document"""

WHOLE = "*"
MOST_EXAMPLES = 2
LONGEST = 40
"""Characters of a cell that are shown."""
COLUMNS = ("column", "heading", "type", "in the text", "how it was read", "examples")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("table", nargs="?", help="SOURCE/TABLE or TABLE; all of them unless given")


def run(options: argparse.Namespace) -> Reply:
    """List the tables, or show one with its columns."""
    config = configuration.load()
    store = Store.of(config)
    held = all_exported(store)
    inside: Mapping[tuple[str, str], TableContents] = {}
    with suppress(MissingTableError):
        inside, _ = document_contents(store, set_of(store, config, serving_variant(store, config)))
    for (source, name), contents in inside.items():
        if options.table in (name, f"{source}/{name}"):
            return _shown(name, contents.info.read, [*_columns_inside(contents)])
    if options.table:
        found = chosen(held, options.table)
        return _shown(found.about.name, found.about.read.get(WHOLE, ""), [*_columns(found)])
    rows = [*map(_row, held), *map(_row_inside, inside.values())]
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


def _shown(name: str, told: str, columns: list[dict[str, str]]) -> Reply:
    head = f"{name}: {told or 'records alone'}"
    return Reply(
        record={"table": name, "beside_its_records": told, "columns": columns},
        text=f"{head}\n\n{table(columns, columns=COLUMNS)}",
    )


def _columns(held: ExportedTable) -> Iterator[dict[str, str]]:
    about, first = held.about, held.first_rows(100)
    for field in held.columns:
        cells = [str(cell) for cell in first[field.name].to_pylist() if cell is not None]
        yield _column(
            field.name,
            about.headings.get(field.name, field.name),
            str(field.type),
            "no" if field.name in (about.hidden or ()) else "yes",
            about.read.get(field.name, ""),
            cells,
        )


def _columns_inside(contents: TableContents) -> Iterator[dict[str, str]]:
    for column in contents.info.columns:
        cells = [cell for cell in contents.texts[column.name].to_pylist() if cell is not None]
        kind = "number" if column.is_numeric else "string"
        unread = f"{column.unread:,} cells are no numbers" if column.unread else ""
        yield _column(column.name, column.name, kind, "yes", unread, cells)


def _column(*parts: str | list[str]) -> dict[str, str]:
    *said, cells = parts
    examples = [
        f"{cell[:LONGEST]}…" if len(cell) > LONGEST else cell for cell in dict.fromkeys(cells)
    ]
    return dict(zip(COLUMNS, (*map(str, said), " | ".join(examples[:MOST_EXAMPLES])), strict=True))
