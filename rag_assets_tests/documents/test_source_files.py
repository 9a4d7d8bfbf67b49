"""Bytes of source files: as much as the manifest says, and a reason where there are none."""

import hashlib
import unicodedata
from dataclasses import replace
from pathlib import Path

import boto3
import pytest

from rag_assets.config import DocumentSource
from rag_assets.documents import files
from rag_assets.documents.files import FetchError, SourceFile, SourceReader
from rag_assets.sources.files.listing import look
from rag_assets_tests.object_store import BUCKET, running


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


SPELLINGS = ("10 k\u2126.md", "\u212bngstr\u00f6m.md", "e\u0301/\u00fc.md", "\u00e9a\u0301.md")
"""Names whose NFC is neither how they are spelled nor how NFD spells them."""


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_file_is_found_however_its_name_is_spelled(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"x")
    file = replace(listed(b"x"), uri=unicodedata.normalize("NFC", name))
    assert SourceReader(DocumentSource(url=str(tmp_path))).read(file) == b"x"


def test_an_object_is_found_however_its_name_is_spelled():
    names = (*SPELLINGS, "Bolts::M8.md", "[a] #1?.md")
    with running() as bucket:
        for name in names:
            boto3.client("s3").put_object(Bucket=BUCKET, Key=f"some/{name}", Body=name.encode())
        reader = SourceReader(DocumentSource(url=f"{bucket}/some/"))
        for name in names:
            uri = unicodedata.normalize("NFC", name)
            assert reader.read(replace(listed(name.encode()), uri=uri)) == name.encode()


def test_of_two_spellings_the_one_that_is_listed_is_read(tmp_path):
    for form in ("NFC", "NFD"):
        (tmp_path / f"{unicodedata.normalize(form, 'é')}.txt").write_text(form)
    source = DocumentSource(url=str(tmp_path))
    (entry,) = look(source).entries
    file = replace(listed(Path(entry.path).read_bytes()), uri=entry.uri)
    assert SourceReader(source).read(file)
