"""Which kind of source answers for a table source of the config."""

from collections.abc import Callable

from rag_assets.config import TableSource
from rag_assets.sources.origins import Origin
from rag_assets.sources.source_locations import Database, place_of


def open_origin(source: TableSource, *, log: Callable[[str], None]) -> Origin:
    """The tables of `source`, database or files; `log` hears what is waited for.

    Raises:
        SourceError: The source cannot be reached.
    """
    place = place_of(source)
    if isinstance(place, Database):
        from rag_assets.sources.databases.database import DatabaseTables

        return DatabaseTables(source, place, log=log)
    from rag_assets.sources.tabular.folder import FileTables

    return FileTables(source, place)
