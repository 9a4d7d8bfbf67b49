"""`rag-assets tables export`: an exported table as a file."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from rag_assets.serving.replies import CommandError, Reply, UsageError, project_of
from rag_assets.store.exports import ExportedTable, all_exported

SUMMARY = "write a source's table, as it was last read, to a file: Parquet or CSV"
EXAMPLES = """\
  rag-assets tables export parts                        writes parts.parquet
  rag-assets tables export laboratory/tests --to tests.csv     by its ending"""

LONGEST_NAME = 200
"""The most characters of a file's name that is made of the table's."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "table", help="SOURCE/TABLE, or TABLE where only one source has a table of that name"
    )
    command.add_argument(
        "--to",
        type=Path,
        help="file to write, .parquet or .csv, replaced if it is there; else TABLE.parquet",
    )


def run(options: argparse.Namespace) -> Reply:
    """Write the rows, sorted by key; the comment of each column is its heading."""
    from rag_assets.sources.column_types import ContentError
    from rag_assets.sources.export_file import BeingWrittenError, EndingError, write_file

    _, store = project_of(options)
    table = chosen(all_exported(store), options.table)
    file = options.to or Path(f"{quote(table.about.table, safe=' ')[:LONGEST_NAME]}.parquet")
    try:
        write_file(table, file)
    except EndingError as error:
        raise UsageError(f"{error}: name another file with --to") from error
    except (BeingWrittenError, ContentError) as error:
        raise CommandError(f"{table.about.name} was not written: {error}") from error
    except OSError as error:
        raise CommandError(
            f"{file} cannot be written ({error.strerror or error}): name another file with --to"
        ) from error
    return Reply(
        record={"table": table.about.name, "rows": table.rows, "file": str(file)},
        text=f"{table.about.name}: {table.rows:,} rows written to {file}",
    )


def chosen(held: Sequence[ExportedTable], name: str) -> ExportedTable:
    """The table that a person means by `name`.

    Raises:
        UsageError: There is none, or there are several.
    """
    whole = [each for each in held if each.about.name == name]
    found = whole or [each for each in held if each.about.table == name]
    if len(found) == 1:
        return found[0]
    if found:
        both = " and ".join(each.about.name for each in found)
        raise UsageError(f"{name} may be {both}: name one of them")
    there = ", ".join(each.about.name for each in held) or "none: run `rag-assets refresh` first"
    raise UsageError(f"there is no table {name}; the tables there: {there}")
