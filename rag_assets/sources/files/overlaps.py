"""Files among the documents that are tables of a table source: rows, and no documents.

A table source may lie in the same folder as documents. What it takes leaves the manifest of
documents, so that nothing is indexed twice; a workbook that it takes in part is refused, so that
no sheet is lost silently.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rag_assets.config import TableSource
from rag_assets.sources.entries import spec_of
from rag_assets.sources.files.listing import Entry, Listing
from rag_assets.sources.source_locations import SUFFIXES, SourceError, TabularFiles, place_of


def without_rows(listings: Sequence[Listing], tables: Sequence[TableSource]) -> list[Listing]:
    """Document `listings` without the files whose tables are taken by `tables`."""
    if not any(_is_tabular(entry) for listing in listings for entry in listing.entries):
        return list(listings)
    taken: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
    for source in tables:
        for file, table, is_taken in _sheets(source):
            taken[file][table] = source.name if is_taken else taken[file].get(table)
    return [_without(listing, taken) for listing in listings]


def _without(listing: Listing, taken: Mapping[str, Mapping[str, str | None]]) -> Listing:
    entries: list[Entry] = []
    rejected = dict(listing.rejected)
    for entry in listing.entries:
        tables = taken.get(_place(entry, listing), {}) if _is_tabular(entry) else {}
        if not any(tables.values()):
            entries.append(entry)
        elif left := sorted(table for table, source in tables.items() if source is None):
            sources = ", ".join(sorted({source for source in tables.values() if source}))
            rejected[entry.uri] = (
                f"{entry.uri}: some of its sheets are rows of the source {sources}, but "
                f"not {', '.join(left)}: let that source take all of them, or none"
            )
    return replace(listing, entries=entries, rejected=rejected)


def _sheets(source: TableSource) -> Iterator[tuple[str, str, bool]]:
    """Each table in the files of `source`: its file, its table, and whether it is taken.

    A source that cannot be reached has none; its own refresh says what is wrong with it.
    """
    if source.url is None:
        return
    try:
        place = place_of(source)
        if not isinstance(place, TabularFiles):
            return
        from rag_assets.sources.tabular.folder import FileTables

        origin = FileTables(source, place)
    except SourceError:
        return
    for table, found in origin.tables.items():
        if _is_tabular(found.entry):
            file = _place(found.entry, origin.listing)
            yield file, table, spec_of(source, table) is not None


def _is_tabular(entry: Entry) -> bool:
    return entry.uri.lower().endswith(SUFFIXES)


def _place(entry: Entry, listing: Listing) -> str:
    """The real place of a file, whatever link leads to it."""
    return os.path.realpath(entry.path) if listing.filesystem is None else entry.path
