"""A cheap look at every source, to tell whether a refresh would find anything new.

Files are looked at by name, size and time; PostgreSQL tables by a fingerprint that the database
computes; tables of other databases by their number of rows and, where there is one, their newest
cursor. What cannot be reached, or is locked, has no fingerprint: it is named with the reason.
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field

from rag_assets.config import Config, TableSource, asset_path
from rag_assets.identity import fingerprint
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.sources.entries import increment_of, spec_of
from rag_assets.sources.files.listing import look
from rag_assets.sources.opening import open_origin
from rag_assets.sources.places import SourceError

LOCK_SECONDS = 5.0
"""A look holds up the looks at all other sources: it does not wait longer for a lock."""


@dataclass(frozen=True, slots=True)
class SourcesSeen:
    """What a look at some sources found."""

    fingerprints: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    """For the path of the asset that reads it, a fingerprint that moves when the source does."""
    unreached: Mapping[str, str] = field(default_factory=dict)
    """Why a source, or a table or folder of it, could not be looked at, by its name."""

    def __or__(self, other: "SourcesSeen") -> "SourcesSeen":
        """What both found."""
        return SourcesSeen(
            {**self.fingerprints, **other.fingerprints}, {**self.unreached, **other.unreached}
        )


def look_at_sources(config: Config) -> SourcesSeen:
    """A look at all sources of the config."""
    seen = _documents_seen(config)
    for source in config.sources.tables:
        try:
            seen |= looked_at(source)
        except SourceError as error:
            seen |= SourcesSeen(unreached={source.name: str(error)})
    return seen


def fingerprint_of_sources(config: Config) -> Mapping[tuple[str, ...], str]:
    """For the path of each source's asset, a fingerprint that moves when the source does."""
    return look_at_sources(config).fingerprints


def _documents_seen(config: Config) -> SourcesSeen:
    """One fingerprint over all document sources; none if one cannot be reached."""
    listed: list[str] = []
    unreached: dict[str, str] = {}
    for source in config.sources.documents:
        try:
            listing = look(source, without=config.state_dir)
        except SourceError as error:
            unreached[source.name] = str(error)
            continue
        listed.append(listing.fingerprint)
        for folder, reason in listing.unread.items():
            unreached[f"{source.name}/{folder}/"] = reason
    is_whole = len(listed) == len(config.sources.documents)
    return SourcesSeen(
        {(DOCUMENT_FILES_TABLE,): fingerprint(listed)} if is_whole else {}, unreached
    )


def looked_at(source: TableSource) -> SourcesSeen:
    """A look at the tables of `source`; an asset has no fingerprint where one is locked.

    Raises:
        SourceError: The source cannot be reached.
    """
    tables: defaultdict[tuple[str, ...], dict[str, str | None]] = defaultdict(dict)
    unreached: dict[str, str] = {}
    seconds = min(source.lock_timeout_seconds or LOCK_SECONDS, LOCK_SECONDS)
    impatient = source.model_copy(update={"lock_timeout_seconds": seconds})
    with closing(open_origin(impatient, log=lambda _: None)) as origin:
        names = origin.names()
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
                unreached[f"{source.name}/{table}"] = str(error)
            tables[asset_path(source, spec)][table] = glance
    found = {
        path: fingerprint(dict(glances))
        for path, glances in tables.items()
        if None not in glances.values()
    }
    return SourcesSeen(found, unreached)
