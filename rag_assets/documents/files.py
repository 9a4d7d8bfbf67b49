"""Source files: a document's bytes, checked against the manifest before anything reads them."""

import hashlib
import os
import unicodedata
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal
from urllib.parse import urlparse
from urllib.request import url2pathname

from rag_assets.config import DocumentSource, resolve_package_path
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.store import Store

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

BLOCK = 1 << 20


class FetchError(Exception):
    """A document's bytes could not be fetched; the message says why and what to do."""

    def __init__(self, reason: str, *, kind: Literal["input", "environment"]) -> None:
        super().__init__(reason)
        self.kind: Literal["input", "environment"] = kind


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A row of the manifest, as far as it is needed to parse the file."""

    document_id: str
    source: str
    uri: str
    media_type: str | None
    size: int
    sha256: str | None
    status: str
    reason: str | None


FILE_COLUMNS = [item.name for item in fields(SourceFile)]
"""Columns of the manifest that are read."""


class SourceReader:
    """Reads the files of one source during one pass."""

    def __init__(self, source: DocumentSource) -> None:
        """Read from the place that `source` names."""
        self._url = source.url
        self._folders: set[Path] = set()
        """Folders that lie inside the root, links followed."""
        self._members: dict[str, dict[str, list[str]]] = {}
        """What lies in the folders that were looked through, by name in NFC."""

    @cached_property
    def _root(self) -> Path | None:
        return _local_root(self._url)

    def fetch(self, file: SourceFile, *, to: Path) -> None:
        """Copy the bytes of `file` to the path `to`.

        Parsers read this copy, so that they see the bytes that were checked, and a change of the
        original does not reach them halfway.

        Raises:
            FetchError: The file cannot be read, leads out of its source, or is no longer the one
                that the manifest describes.
        """
        with _failing_clearly(), to.open("wb") as copy:
            self._copy(file, copy)

    def read(self, file: SourceFile) -> bytes:
        """The bytes of a small `file`.

        Raises:
            FetchError: As for `fetch`.
        """
        with _failing_clearly(), self._opened(file.uri) as original:
            content = original.read(file.size + 1)
            _check(hashlib.sha256(content).hexdigest(), file)
        return content

    def _copy(self, file: SourceFile, copy: BinaryIO) -> None:
        digest, size = hashlib.sha256(), 0
        with self._opened(file.uri) as original:
            while size <= file.size and (block := original.read(BLOCK)):
                digest.update(block)
                copy.write(block)
                size += len(block)
        _check(digest.hexdigest(), file)

    @cached_property
    def _bucket(self) -> "tuple[AbstractFileSystem, str]":
        """The file system of a bucket, and the path of the root in it."""
        from fsspec.core import url_to_fs

        files, root = url_to_fs(self._url, use_listings_cache=False)
        return files, root.rstrip("/")

    def _opened(self, uri: str) -> AbstractContextManager[BinaryIO]:
        if self._root is not None:
            return self._inside(self._root, uri).open("rb")
        files, root = self._bucket
        path = f"{root}/{uri}"
        if not uri.isascii() and not files.exists(path):
            path = next(self._spelled(root, uri.split("/")), path)
        return files.open(path, "rb")

    def _inside(self, root: Path, uri: str) -> Path:
        """The path of the file in `root`; its name may be spelled in another Unicode form."""
        path = root / uri
        if not uri.isascii() and not path.exists():
            path = Path(next(self._spelled(str(root), uri.split("/")), path))
        is_link, folder = path.is_symlink(), path.parent
        if is_link or folder not in self._folders:
            if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
                raise FetchError("leads out of its source: copy it into the source", kind="input")
            if not is_link:
                self._folders.add(folder)
        return path

    def _spelled(self, folder: str, names: Sequence[str]) -> Iterator[str]:
        """The paths below `folder` whose parts equal `names` after Unicode normalisation."""
        first, *below = names
        if folder not in self._members:
            members = self._members[folder] = {}
            for member in sorted(self._listed(folder)):
                members.setdefault(unicodedata.normalize("NFC", member), []).append(member)
        for member in self._members[folder].get(first, ()):
            path = f"{folder}/{member}"
            if not below:
                yield path
            else:
                with suppress(OSError):  # a file may have the name of the folder
                    yield from self._spelled(path, below)

    def _listed(self, folder: str) -> list[str]:
        """The names of what lies in `folder`."""
        if self._root is not None:
            return [path.name for path in Path(folder).iterdir()]
        files, _ = self._bucket
        return [path.rstrip("/").rpartition("/")[2] for path in files.ls(folder, detail=False)]


def names_of(store: Store) -> dict[str, str]:
    """What a person calls each document, its URI, by its id; nothing before there is a manifest."""
    if not store.exists(DOCUMENT_FILES_TABLE):
        return {}
    rows = store.read(DOCUMENT_FILES_TABLE, columns=["document_id", "uri"])
    return dict(zip(rows["document_id"].to_pylist(), rows["uri"].to_pylist(), strict=True))


def _check(sha256: str, file: SourceFile) -> None:
    if sha256 != file.sha256:
        reason = "changed while being read"
        raise FetchError(reason, kind="environment")


@contextmanager
def _failing_clearly() -> Generator[None]:
    try:
        yield
    except FetchError:
        raise
    except Exception as error:  # a bucket's client may raise anything
        why = getattr(error, "strerror", None) or error  # without the path: the file is named
        reason = f"cannot be read ({type(error).__name__}: {why})"
        raise FetchError(reason, kind="environment") from error


def _local_root(url: str) -> Path | None:
    if url.startswith("package:"):
        return resolve_package_path(url)
    if url.startswith("file:"):
        return Path(url2pathname(urlparse(url).path))
    return None if "://" in url else Path(url)
