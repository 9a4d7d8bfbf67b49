"""A cheap look at every source, to tell whether a refresh would find anything new.

Files are looked at by name, size and time; PostgreSQL tables by a fingerprint that the database
computes; tables of other databases by their number of rows and, where there is one, their newest
cursor. A source that cannot be reached is left out: the next refresh says what is wrong with it.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing

from rag_assets.config import Config, TableSource, asset_path
from rag_assets.identity import fingerprint
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.sources.entries import increment_of, open_origin, spec_of
from rag_assets.sources.listing import look
from rag_assets.sources.places import SourceError


def fingerprint_of_sources(config: Config) -> dict[tuple[str, ...], str]:
    """For the path of each source's asset, a fingerprint that moves when the source does."""
    seen: dict[tuple[str, ...], str] = {}
    documents = _of_documents(config)
    if documents is not None:
        seen[(DOCUMENT_FILES_TABLE,)] = documents
    for source in config.sources.tables:
        tables: defaultdict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
        try:
            for path, table, glance in _of_tables(source):
                tables[path][table] = glance
        except SourceError:
            continue
        seen.update({path: fingerprint(dict(glances)) for path, glances in tables.items()})
    return seen


def _of_documents(config: Config) -> str | None:
    """Fingerprint over all document sources; None if one cannot be reached."""
    try:
        listings = [
            look(source, without=config.state_dir).fingerprint
            for source in config.sources.documents
        ]
    except SourceError:
        return None
    return fingerprint(listings)


def _of_tables(source: TableSource) -> Iterator[tuple[tuple[str, ...], str, str]]:
    with closing(open_origin(source)) as origin:
        names = origin.names()
        named = [spec.name for spec in source.tables if not spec.is_pattern]
        unlisted = set(origin.unlisted()) if not set(named) <= set(names) else set()
        for table in (*names, *sorted(unlisted.intersection(named))):
            spec = spec_of(source, table)
            if spec is not None:
                increment = increment_of(origin, spec, table)
                yield asset_path(source, spec), table, origin.glance(table, increment=increment)
