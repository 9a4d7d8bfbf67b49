"""Which files a document source holds: a look at names, sizes and times; no content is read.

A look at a local folder follows no link out of the folder and no loop; a folder that cannot be
read is reported and never taken for empty. Hidden files, lock files of Office and the project's
own state are no documents.
"""

import os
import re
import stat
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rag_assets.config import DocumentSource, redacted
from rag_assets.config.globs import file_pattern
from rag_assets.identity import fingerprint
from rag_assets.media.encodings import is_unicode
from rag_assets.sources.landing import first_line
from rag_assets.sources.source_locations import SourceError, local_path

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

SETTLED_AFTER = 2_000_000
"""Microseconds: a file written later than this before a look may change again unnoticed."""

LOCK_FILE = "~$"

CONTENT_TAGS = ("ETag", "etag", "md5Hash", "content_md5")
"""What S3, Azure and Google say of an object that moves with its content: their times are whole
seconds of another clock."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a source."""

    uri: str
    """Path below the root, NFC, with forward slashes."""
    path: str
    """The path by which it is opened: a local one, or the object's path in its bucket."""
    size: int
    modified: int
    """Microseconds since 1970, UTC."""
    mark: int = 0
    """Moves with every write even where the time is set back, as copies do (ns of the change of its
    entry in the file system) or too coarse (the tag that a bucket gives its content, as a number; 0
    where it gives none)."""
    problem: str | None = None
    """Why it must not be opened: a broken link, a link out of the source, a pipe."""

    @property
    def look(self) -> tuple[str, int, int, int]:
        """What tells one state of the file from another without reading it."""
        return self.uri, self.size, self.modified, self.mark


@dataclass(frozen=True, slots=True)
class Listing:
    """What one look at a source found."""

    source: DocumentSource
    looked_at: int
    """Microseconds since 1970, before the look began."""
    entries: Sequence[Entry]
    unread: Mapping[str, str] = field(default_factory=dict)
    """Folders (URI) that could not be read, with the reason."""
    rejected: Mapping[str, str] = field(default_factory=dict)
    """Names that cannot become a URI, with the reason."""
    filesystem: "AbstractFileSystem | None" = field(default=None, repr=False)
    """How to open the entries; None for files on this machine."""

    def is_settled(self, entry: Entry) -> bool:
        """Whether a change after this look would show in the size or the time of `entry`."""
        return entry.modified < self.looked_at - SETTLED_AFTER

    @property
    def is_being_written(self) -> bool:
        """Whether a file was written to a moment ago; one from the future was not."""
        return any(
            not self.is_settled(item) and item.modified <= self.looked_at for item in self.entries
        )

    @property
    def seen(self) -> str:
        """Hash over names, sizes and times."""
        seen = [[*item.look, item.problem] for item in self.entries]
        return fingerprint(seen, dict(self.unread), dict(self.rejected))

    @property
    def fingerprint(self) -> str:
        """The hash `seen`, but unlike any other while a file is not settled."""
        settled = all(map(self.is_settled, self.entries))
        return fingerprint(self.seen, None if settled else self.looked_at)


def look(source: DocumentSource, *, without: Path | None = None) -> Listing:
    """List `source`, leaving out the folder `without`.

    Raises:
        SourceError: The source cannot be reached.
    """
    root = local_path(source.url)
    return _look_at_bucket(source) if root is None else _look_at_folder(source, root, without)


class Selection:
    """Which files a source takes: included, not excluded, not hidden.

    An excluded folder is excluded with all that it holds; `config.globs` says what patterns mean.
    """

    def __init__(self, source: DocumentSource) -> None:
        self._included = [_pattern(glob) for glob in source.include]
        self._excluded = [_pattern(glob) for glob in source.exclude]
        self._folders: dict[str, bool] = {"": True}
        """Whether a folder and all above it are entered."""

    def takes(self, uri: str) -> bool:
        """Whether the file at `uri` is a document of the source."""
        folder, _, name = uri.rpartition("/")
        if name.startswith(LOCK_FILE) or not self._is_entered(folder):
            return False
        return self.enters(uri) and any(pattern.fullmatch(uri) for pattern in self._included)

    def enters(self, folder: str) -> bool:
        """Whether the folder at a URI may hold documents, its parents apart."""
        if folder.rpartition("/")[2].startswith("."):
            return False
        return not any(pattern.fullmatch(folder) for pattern in self._excluded)

    def _is_entered(self, folder: str) -> bool:
        known = self._folders.get(folder)
        if known is None:
            above = folder.rpartition("/")[0]
            known = self._folders[folder] = self._is_entered(above) and self.enters(folder)
        return known


def _pattern(glob: str) -> re.Pattern[str]:
    try:
        return file_pattern(glob)
    except ValueError as error:
        raise SourceError(f"{error}: correct include or exclude of the source") from error


def _look_at_folder(source: DocumentSource, root: Path, without: Path | None) -> Listing:
    looked_at = now()
    real = Path(os.path.realpath(root))
    if not real.is_dir():
        raise SourceError(
            f"{source.name}: there is no folder {root}: mount it, or correct sources.documents.url"
        )
    unread: dict[str, str] = {}
    found: dict[str, Entry] = {}
    rejected: dict[str, str] = {}
    selection = Selection(source)
    left_out = str(without and os.path.realpath(without))
    for name, member in _walk(real, selection, without=left_out, bad=unread):
        uri = unicodedata.normalize("NFC", name)
        if not selection.takes(uri):
            continue
        if not is_unicode(uri):
            shown = _shown(uri)
            rejected[shown] = f"the name of {shown} is not valid UTF-8: rename it"
            continue
        if uri in found:
            rejected[f"{uri} (twice)"] = _named_twice(uri)
        if uri not in found or name == uri:
            found[uri] = _entry(uri, member, root=real)
    if "" in unread:
        raise SourceError(f"{source.name}: {unread['']}")
    return Listing(source, looked_at, list(found.values()), unread, rejected)


def _walk(
    root: Path, selection: Selection, *, without: str, bad: dict[str, str]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield all files and outward links with their path below `root`, in order of their names."""
    waiting = [("", str(root))]
    while waiting:
        prefix, folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                members = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            bad[_shown(unicodedata.normalize("NFC", prefix.rstrip("/")))] = (
                f"the folder {_shown(folder)} cannot be read ({error.strerror}): give the right to "
                "read it, or exclude it"
            )
            continue
        below = []
        for member in members:
            if member.is_dir(follow_symlinks=False):
                if member.path != without and selection.enters(f"{prefix}{member.name}"):
                    below.append((f"{prefix}{member.name}/", member.path))
            elif not (member.is_symlink() and _is_inner_folder(member.path, root=root)):
                yield f"{prefix}{member.name}", member
        waiting.extend(reversed(below))


def _is_inner_folder(path: str, *, root: Path) -> bool:
    """Whether a link leads to a folder of the same source, which is listed under its own name."""
    target = Path(os.path.realpath(path))
    return target.is_dir() and target.is_relative_to(root)


def _entry(uri: str, member: "os.DirEntry[str]", *, root: Path) -> Entry:
    try:
        status = member.stat()
    except OSError as error:
        problem = f"{uri} is a link that leads nowhere ({error.strerror}): restore what it names"
        return Entry(uri, member.path, 0, 0, problem=problem)
    problem = None
    if member.is_symlink() and not (target := _target(member)).is_relative_to(root):
        problem = (
            f"{uri} is a link out of the source, to {_shown(str(target))}: copy the file into the "
            "source, or make its folder a source of its own"
        )
    elif not stat.S_ISREG(status.st_mode):
        problem = f"{uri} is a pipe, a socket or a device, not a file: remove it or exclude it"
    return Entry(uri, member.path, *look_of(status), problem=problem)


def _target(link: "os.DirEntry[str]") -> Path:
    return Path(os.path.realpath(link.path))


def look_of(status: os.stat_result) -> tuple[int, int, int]:
    """Size, time and mark of a file: another look, another content."""
    return status.st_size, status.st_mtime_ns // 1_000, status.st_ctime_ns


def _look_at_bucket(source: DocumentSource) -> Listing:
    from dlt.common.storages.fsspec_filesystem import glob_files
    from dlt.sources.filesystem import filesystem
    from dlt.sources.filesystem.helpers import fsspec_from_resource

    looked_at = now()
    selection = Selection(source)
    found: dict[str, Entry] = {}
    rejected: dict[str, str] = {}
    try:
        opened = fsspec_from_resource(filesystem(bucket_url=source.url, file_glob="**"))
        listed = _Remembered(opened)
        for item in glob_files(cast("AbstractFileSystem", listed), source.url):
            uri = unicodedata.normalize("NFC", item["relative_path"])
            if not selection.takes(uri):
                continue
            path = item["file_url"]
            if not listed.is_named(path, f"{source.url.rstrip('/')}/{item['relative_path']}"):
                rejected[path] = f"the name of {path} has an empty part, . or ..: rename it"
                continue
            if uri in found:
                rejected[f"{uri} (twice)"] = _named_twice(uri)
                if item["relative_path"] != uri:
                    continue
            changed = int(item["modification_date"].timestamp() * 1_000_000)
            found[uri] = Entry(uri, path, item["size_in_bytes"], changed, listed.mark(path))
    except Exception as error:  # each file system raises errors of its own; the cause is kept
        raise SourceError(
            f"{source.name}: {redacted(source.url)} cannot be listed "
            f"({first_line(error)}): check the URL, the credentials in the environment "
            "and that the file system's package is installed (s3fs, gcsfs or adlfs)"
        ) from error
    finally:
        _forget_configuration()
    entries = [found[uri] for uri in sorted(found)]
    return Listing(source, looked_at, entries, rejected=rejected, filesystem=opened)


def _forget_configuration() -> None:
    """Have dlt forget how its file system was last configured.

    It keeps an error with it whose traceback holds all that was called on the way: what a million
    files were listed as.
    """
    from dlt.common.configuration.inject import set_fun_last_config
    from dlt.common.configuration.specs import BaseConfiguration
    from dlt.sources.filesystem import filesystem

    set_fun_last_config(filesystem, BaseConfiguration())


class _Remembered:
    """A file system that remembers what it said of each file: dlt leaves the tags out.

    A folder is listed as it is named, where dlt takes brackets in it for a pattern.
    """

    def __init__(self, filesystem: "AbstractFileSystem") -> None:
        self._filesystem = filesystem
        self._said: Mapping[str, Mapping[str, object]] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._filesystem, name)

    def glob(self, path: str, *, detail: bool) -> Mapping[str, Mapping[str, object]]:
        """All files below the folder of `path`, with what is said of each.

        An object whose name ends in a slash stands for a folder: consoles make them.
        """
        found = self._filesystem.find(path.removesuffix("**"), detail=detail)
        self._said = {name: said for name, said in found.items() if not name.endswith("/")}
        return self._said

    def is_named(self, url: str, name: str) -> bool:
        """Whether the object at `url` has the `name`, another URL."""
        strip = self._filesystem._strip_protocol
        return str(strip(url)) == str(strip(name))

    def mark(self, url: str) -> int:
        """The tag of a file's content as a number that fits 64 bits, 0 if it has none."""
        said = self._said.get(str(self._filesystem._strip_protocol(url)), {})
        tag = next((str(said[name]) for name in CONTENT_TAGS if said.get(name)), None)
        return int(fingerprint(tag)[:15], 16) if tag else 0


def _named_twice(uri: str) -> str:
    return f"two files are named {uri}, in two Unicode spellings: rename one of them"


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1_000


def _shown(name: str) -> str:
    """The name of a file as text, what is not UTF-8 in it replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
