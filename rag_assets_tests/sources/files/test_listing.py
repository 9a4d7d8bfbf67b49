import os
from pathlib import Path

import pytest

from rag_assets.config import DocumentSource
from rag_assets.sources.files.listing import Selection, look
from rag_assets.sources.source_locations import SourceError
from rag_assets_tests.sources.conftest import settle


def listed(root: Path, **settings) -> list[str]:
    return [entry.uri for entry in look(DocumentSource(url=str(root), **settings)).entries]


def write(root: Path, *uris: str) -> None:
    for uri in uris:
        path = root / uri
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(uri)


@pytest.mark.parametrize(
    ("settings", "taken"),
    [
        ({}, ["a.md", "b/c.pdf", "b/d/e.PDF"]),
        ({"include": ["*.pdf"]}, ["b/c.pdf", "b/d/e.PDF"]),
        ({"include": ["/*.md"]}, ["a.md"]),
        ({"include": ["b/*.pdf"]}, ["b/c.pdf"]),
        ({"include": ["b/**/*.pdf"]}, ["b/c.pdf", "b/d/e.PDF"]),
        ({"exclude": ["d"]}, ["a.md", "b/c.pdf"]),
        ({"exclude": ["b/**"]}, ["a.md"]),
        ({"exclude": ["[a-b].md"]}, ["b/c.pdf", "b/d/e.PDF"]),
    ],
)
def test_patterns_choose_files(settings, taken):
    selection = Selection(DocumentSource(url="x", **settings))
    assert [uri for uri in ("a.md", "b/c.pdf", "b/d/e.PDF") if selection.takes(uri)] == taken


def test_a_pattern_may_be_spelled_in_another_unicode_form():
    selection = Selection(DocumentSource(url="x", exclude=["e\u0301*"]))
    assert not selection.takes("\u00e9.md")


@pytest.mark.parametrize("pattern", ["[z-a].md", "[!].md"])
def test_what_is_no_pattern_is_named(tmp_path, pattern):
    with pytest.raises(SourceError, match="correct include or exclude"):
        look(DocumentSource(url=str(tmp_path), include=[pattern]))


def test_hidden_files_lock_files_and_the_state_are_no_documents(tmp_path):
    write(tmp_path, "a.md", ".hidden.md", ".git/b.md", "~$a.docx", "state/c.md", "sub/d.md")
    listing = look(DocumentSource(url=str(tmp_path)), without=tmp_path / "state")
    assert [entry.uri for entry in listing.entries] == ["a.md", "sub/d.md"]


def test_names_that_are_patterns_or_urls_are_listed_as_they_are(tmp_path):
    root = tmp_path / "data [v2] #1?"
    write(root, "a[1].md", "b#c%20.md", "å/ö.md")
    assert listed(root) == ["a[1].md", "b#c%20.md", "å/ö.md"]


def test_uris_are_nfc_and_two_spellings_of_one_name_are_reported(tmp_path):
    write(tmp_path, "o\u0308.md", "o\u0308/a.md", "ö/a.md")
    listing = look(DocumentSource(url=str(tmp_path)))
    assert {entry.uri for entry in listing.entries} == {"ö.md", "ö/a.md"}
    assert "ö/a.md (twice)" in listing.rejected


def test_a_name_that_is_not_unicode_is_reported(tmp_path):
    (tmp_path / "a.md").write_text("a")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).write_text("b")
    listing = look(DocumentSource(url=str(tmp_path)))
    assert [entry.uri for entry in listing.entries] == ["a.md"]
    assert "rename" in " ".join(listing.rejected.values())


def test_what_lies_elsewhere_may_have_a_name_that_is_not_unicode(tmp_path):
    write(tmp_path, "root/a.md")
    outside = os.fsencode(tmp_path) + b"/\xff"
    Path(os.fsdecode(outside)).mkdir()
    Path(tmp_path / "root" / "link").symlink_to(os.fsdecode(outside))
    (entry,) = (e for e in look(DocumentSource(url=str(tmp_path / "root"))).entries if e.problem)
    assert "out of the source" in str(entry.problem)
    assert str(entry.problem).encode()


def test_loops_of_links_end_and_inner_folders_are_listed_once(tmp_path):
    write(tmp_path, "a/x.md", "b/y.md")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "b" / "side").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert listed(tmp_path) == ["self", "a/x.md", "b/y.md"]
    assert look(DocumentSource(url=str(tmp_path))).entries[0].problem is not None


def test_links_out_of_the_source_and_pipes_are_never_opened(tmp_path):
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    write(outside, "secret.md")
    write(root, "real.md")
    (root / "file.md").symlink_to(outside / "secret.md")
    (root / "folder").symlink_to(outside)
    (root / "alias.md").symlink_to(root / "real.md")
    os.mkfifo(root / "pipe")
    problems = {entry.uri: entry.problem for entry in look(DocumentSource(url=str(root))).entries}
    assert problems["real.md"] is None
    assert problems["alias.md"] is None
    assert "out of the source" in problems["file.md"]
    assert "out of the source" in problems["folder"]
    assert "not a file" in problems["pipe"]


def test_a_missing_root_is_an_error_that_names_it(tmp_path):
    with pytest.raises(SourceError, match="nowhere"):
        look(DocumentSource(url=str(tmp_path / "nowhere")))


def test_a_look_is_only_final_once_files_are_settled(tmp_path):
    write(tmp_path, "a.md")
    source = DocumentSource(url=str(tmp_path))
    assert look(source).fingerprint != look(source).fingerprint
    settle(tmp_path / "a.md")
    assert look(source).fingerprint == look(source).fingerprint
