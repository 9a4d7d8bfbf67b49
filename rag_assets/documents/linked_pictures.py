"""Pictures that a document shows and does not hold: they lie beside it, or stand in it as text.

Only what the manifest lists for the same source is looked for: no link leads out of it.
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


def found_by(manifest: pa.Table) -> list[list[str]]:
    """For each file what its pictures are found by: its folder and the pictures there are.

    Which of them a file shows is known only once it is read. Empty where there is no picture.
    """
    rows = _pictures(manifest)
    held: dict[str, list[str]] = {}
    for source, uri, sha256 in zip(
        *(rows[name].to_pylist() for name in ("source", "uri", "sha256")), strict=True
    ):
        held.setdefault(source, []).append(f"{sha256} {uri}")
    if not held:
        return []
    pictures = {source: fingerprint(sorted(names)) for source, names in held.items()}
    sources, uris = (manifest[name].to_pylist() for name in ("source", "uri"))
    return [
        [uri.rpartition("/")[0], pictures[source]] if source in pictures else []
        for source, uri in zip(sources, uris, strict=True)
    ]


def linked_picture(
    link: str, *, document: SourceFile, pictures: Mapping[tuple[str, str], SourceFile]
) -> SourceFile | None:
    """The one of `pictures` that `document` links to; None if it stands in the text.

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
        FetchError: They are too many, or no base64.
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
