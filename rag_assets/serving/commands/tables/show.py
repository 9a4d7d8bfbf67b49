"""`rag-assets tables show`: what was decided of a table before its first record."""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import suppress

from rag_assets.config import Config
from rag_assets.reports.text_tables import cut, table
from rag_assets.serving.commands.tables.export import chosen
from rag_assets.serving.replies import Reply, project_of
from rag_assets.store import MissingTableError, Store
from rag_assets.store.complete_sets import set_of
from rag_assets.store.exports import ExportedTable, all_exported
from rag_assets.store.serving_pointer import serving_variant
from rag_assets.table_lookup.tables.document_tables import document_contents
from rag_assets.table_lookup.tables.table_contents import TableContents

SUMMARY = "show how one was read: lines left out, headings, units, types, empty cells"
EXAMPLES = """\
  rag-assets tables show parts
  rag-assets tables show "manuals/pump.pdf#12"     a table inside a document"""

WHOLE = "*"
MOST_EXAMPLES = 2
LONGEST = 40
"""Characters of a cell that are shown."""
COLUMNS = ("column", "heading", "type", "in the text", "how it was read", "examples")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument("table", help="SOURCE/TABLE, or TABLE")


def run(options: argparse.Namespace) -> Reply:
    """Show a table with its columns."""
    config, store = project_of(options)
    for (source, name), contents in inside_documents(store, config).items():
        if options.table in (name, f"{source}/{name}"):
            return _shown(name, contents.info.read, [*_columns_inside(contents)])
    found = chosen(all_exported(store), options.table)
    return _shown(found.about.name, found.about.read.get(WHOLE, ""), [*_columns(found)])


def inside_documents(store: Store, config: Config) -> Mapping[tuple[str, str], TableContents]:
    """The tables inside documents, by the source and the name of each."""
    with suppress(MissingTableError):
        return document_contents(store, set_of(store, config, serving_variant(store, config)))[0]
    return {}


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
        unread = "1 cell is no number" if column.unread == 1 else unread
        yield _column(column.name, column.name, kind, "yes", unread, cells)


def _column(*parts: str | list[str]) -> dict[str, str]:
    *said, cells = parts
    examples = [cut(cell, LONGEST) for cell in dict.fromkeys(cells)]
    return dict(zip(COLUMNS, (*map(str, said), " | ".join(examples[:MOST_EXAMPLES])), strict=True))
