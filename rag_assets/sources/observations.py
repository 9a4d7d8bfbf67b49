"""A cheap look at every source, to tell whether a refresh would find anything new.

Files are looked at by name, size and time; PostgreSQL tables by a fingerprint that the database
computes; tables of other databases by their number of rows and, where there is one, their newest
cursor. What cannot be reached, or is locked, is left out: the next refresh says what is wrong.
"""

from collections import defaultdict
from contextlib import closing, suppress

from rag_assets.config import Config, TableSource, TableSpec, asset_path
from rag_assets.identity import fingerprint
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.sources.entries import increment_of, spec_of
from rag_assets.sources.files.listing import look
from rag_assets.sources.opening import open_origin
from rag_assets.sources.origins import Origin
from rag_assets.sources.places import SourceError

LOCK_SECONDS = 5.0
"""A look holds up the looks at all other sources: it does not wait longer for a lock."""


def fingerprint_of_sources(config: Config) -> dict[tuple[str, ...], str]:
    """For the path of each source's asset, a fingerprint that moves when the source does."""
    seen: dict[tuple[str, ...], str] = {}
    documents = _of_documents(config)
    if documents is not None:
        seen[(DOCUMENT_FILES_TABLE,)] = documents
    for source in config.sources.tables:
        with suppress(SourceError):
            seen.update(looked_at(source))
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


def looked_at(source: TableSource) -> dict[tuple[str, ...], str]:
    """For the path of each asset of `source`, its fingerprint; none where a table is locked.

    Raises:
        SourceError: The source cannot be reached.
    """
    tables: defaultdict[tuple[str, ...], dict[str, str | None]] = defaultdict(dict)
    seconds = min(source.lock_timeout_seconds or LOCK_SECONDS, LOCK_SECONDS)
    impatient = source.model_copy(update={"lock_timeout_seconds": seconds})
    with closing(open_origin(impatient, log=lambda _: None)) as origin:
        names = origin.names()
        named = [spec.name for spec in source.tables if not spec.is_pattern]
        unlisted = set(origin.unlisted()) if not set(named) <= set(names) else set()
        for table in (*names, *sorted(unlisted.intersection(named))):
            spec = spec_of(source, table)
            if spec is not None:
                tables[asset_path(source, spec)][table] = _glance(origin, spec, table)
    return {
        path: fingerprint(dict(glances))
        for path, glances in tables.items()
        if None not in glances.values()
    }


def _glance(origin: Origin, spec: TableSpec, table: str) -> str | None:
    try:
        return origin.glance(table, increment=increment_of(origin, spec, table))
    except SourceError:
        return None
