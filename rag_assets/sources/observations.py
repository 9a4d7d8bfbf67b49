"""A cheap look at every source, to tell whether a refresh would find anything new.

Files are looked at by name, size and time; PostgreSQL tables by a fingerprint that the database
computes; tables of other databases by their number of rows and, where there is one, their newest
cursor. dlt sources are not looked at: only a load tells what is new. What cannot be reached, is
locked or is being written to has no fingerprint: it is named with the reason. Each pass over a
source writes down what it saw of it (`sources.readability`).
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field

from rag_assets.config import LONGEST_TABLE_NAME, Config, TableSource, asset_path
from rag_assets.identity import fingerprint
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.sources.entries import increment_of, spec_of
from rag_assets.sources.files.listing import look
from rag_assets.sources.opening import open_origin
from rag_assets.sources.readability import readability
from rag_assets.sources.source_locations import SourceError
from rag_assets.store import Store

LOCK_SECONDS = 5.0
"""A look holds up the looks at all other sources: it does not wait longer for a lock."""


@dataclass(frozen=True, slots=True)
class SourcesSeen:
    """What a look at all sources found."""

    fingerprints: dict[tuple[str, ...], str] = field(default_factory=dict)
    """A fingerprint for the path of the asset that reads a source: it moves when the source
    does."""
    unreached: dict[str, str] = field(default_factory=dict)
    """Why a source, or a table or folder of it, could not be looked at, by its name."""


def look_at_sources(config: Config) -> SourcesSeen:
    """A look at all sources of the config."""
    seen = SourcesSeen()
    _look_at_documents(config, seen)
    for source in config.sources.tables:
        if source.dlt is not None:
            continue  # only a load tells what is new
        try:
            _look_at_tables(source, seen)
        except SourceError as error:
            seen.unreached[source.name] = str(error)
    return seen


def seen_by_refresh(store: Store, config: Config) -> Mapping[tuple[str, ...], str]:
    """The fingerprints that a look would have found before each source was last read."""
    documents = {
        source.name: seen
        for source in config.sources.documents
        if (seen := readability(store, source.name).whole.seen)
    }
    tables: defaultdict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for source in config.sources.tables:
        for table, found in readability(store, source.name).parts.items():
            spec = spec_of(source, table)
            if spec and found.seen:
                tables[asset_path(source, spec)][table] = found.seen
    of_tables = {path: fingerprint(dict(seen)) for path, seen in tables.items()}
    return {**of_tables, **_of_documents(documents)}


def _of_documents(seen: Mapping[str, str]) -> Mapping[tuple[str, ...], str]:
    """One fingerprint for all document sources, of which each was `seen`."""
    return {(DOCUMENT_FILES_TABLE,): fingerprint(dict(seen))} if seen else {}


def _look_at_documents(config: Config, seen: SourcesSeen) -> None:
    """One fingerprint over all document sources; none if one cannot be reached."""
    found: dict[str, str] = {}
    for source in config.sources.documents:
        try:
            listing = look(source, without=config.state_dir)
        except SourceError as error:
            seen.unreached[source.name] = str(error)
            continue
        for folder, reason in listing.unread.items():
            seen.unreached[f"{source.name}/{folder}/"] = reason
        if listing.is_being_written:
            seen.unreached[source.name] = "a file is being written to"
        else:
            found[source.name] = listing.seen
    if len(found) == len(config.sources.documents):
        seen.fingerprints.update(_of_documents(found))


def _look_at_tables(source: TableSource, seen: SourcesSeen) -> None:
    """A fingerprint for each asset that reads tables of `source`; none where one is locked.

    Raises:
        SourceError: The source cannot be reached.
    """
    tables: defaultdict[tuple[str, ...], dict[str, str | None]] = defaultdict(dict)
    seconds = min(source.lock_timeout_seconds or LOCK_SECONDS, LOCK_SECONDS)
    impatient = source.model_copy(update={"lock_timeout_seconds": seconds})
    with closing(open_origin(impatient, log=lambda _: None)) as origin:
        names = [name for name in origin.names() if len(name) <= LONGEST_TABLE_NAME]
        named = [spec.name for spec in source.tables if not spec.is_pattern]
        unlisted = set(origin.unlisted()) if not set(named) <= set(names) else set()
        for table in (*names, *sorted(unlisted.intersection(named))):
            spec = spec_of(source, table)
            if spec is None:
                continue
            glance = None
            try:
                glance = origin.glance(table, increment=increment_of(origin, spec, table))
            except SourceError as error:
                seen.unreached[f"{source.name}/{table}"] = str(error)
            tables[asset_path(source, spec)][table] = glance
    for path, glances in tables.items():
        if None not in glances.values():
            seen.fingerprints[path] = fingerprint(dict(glances))
