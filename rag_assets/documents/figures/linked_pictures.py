"""Pictures that a document links to: files beside it, or `data:` inside its text.

A link finds only files that the manifest lists for the same source, so it cannot lead out of it.
"""

import posixpath
import unicodedata
from base64 import b64decode
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.documents.files import FILE_COLUMNS, FetchError, SourceFile
from rag_assets.documents.parsers.pictures import DATA, LARGEST_FILE
from rag_assets.identity import fingerprint

_TOO_LARGE = f"takes more than {LARGEST_FILE:,} bytes: make it smaller"


def pictures_in(manifest: pa.Table) -> dict[tuple[str, str], SourceFile]:
    """The pictures among the files, by source and URI."""
    rows = _pictures(manifest).select(FILE_COLUMNS).to_pylist()
    return {(row["source"], row["uri"]): SourceFile(**row) for row in rows}


def lookup_keys(manifest: pa.Table) -> list[list[str]]:
    """For each file what its links depend on: its folder, and a hash of all pictures of its source.

    Which pictures a file shows is known only when it is read. Empty for a source without pictures.
    """
    rows = _pictures(manifest)
    names_of: dict[str, list[str]] = {}
    for source, uri, sha256 in zip(
        *(rows[name].to_pylist() for name in ("source", "uri", "sha256")), strict=True
    ):
        names_of.setdefault(source, []).append(f"{sha256} {uri}")
    if not names_of:
        return []
    pictures = {source: fingerprint(sorted(names)) for source, names in names_of.items()}
    sources, uris = (manifest[name].to_pylist() for name in ("source", "uri"))
    return [
        [uri.rpartition("/")[0], pictures[source]] if source in pictures else []
        for source, uri in zip(sources, uris, strict=True)
    ]


def linked_picture(
    link: str, *, document: SourceFile, pictures: Mapping[tuple[str, str], SourceFile]
) -> SourceFile | None:
    """The one of `pictures` that `document` links to; None if the link is `data:`.

    Raises:
        FetchError: It is not there, or too large.
    """
    if link.startswith(DATA):
        return None
    place = posixpath.normpath(posixpath.join(posixpath.dirname(document.uri), link))
    file = pictures.get((document.source, unicodedata.normalize("NFC", place)))
    if file is None:
        reason = "is no picture among the files of its source: put it there"
        raise FetchError(reason, kind="input")
    if file.size > LARGEST_FILE:
        raise FetchError(_TOO_LARGE, kind="input")
    return file


def data_of(link: str) -> bytes:
    """The bytes that a `data:` link holds.

    Raises:
        FetchError: There are too many, or they are not valid base64.
    """
    head, _, payload = link.partition(",")
    if len(payload) > LARGEST_FILE:
        raise FetchError(_TOO_LARGE, kind="input")
    data = unquote_to_bytes(payload)
    if not head.lower().endswith(";base64"):
        return data
    try:
        return b64decode(data)
    except ValueError as error:
        raise FetchError(f"is no base64 ({error}): write it anew", kind="input") from error


def _pictures(manifest: pa.Table) -> pa.Table:
    is_picture = pc.starts_with(manifest["media_type"].cast(pa.string()), "image/")
    return manifest.filter(pc.and_(is_picture, manifest["sha256"].is_valid()))
