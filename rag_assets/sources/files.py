"""`document_files`: the manifest of all source files.

Content is read only where the size or the time of a file moved since the last look, or where it
was written within two seconds of that look (a second write could then go unnoticed). A file that is
written to or replaced while it is read is read again, and looked at again by the next refresh. The
fingerprint of a file covers its bytes and what they were found to be, not its time: a file that
is merely touched, or copied to another machine, stays the same. Deleted files leave the manifest;
a source that cannot be reached, or lost more than half of its documents, keeps what is held and
leaves a note in the quarantine.
"""

import hashlib
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from rag_assets import schemas, sync
from rag_assets.config import DocumentSource
from rag_assets.identity import document_id, fingerprint
from rag_assets.sources import media_types
from rag_assets.sources.landing import land, landing
from rag_assets.sources.listing import LISTED_ROOT, Entry, Listing, listed_filesystem, look, look_of
from rag_assets.sources.places import SourceError
from rag_assets.store import Store

if TYPE_CHECKING:
    from dlt.extract import DltResource

TARGET = sync.Target(
    name=schemas.DOCUMENT_FILES_TABLE,
    schema=schemas.DOCUMENT_FILES,
    key="document_id",
    group="document_id",
)
RECIPE = "document_files 1"
"""Raised when a file may be judged differently than before."""

BATCH_ROWS = 4_096
SAVE_EVERY_SECONDS = 30.0
MOST_READS = 3
"""How often a file that moves while it is read is read again."""
BLOCK = 1 << 20

_CONTENT = pa.schema([item for item in TARGET.schema if item.name not in schemas.SYSTEM_COLUMNS])
_SEEN = pa.schema(
    [
        pa.field("document_id", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("modified", pa.int64()),
        pa.field("mark", pa.int64()),
        pa.field("sha256", pa.string()),
        pa.field("media_type", pa.string()),
        pa.field("status", pa.string()),
        pa.field("reason", pa.string()),
    ],
    metadata={"recipe": f"{RECIPE}, looks 2"},
)


@dataclass(frozen=True, slots=True)
class _Content:
    """What the bytes of a file were found to be."""

    finding: media_types.Finding
    sha256: str | None = None


@dataclass(slots=True)
class _Manifest:
    """The rows that `document_files` should hold, found out when `sync` asks for them."""

    store: Store
    listings: Sequence[Listing]
    failures: list[sync.Failure]
    kept_sources: set[str]
    allow_shrink: bool
    log: Callable[[str], None]
    rows: dict[str, dict[str, object]] = field(default_factory=dict)
    unreadable: list[sync.Failure] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    """Files that were no longer as they were listed when they had been read."""

    def inputs(self) -> pa.Table:
        """Keys and fingerprints of all files; reads those that moved."""
        import pyarrow.parquet as pq

        known = _Seen(self.store)
        with landing(self.store, TARGET.name) as folder:
            landed = land(
                [self._resource(item, known=known) for item in self.listings], folder=folder
            )
            for path in chain.from_iterable(landed.values()):
                rows = pq.read_table(path).select(_CONTENT.names).cast(_CONTENT).to_pylist()
                self.rows |= {row["document_id"]: row for row in rows}
        marks = {key: _mark(row) for key, row in self.rows.items()}
        marks |= self._held_where_unknown(marks)
        known.save(keep=marks)
        marks |= {failure.key: fingerprint(failure.reason) for failure in self.failures}
        return pa.table([list(marks), list(marks.values())], schema=sync.INPUTS)

    def transform(self, changed: pa.Table) -> Iterator[sync.Batch]:
        """The rows of the changed files, and the failures of sources and folders."""
        keys = [key for key in changed["key"].to_pylist() if key in self.rows]
        for start in range(0, len(keys), BATCH_ROWS):
            part = keys[start : start + BATCH_ROWS]
            of_part = set(part)
            failed = [failure for failure in self.unreadable if failure.key in of_part]
            yield sync.Batch(_table([self.rows[key] for key in part]), done=part, failed=failed)
        wanted = set(changed["key"].to_pylist())
        failed = [failure for failure in self.failures if failure.key in wanted]
        if failed:
            yield sync.Batch(_table([]), done=[], failed=failed)

    def _resource(self, listing: Listing, *, known: "_Seen") -> "DltResource":
        """Dlt's `filesystem` source over what was listed, with the content of each file."""
        import dlt
        from dlt.sources.filesystem import filesystem

        entries = {entry.uri: entry for entry in listing.entries}
        name = listing.source.name

        def document_files(files: Sequence[Mapping[str, str]]) -> Iterator[pa.Table]:
            rows = []
            for file in files:
                entry = entries[file["relative_path"]]
                key = document_id(name, entry.uri)
                found = self._content(listing, entry, known=known, key=key)
                if found is not None:
                    rows.append(_row(key, listing.source, *found))
            yield _table(rows)

        listed = filesystem(
            bucket_url=LISTED_ROOT,
            credentials=listed_filesystem(listing),
            files_per_page=BATCH_ROWS,
        )
        return listed | dlt.transformer(document_files, name=name)

    def _content(
        self, listing: Listing, entry: Entry, *, known: "_Seen", key: str
    ) -> tuple[Entry, _Content] | None:
        """What the file is, and as which entry it was read; None if it went away."""
        limit = listing.source.max_bytes
        if entry.problem:
            return entry, _Content(media_types.Finding(None, "unreadable", entry.problem))
        if entry.size > limit:
            reason = (
                f"{entry.uri} has {entry.size:,} bytes, more than max_bytes = {limit:,}: raise "
                "the limit, split the file, or leave it out"
            )
            return entry, _Content(media_types.Finding(None, "too_large", reason))
        held = known.find(key, entry)
        if held is not None:
            return entry, held
        try:
            read, content = self._read(listing, entry)
        except FileNotFoundError:
            self.log(f"{entry.uri} went away while it was looked at")
            self.moved.append(entry.uri)
            return None
        except OSError as error:
            reason = (
                f"{entry.uri} cannot be read ({error.strerror or error}): give the right to read "
                "it, or exclude it; it is tried again at the next refresh"
            )
            self.unreadable.append(sync.Failure(key, reason, entry.uri, "environment"))
            return entry, _Content(media_types.Finding(None, "unreadable", reason))
        if read == entry and listing.is_settled(entry):
            known.add(key, entry, content)
        return read, content

    def _read(self, listing: Listing, entry: Entry) -> tuple[Entry, _Content]:
        """Read a file until it has stood still meanwhile, or `MOST_READS` times."""
        for _ in range(MOST_READS):
            content = _read(listing, entry)
            now = _as_it_is(listing, entry)
            if now == entry:
                break
            self.log(f"{entry.uri} changed while it was read")
            self.moved.append(entry.uri)
            entry = now
        return entry, content

    def _held_where_unknown(self, marks: Mapping[str, str]) -> dict[str, str]:
        """Held documents that nobody may call deleted: their source or folder was not read."""
        if not self.store.exists(TARGET.name):
            return {}
        columns = ["document_id", "source", "uri", "sha256", schemas.FINGERPRINT.name]
        held = self.store.read(TARGET.name, columns=columns).to_pylist()
        kept = {row["document_id"] for row in held if row["source"] in self.kept_sources}
        for listing in self.listings:
            name = listing.source.name
            of_source = [row for row in held if row["source"] == name]
            folders = tuple(f"{folder}/" for folder in listing.unread)
            kept.update(row["document_id"] for row in of_source if row["uri"].startswith(folders))
            known = {*marks, *kept}
            gone = [row for row in of_source if row["document_id"] not in known]
            try:
                self._guard(name, held=of_source, gone=gone)
            except sync.ShrinkError as error:
                kept.update(row["document_id"] for row in gone)
                self.failures.append(_source_failure(name, str(error)))
        return {
            row["document_id"]: row[schemas.FINGERPRINT.name]
            for row in held
            if row["document_id"] in kept
        }

    def _guard(
        self, name: str, *, held: Sequence[Mapping[str, str]], gone: Sequence[Mapping[str, str]]
    ) -> None:
        """Refuse to lose most of a source; a file that only moved is not lost."""
        here = {row["sha256"] for row in self.rows.values() if row["source"] == name}
        lost = [row for row in gone if row["sha256"] is None or row["sha256"] not in here]
        sync.guard_shrink(name, held=len(held), removed=len(lost), allow_shrink=self.allow_shrink)


class _Seen:
    """What the bytes of each file were at the last look: a cache that may be lost."""

    def __init__(self, store: Store) -> None:
        self._file = store.root / "looks" / f"{TARGET.name}.parquet"
        self._rows: dict[str, dict[str, object]] = {}
        self._saved = time.monotonic()
        self._moved = False
        if self._file.is_file():
            import pyarrow.parquet as pq

            try:
                table = pq.read_table(self._file)
            except (pa.ArrowException, OSError):
                return  # damaged: all files are looked at again
            if table.schema.metadata == _SEEN.metadata:
                self._rows = {row["document_id"]: row for row in table.to_pylist()}

    def find(self, key: str, entry: Entry) -> _Content | None:
        """The content of the file if neither its size nor its time moved."""
        row = self._rows.get(key)
        if row is None or (row["size"], row["modified"], row["mark"]) != entry.look[1:]:
            return None
        finding = media_types.Finding(
            _text(row["media_type"]), str(row["status"]), _text(row["reason"])
        )
        return _Content(finding, _text(row["sha256"]))

    def add(self, key: str, entry: Entry, content: _Content) -> None:
        """Remember the content; a long pass is saved on the way."""
        self._rows[key] = {
            "document_id": key,
            "size": entry.size,
            "modified": entry.modified,
            "mark": entry.mark,
            "sha256": content.sha256,
            "media_type": content.finding.media_type,
            "status": content.finding.status,
            "reason": content.finding.reason,
        }
        self._moved = True
        if time.monotonic() - self._saved > SAVE_EVERY_SECONDS:
            self.save(keep=self._rows)

    def save(self, *, keep: Mapping[str, object]) -> None:
        """Write down the entries whose key is in `keep`."""
        import pyarrow.parquet as pq

        rows = [row for key, row in self._rows.items() if key in keep]
        if not self._moved and len(rows) == len(self._rows):
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._file.with_suffix(".fresh")
        pq.write_table(pa.Table.from_pylist(rows, schema=_SEEN), fresh)
        fresh.replace(self._file)
        self._saved = time.monotonic()


def refresh_document_files(
    store: Store,
    sources: Sequence[DocumentSource],
    *,
    allow_shrink: bool,
    log: Callable[[str], None],
    retry: bool = False,
) -> sync.Report:
    """Bring the manifest up to what `sources` hold now.

    Args:
        store: Where `document_files` lies.
        sources: All document sources of the config; documents of others leave the manifest.
        allow_shrink: Accept that a source lost more than half of its documents.
        log: Receives progress, one line at a time.
        retry: Also try again what failed on its own content.
    """
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
        failures.extend(_failures_of(listing))
    manifest = _Manifest(store, listings, failures, unreached, allow_shrink, log)
    seen = [[item.source.model_dump_json(), item.fingerprint] for item in listings]
    report = sync.refresh(
        store,
        target=TARGET,
        made_from=fingerprint(RECIPE, seen, sorted(unreached)),
        inputs=manifest.inputs,
        transform=manifest.transform,
        log=log,
        retry=retry,
    )
    if manifest.moved:
        store.reopen(TARGET.name)  # what was listed is not what was read: look again next time
    return report


def _failures_of(listing: Listing) -> Iterator[sync.Failure]:
    name = listing.source.name
    for folder, reason in listing.unread.items():
        yield sync.Failure(f"{name}/{folder}/", reason, f"{name}/{folder}/", "environment")
    for uri, reason in listing.rejected.items():
        yield sync.Failure(f"{name}/{uri}", reason, f"{name}/{uri}")


def _source_failure(name: str, reason: str) -> sync.Failure:
    return sync.Failure(f"{name}/", reason, f"source {name}", "environment")


def _row(key: str, source: DocumentSource, entry: Entry, content: _Content) -> dict[str, object]:
    return {
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


def _mark(row: Mapping[str, object]) -> str:
    """Fingerprint of a row: all but its time."""
    return fingerprint(RECIPE, {name: str(row[name]) for name in row if name != "modified"})


def _table(rows: Sequence[Mapping[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=_CONTENT)


def _read(listing: Listing, entry: Entry) -> _Content:
    """Hash and examine one file, in bounded reads."""
    with _opened(listing, entry) as file:
        digest = hashlib.sha256()
        size = 0
        while block := file.read(BLOCK):
            digest.update(block)
            size += len(block)
        finding = media_types.examine(file, name=entry.uri.rpartition("/")[2], size=size)
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


def _text(value: object) -> str | None:
    return None if value is None else str(value)
