"""Bytes of source files: as much as the manifest says, and a reason where there are none."""

import hashlib

import pytest

from rag_assets.config import DocumentSource
from rag_assets.documents import files
from rag_assets.documents.files import FetchError, SourceFile, SourceReader


def listed(content: bytes) -> SourceFile:
    digest = hashlib.sha256(content).hexdigest()
    return SourceFile("d", "documents", "a.txt", "text/plain", len(content), digest, "ok", None)


def test_of_a_file_that_grew_no_more_is_read_than_was_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 4)
    (tmp_path / "a.txt").write_bytes(b"x" * 1_000)
    reader = SourceReader(DocumentSource(url=str(tmp_path)))
    with pytest.raises(FetchError, match="changed while being read"):
        reader.fetch(listed(b"x" * 10), to=tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_size <= 12


def test_a_source_that_cannot_be_found_fails_its_files_alone():
    reader = SourceReader(DocumentSource(url="package:no_such_package/data"))
    with pytest.raises(FetchError, match="no_such_package"):
        reader.read(listed(b""))
