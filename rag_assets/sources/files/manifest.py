"""`document_files`: the manifest of all source files.

Content is read only where the size or the time of a file moved since the last look, or where it
was written within two seconds of that look (a second write could then go unnoticed). A file that is
written to or replaced while it is read is read again, and looked at again by the next refresh; one
that does not stand still keeps what is held of it, and keeps nothing else from being finished. The
fingerprint of a file covers its bytes and what they were found to be, not its time: a file that
is merely touched, or copied to another machine, stays the same; its new time is written into its
row, and nothing is made anew for it. Deleted files leave the manifest;
a file, a folder or a source that cannot be read, and a source that lost more than half of its
documents, keep what is held and leave a note in the quarantine.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.columns.sql import quoted
from rag_assets.config import DocumentSource, TableSource
from rag_assets.identity import document_id, fingerprint
from rag_assets.process import clock
from rag_assets.sources import readability
from rag_assets.sources.files import detection
from rag_assets.sources.files.known_files import CONTENT, RECIPE, ROWS, KnownFiles
from rag_assets.sources.files.listing import Entry, Listing, look, look_of
from rag_assets.sources.files.overlaps import without_rows
from rag_assets.sources.readability import Look
from rag_assets.sources.source_locations import SourceError
from rag_assets.sources.step_tables import FILES
from rag_assets.store import Store

TARGET = FILES.target()
BATCH_ROWS = 4_096
MOST_READS = 3
"""How often a file that moves while it is read is read again."""
BLOCK = 1 << 20


class _RestlessError(Exception):
    """A file was written to each time that it was read."""


@dataclass(frozen=True, slots=True)
class _Content:
    """What the bytes of a file were found to be."""

    finding: detection.Detected
    sha256: str | None = None


@dataclass(slots=True)
class FilesSeen:
    """All source files as they are now: the rows that `document_files` should hold.

    They are listed when it is made (`seen`), and those that moved read once somebody asks.
    """

    store: Store
    listings: Sequence[Listing]
    seen: Mapping[str, str]
    """What a look saw of each source that can be reached, by its name."""
    failures: list[sync.Failure]
    """Sources, folders and files that cannot be read, or lost too much to be believed."""
    kept_sources: set[str]
    allow_shrink: bool
    log: Callable[[str], None]
    rows: pa.Table = field(default_factory=partial(pa.Table.from_batches, [], schema=ROWS))
    """The rows of all files. `Schema.empty_table` would import pandas, which a refresh may not
    need."""
    unreadable: list[sync.Failure] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    """Documents of the table whose files cannot be read now."""
    moved: list[str] = field(default_factory=list)
    """Files that were no longer as they were listed when they had been read."""
    marks: pa.Table | None = None
    """Keys and fingerprints of all files; None until they have been read."""
    changed: set[str] = field(default_factory=set)
    """Sources that hold something else than before."""
    unopened: dict[str, dict[str, str]] = field(default_factory=dict)
    """Why each file could not be opened, by its source and its URI."""
    tried: Counter[str] = field(default_factory=Counter)
    """Number of files that were to be opened, by their source."""

    @property
    def made_from(self) -> str:
        """Fingerprint of what was seen of the sources.

        Once files moved while they were read it is another: the pass is finished, and the next one
        looks at them again.
        """
        seen = [[item.source.model_dump_json(), item.fingerprint] for item in self.listings]
        return fingerprint(RECIPE, seen, sorted(self.kept_sources), *sorted(self.moved))

    def land(self) -> None:
        """Read the files that changed, and write down what was found."""
        known = KnownFiles(self.store)
        self._find_out(known, remembered_by=known)
        assert self.marks is not None, "they have just been found out"
        known.save(keep=self.marks["key"])

    @property
    def derivation(self) -> sync.Derivation:
        """`document_files`, made from what the sources hold; what failed is an input as well.

        Files that moved are read and hashed; nothing is written.
        """
        return sync.Derivation(
            store=self.store,
            target=TARGET,
            made_from=lambda: {"sources": self.made_from},
            inputs=lambda: self._examined().inputs(),
        )

    def rows_then(self) -> pa.Table:
        """What `document_files` will hold of all files, without its system columns."""
        self._examined()
        if self.marks is None or not self.store.exists(TARGET.name):
            return self.rows.select(CONTENT.names)
        held = self.store.read(TARGET.name, columns=CONTENT.names)
        is_kept = KeyIndex(self.marks["key"]).places(held[TARGET.key]) != ABSENT
        is_kept &= KeyIndex(self.rows[TARGET.key]).places(held[TARGET.key]) == ABSENT
        kept = held.filter(pa.array(is_kept)).cast(CONTENT)
        return pa.concat_tables([self.rows.select(CONTENT.names), kept])

    def _examined(self) -> Self:
        """Read the files that changed unless they have been, and write nothing down."""
        if self.marks is None:
            self._find_out(KnownFiles(self.store), remembered_by=None)
        return self

    def _find_out(self, known: KnownFiles, *, remembered_by: KnownFiles | None) -> None:
        parts = [known.unmoved(listing) for listing in self.listings]
        moved = [
            replace(listing, entries=entries)
            for listing, (entries, _) in zip(self.listings, parts, strict=True)
            if entries
        ]
        rows = [*(rows for _, rows in parts), *self._read(moved, known=remembered_by)]
        self.rows = pa.concat_tables([ROWS.empty_table(), *rows])
        self._keep_unreadable()
        self.marks = pa.concat_tables([_marks(self.rows), self._kept_where_unknown()])

    def _read(self, listings: Sequence[Listing], *, known: KnownFiles | None) -> list[pa.Table]:
        """The rows of what is listed, read one file after another, for `known` to remember."""
        found = (
            row
            for listing in listings
            for entry in listing.entries
            if (row := self._row(listing, entry, known=known))
        )
        batches = iter(lambda: list(islice(found, BATCH_ROWS)), [])
        return [pa.Table.from_pylist(rows, schema=ROWS) for rows in batches]

    def inputs(self) -> pa.Table:
        """Keys and fingerprints of all files; a file that was not read yet counts as changed."""
        marks = self._expected() if self.marks is None else self.marks
        keys = [failure.key for failure in self.failures]
        failed = [fingerprint(failure.reason) for failure in self.failures]
        return pa.concat_tables([marks, pa.table([keys, failed], schema=sync.INPUTS)])

    def _expected(self) -> pa.Table:
        """What is known of all files without reading any."""
        known = KnownFiles(self.store)
        parts = [known.unmoved(listing) for listing in self.listings]
        unread = [
            (document_id(listing.source.name, entry.uri), fingerprint("unread", *entry.look))
            for listing, (entries, _) in zip(self.listings, parts, strict=True)
            for entry in entries
        ]
        keys, looks = zip(*unread, strict=True) if unread else ((), ())
        rows = pa.concat_tables([ROWS.empty_table(), *(rows for _, rows in parts)])
        return pa.concat_tables([_marks(rows), pa.table([[*keys], [*looks]], schema=sync.INPUTS)])

    def transform(self, changed: pa.Table) -> Iterator[sync.Batch]:
        """The rows of the changed files, and the failures of sources and folders."""
        places = KeyIndex(self.rows["document_id"]).places(changed["key"])
        rows = self.rows.select(CONTENT.names).take(pa.array(places[places != ABSENT]))
        self.changed.update(pc.unique(rows["source"]).to_pylist())
        for start in range(0, rows.num_rows, BATCH_ROWS):
            part = rows.slice(start, BATCH_ROWS)
            done = part["document_id"].to_pylist()
            of_part = set(done)
            failed = [failure for failure in self.unreadable if failure.key in of_part]
            yield sync.Batch(part, done=done, failed=failed)
        wanted = set(changed["key"].to_pylist())
        failed = [failure for failure in self.failures if failure.key in wanted]
        if failed:
            yield sync.Batch(CONTENT.empty_table(), done=[], failed=failed)

    def write_times(self) -> None:
        """Give files that were merely touched, whose rows stayed, the times that they have now."""
        held = self.store.read(TARGET.name, columns=["document_id", "modified"])
        places = KeyIndex(self.rows["document_id"]).places(held["document_id"])
        here = np.flatnonzero(places != ABSENT)
        now = self.rows["modified"].take(pa.array(places[here]))
        is_old = pc.not_equal(held["modified"].take(pa.array(here)), now)
        touched = held["document_id"].take(pa.array(here[_mask(is_old)])).to_pylist()
        for start in range(0, len(touched), BATCH_ROWS):
            self._write_times(touched[start : start + BATCH_ROWS])

    def _write_times(self, keys: Sequence[str]) -> None:
        held = self.store.read_keys(TARGET.name, column=TARGET.key, keys=keys)
        places = KeyIndex(self.rows[TARGET.key]).places(held[TARGET.key])
        place = held.column_names.index("modified")
        now = self.rows["modified"].take(pa.array(places))
        rows = sync.with_row_fingerprints(held.set_column(place, TARGET.schema[place], now), TARGET)
        rows = rows.append_column(schemas.FINGERPRINT, held[schemas.FINGERPRINT.name])
        rows = rows.select(TARGET.schema.names).cast(TARGET.schema)
        self.store.replace(TARGET.name, rows, group=TARGET.group, groups=keys)

    def _row(
        self, listing: Listing, entry: Entry, *, known: KnownFiles | None
    ) -> dict[str, object] | None:
        """The row of a file as it was read; None if it went away."""
        limit = listing.source.max_bytes
        key = document_id(listing.source.name, entry.uri)
        if entry.problem:
            finding = detection.Detected(None, "unreadable", entry.problem)
            return _row(key, listing.source, entry, _Content(finding))
        if entry.size > limit:
            reason = (
                f"{entry.uri} has {entry.size:,} bytes, more than max_bytes = {limit:,}: raise "
                "the limit, split the file, or leave it out"
            )
            finding = detection.Detected(None, "too_large", reason)
            return _row(key, listing.source, entry, _Content(finding))
        self.tried[listing.source.name] += 1
        try:
            read, content = self._content(listing, entry)
        except FileNotFoundError:
            self.log(f"{entry.uri} went away while it was looked at")
            self.moved.append(entry.uri)
            return None
        except _RestlessError:
            reason = (
                f"{entry.uri} changed each time that it was read: let the program that writes it "
                "write a copy and move that into place, or exclude it; it is tried again at the "
                "next refresh"
            )
            return self._unread(listing, entry, reason)
        except OSError as error:
            reason = (
                f"{entry.uri} cannot be read ({error.strerror or error}): give the right to read "
                "it, or exclude it; it is tried again at the next refresh"
            )
            self.unopened.setdefault(listing.source.name, {})[entry.uri] = reason
            return self._unread(listing, entry, reason)
        row = _row(key, listing.source, read, content)
        # Only what stood still for a while: a clock that ticks in seconds does not tell two writes
        # apart.
        if known and read == entry and listing.is_settled(entry):
            known.add(entry, row)
        return row

    def _unread(self, listing: Listing, entry: Entry, reason: str) -> dict[str, object]:
        """The row of a file that cannot be read now, for where nothing is held of it."""
        key = document_id(listing.source.name, entry.uri)
        self.unreadable.append(sync.Failure(key, reason, entry.uri, "environment"))
        finding = detection.Detected(None, "unreadable", reason)
        return _row(key, listing.source, entry, _Content(finding))

    def _content(self, listing: Listing, entry: Entry) -> tuple[Entry, _Content]:
        """Read a file until it has stood still meanwhile, `MOST_READS` times at most.

        Raises:
            _RestlessError: It never did.
        """
        for _ in range(MOST_READS):
            content = _read(listing, entry)
            # Looked at again after reading: a file that is being written gives a hash of no version
            # of it.
            now = _as_it_is(listing, entry)
            if now == entry:
                return entry, content
            self.log(f"{entry.uri} changed while it was read")
            self.moved.append(entry.uri)
            entry = now
        raise _RestlessError

    def _keep_unreadable(self) -> None:
        """Leave held documents as they are whose files cannot be read now: they are not gone."""
        if not self.unreadable or not self.store.exists(TARGET.name):
            return
        wanted = [failure.key for failure in self.unreadable]
        held = self.store.read_keys(
            TARGET.name, column="document_id", keys=wanted, columns=["document_id", "sha256"]
        )
        self.kept = set(held.filter(pc.is_valid(held["sha256"]))["document_id"].to_pylist())
        self.rows = self.rows.filter(pa.array(~_is_in(self.rows["document_id"], self.kept)))
        for failure in self.unreadable:
            if failure.key in self.kept:
                key = f"{failure.key}{schemas.UNREAD}"
                self.failures.append(replace(failure, key=key, stale_since=clock.now()))

    def _kept_where_unknown(self) -> pa.Table:
        """Documents of the table that nobody may call deleted: what they lie in was not read."""
        if not self.store.exists(TARGET.name):
            return sync.INPUTS.empty_table()
        columns = ["document_id", "source", "uri", "sha256", schemas.FINGERPRINT.name]
        held = self.store.read(TARGET.name, columns=columns)
        is_known = KeyIndex(self.rows["document_id"]).places(held["document_id"]) != ABSENT
        is_kept = _is_in(held["source"], self.kept_sources) | _is_in(held[TARGET.key], self.kept)
        for listing in self.listings:
            name = listing.source.name
            is_of_source = _is_in(held["source"], [name])
            for folder in listing.unread:
                is_kept |= is_of_source & _mask(pc.starts_with(held["uri"], f"{folder}/"))
            is_gone = is_of_source & ~is_known & ~is_kept
            try:
                self._guard(name, held=int(is_of_source.sum()), gone=held.filter(pa.array(is_gone)))
            except sync.ShrinkError as error:
                is_kept |= is_gone
                self.failures.append(_source_failure(name, str(error)))
            else:
                self.changed.update([name] if is_gone.any() else [])
        return _marks(held.filter(pa.array(is_kept & ~is_known)))

    def note(self, sources: Sequence[DocumentSource], *, warn: Callable[[str], None]) -> None:
        """Write down how sources and their folders could be read, and `warn` of what could not."""
        reasons = {failure.key: failure.reason for failure in self.failures}
        listings = {listing.source.name: listing for listing in self.listings}
        for source in sources:
            name, listing = source.name, listings.get(source.name)
            reason = reasons.get(_key_of(name)) or (self._closed(listing) if listing else None)
            unread = listing.unread if listing else {}
            readability.note(
                self.store,
                name,
                whole=Look(
                    reason,
                    is_changed=name in self.changed,
                    held=None  # nothing was compared, so that nothing is other than before
                    if self.marks is None
                    else self.store.count(TARGET.name, where=f"source = {quoted(name)}"),
                    settings=fingerprint(source.model_dump_json()),
                    may_shrink=self.allow_shrink,
                    seen=None if self.moved else self.seen.get(name),
                ),
                parts={f"{folder}/": Look(why) for folder, why in unread.items()},
                keep=lambda _, is_listed=listing is not None: not is_listed,
            )
            for why in filter(None, (reason, *unread.values())):
                warn(why)

    def _closed(self, listing: Listing) -> str | None:
        """Why no file of a source can be opened, if it can only be listed."""
        name = listing.source.name
        failed = self.unopened.get(name, {})
        if not failed or len(failed) < self.tried[name]:
            return None
        others = (item for item in listing.entries if not item.problem and item.uri not in failed)
        other = next(others, None)
        if other is not None and _can_be_opened(listing, other):
            return None
        return (
            f"{name}: its files are listed, but none can be opened: {next(iter(failed.values()))}"
        )

    def _guard(self, name: str, *, held: int, gone: pa.Table) -> None:
        """Refuse to lose most of a source; a file that only moved is not lost."""
        if not gone.num_rows:
            return
        mine = self.rows.filter(pa.array(_is_in(self.rows["source"], [name])))
        # By content: a folder that was renamed has lost no document.
        here = set(mine["sha256"].to_pylist()) - {None}
        lost = [sha256 for sha256 in gone["sha256"].to_pylist() if sha256 not in here]
        sync.guard_shrink(name, held=held, removed=len(lost), allow_shrink=self.allow_shrink)


def refresh_document_files(
    store: Store,
    sources: Sequence[DocumentSource],
    *,
    tables: Sequence[TableSource] = (),
    allow_shrink: bool,
    log: Callable[[str], None],
    warn: Callable[[str], None] | None = None,
    retry: bool = False,
) -> sync.Report:
    """Bring the manifest up to what `sources` hold now.

    Args:
        store: Where `document_files` lies.
        sources: All document sources of the config; documents of others leave the manifest.
        tables: All table sources of the config; the files that they take are no documents.
        allow_shrink: Accept that a source lost more than half of its documents.
        log: Receives progress, one line at a time.
        warn: Receives why a source or a folder cannot be read; `log` does unless given.
        retry: Also try again what failed on its own content.
    """

    @cache
    def manifest() -> FilesSeen:
        """One look, under the lock: an older one would take back what another refresh found."""
        return files_seen(store, sources, tables=tables, allow_shrink=allow_shrink, log=log)

    work = sync.Work(
        store=store,
        target=TARGET,
        made_from=lambda: {"sources": manifest().made_from},
        land=lambda: manifest().land(),
        inputs=lambda: manifest().inputs(),
        transform=lambda changed: manifest().transform(changed),
        settle=lambda: manifest().write_times(),
        ended=lambda: manifest().note(sources, warn=warn or log),
    )
    return sync.refresh(work, log=log, retry=retry)


def files_seen(
    store: Store,
    sources: Sequence[DocumentSource],
    *,
    tables: Sequence[TableSource] = (),
    allow_shrink: bool = False,
    log: Callable[[str], None] = lambda _: None,
) -> FilesSeen:
    """What `sources` hold now, listed and not read. Arguments as for `refresh_document_files`."""
    listings: list[Listing] = []
    failures: list[sync.Failure] = []
    unreached: set[str] = set()
    for source in sources:
        try:
            listing = look(source, without=store.root)
        except SourceError as error:
            unreached.add(source.name)
            failures.append(_source_failure(source.name, str(error)))
            continue
        listings.append(listing)
    looks = {listing.source.name: listing.seen for listing in listings}
    listings = without_rows(listings, tables)
    for listing in listings:
        failures.extend(_failures_of(listing))
    return FilesSeen(store, listings, looks, failures, unreached, allow_shrink, log)


def _failures_of(listing: Listing) -> Iterator[sync.Failure]:
    name = listing.source.name
    for folder, reason in listing.unread.items():
        yield sync.Failure(f"{name}/{folder}/", reason, f"{name}/{folder}/", "environment")
    for uri, reason in listing.rejected.items():
        yield sync.Failure(f"{name}/{uri}", reason, f"{name}/{uri}")


def _source_failure(name: str, reason: str) -> sync.Failure:
    return sync.Failure(_key_of(name), reason, f"source {name}", "environment")


def _key_of(source: str) -> str:
    """The key of a failure that concerns a whole source."""
    return f"{source}/"


def _can_be_opened(listing: Listing, entry: Entry) -> bool:
    try:
        with _opened(listing, entry) as file:
            file.read(1)
    except OSError:
        return False
    return True


def _row(key: str, source: DocumentSource, entry: Entry, content: _Content) -> dict[str, object]:
    row: dict[str, object] = {
        "document_id": key,
        "source": source.name,
        "uri": entry.uri,
        "media_type": content.finding.media_type,
        "size": entry.size,
        "sha256": content.sha256,
        "modified": datetime.fromtimestamp(entry.modified / 1_000_000, UTC),
        "status": content.finding.status,
        "reason": content.finding.reason,
    }
    said = {name: str(value) for name, value in row.items() if name != "modified"}
    return row | {schemas.FINGERPRINT.name: fingerprint(RECIPE, said)}


def _marks(rows: pa.Table) -> pa.Table:
    """Keys and fingerprints of rows of the manifest."""
    columns = ["document_id", schemas.FINGERPRINT.name]
    return rows.select(columns).rename_columns(sync.INPUTS.names).cast(sync.INPUTS)


def _is_in(names: pa.ChunkedArray, wanted: Collection[str]) -> np.ndarray:
    return _mask(pc.is_in(names, pa.array(sorted(wanted), pa.string())))


def _mask(values: pa.ChunkedArray) -> np.ndarray:
    return values.to_numpy().astype(bool)


def _read(listing: Listing, entry: Entry) -> _Content:
    """Hash and examine one file, in bounded reads."""
    with _opened(listing, entry) as file:
        digest = hashlib.sha256()
        size = 0
        while block := file.read(BLOCK):
            digest.update(block)
            size += len(block)
        finding = detection.examine(file, name=entry.uri.rpartition("/")[2], size=size)
        return _Content(finding, digest.hexdigest())


def _as_it_is(listing: Listing, entry: Entry) -> Entry:
    """The entry of a file on this machine as it stands now; an object's entry as it was listed."""
    if listing.filesystem is not None:
        return entry
    size, modified, mark = look_of(Path(entry.path).stat())
    return replace(entry, size=size, modified=modified, mark=mark)


@contextmanager
def _opened(listing: Listing, entry: Entry) -> Generator[BinaryIO]:
    if listing.filesystem is None:
        with Path(entry.path).open("rb") as file:
            yield file
    else:
        with NamedTemporaryFile() as copy:
            listing.filesystem.get_file(entry.path, copy.name)
            with Path(copy.name).open("rb") as file:
                yield file
