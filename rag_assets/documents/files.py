"""Source files: a document's bytes, checked against the manifest before anything reads them."""

import hashlib
import os
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal
from urllib.parse import urlparse
from urllib.request import url2pathname

from rag_assets.config import DocumentSource, resolve_package_path

BLOCK = 1 << 20


class FetchError(Exception):
    """A document's bytes could not be had; the message says why and what to do."""

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


def fetch(file: SourceFile, *, source: DocumentSource, to: Path) -> None:
    """Copy the bytes of `file` to the path `to`.

    A copy is parsed, so that what is parsed is what was checked, and never changes halfway.

    Raises:
        FetchError: The file cannot be read, leads out of its source, or is no longer the one that
            the manifest describes.
    """
    with _failing_clearly(), to.open("wb") as copy:
        _copy(file, source, copy)


def read(file: SourceFile, *, source: DocumentSource) -> bytes:
    """The bytes of a small `file`.

    Raises:
        FetchError: As for `fetch`.
    """
    content = BytesIO()
    with _failing_clearly():
        _copy(file, source, content)
    return content.getvalue()


def _copy(file: SourceFile, source: DocumentSource, copy: BinaryIO) -> None:
    digest = hashlib.sha256()
    with _opened(file.uri, source) as original:
        while block := original.read(BLOCK):
            digest.update(block)
            copy.write(block)
    if digest.hexdigest() != file.sha256:
        raise FetchError("changed while being read: the next refresh takes it", kind="environment")


@contextmanager
def _failing_clearly() -> Generator[None]:
    try:
        yield
    except FetchError:
        raise
    except Exception as error:  # a bucket's client may raise anything
        raise FetchError(
            f"cannot be read ({type(error).__name__}: {error}): it is tried again at the next "
            "refresh",
            kind="environment",
        ) from error


@contextmanager
def _opened(uri: str, source: DocumentSource) -> Generator[BinaryIO]:
    root = _local_root(source.url)
    if root is not None:
        with _inside(root, uri).open("rb") as file:
            yield file
        return
    import fsspec

    with fsspec.open(f"{source.url.rstrip('/')}/{uri}", "rb") as file:
        yield file


def _local_root(url: str) -> Path | None:
    if url.startswith("package:"):
        return resolve_package_path(url)
    if url.startswith("file:"):
        return Path(url2pathname(urlparse(url).path))
    return None if "://" in url else Path(url)


def _inside(root: Path, uri: str) -> Path:
    """Where the file lies, links followed; its name may be spelled in another Unicode form."""
    path = root / uri
    if not path.exists():
        path = root / unicodedata.normalize("NFD", uri)
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise FetchError("leads out of its source: copy it into the source", kind="input")
    return path
