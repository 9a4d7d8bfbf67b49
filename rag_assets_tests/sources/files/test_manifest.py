import gc
import hashlib
import os
import shutil
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.config import DocumentSource
from rag_assets.identity import document_id
from rag_assets.process import clock
from rag_assets.sources import readability
from rag_assets.sources.files import manifest
from rag_assets.sources.files.listing import Entry, look
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.store import Store
from rag_assets_testing import effort
from rag_assets_tests.object_store import BUCKET, running
from rag_assets_tests.sources.conftest import settle


@pytest.fixture
def root(tmp_path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name in ("a.md", "b.md", "c.md", "d.md"):
        put(folder, name, f"# {name}")
    return folder


def put(root: Path, uri: str, text: str | bytes, *, age: float = 60) -> Path:
    path = root / uri
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    settle(path, seconds=age)
    return path


def refresh(store, *sources: DocumentSource, allow_shrink: bool = False) -> sync.Report:
    return refresh_document_files(store, sources, allow_shrink=allow_shrink, log=lambda _: None)


def refreshed(store, root: Path, **settings) -> sync.Report:
    return refresh(store, DocumentSource(url=str(root), **settings))


def rows(store) -> dict[str, dict]:
    return {row["uri"]: row for row in store.read(schemas.DOCUMENT_FILES_TABLE).to_pylist()}


def counts(report: sync.Report) -> tuple[int, int, int, int, int]:
    return (report.added, report.changed, report.removed, report.unchanged, report.failed)


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """URIs of the files whose bytes were read."""
    seen: list[str] = []
    read = manifest._read

    def counted(listing, entry):
        seen.append(entry.uri)
        return read(listing, entry)

    monkeypatch.setattr(manifest, "_read", counted)
    return seen


def test_the_manifest_says_what_each_file_is(store, root, capfd):
    put(root, "sub/empty.md", "")
    put(root, "page.pdf", "<html></html>")
    put(root, "big.txt", "x" * 100)
    report = refreshed(store, root, max_bytes=50)
    assert "".join(capfd.readouterr()) == ""
    held = rows(store)
    assert counts(report) == (7, 0, 0, 0, 0)
    assert held["a.md"]["document_id"] == document_id("documents", "a.md")
    assert held["a.md"]["media_type"] == "text/markdown"
    assert len(held["a.md"]["sha256"]) == 64
    statuses = {uri: row["status"] for uri, row in held.items() if row["status"] != "ok"}
    assert statuses == {
        "sub/empty.md": "empty",
        "page.pdf": "mislabelled",
        "big.txt": "too_large",
    }
    assert held["big.txt"]["sha256"] is None
    assert "max_bytes" in held["big.txt"]["reason"]


def test_deciding_reads_no_file_and_writes_nothing(store, root, reads, monkeypatch):
    refreshed(store, root)
    put(root, "a.md", "# Another", age=30)
    put(root, "new.md", "# New")
    (root / "b.md").unlink()
    reads.clear()
    files = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}

    with monkeypatch.context() as patch:
        patch.setattr(sync, "refresh", lambda work, **_: sync.decide(work))
        plan = refreshed(store, root)

    assert (plan.added, plan.changed, len(plan.removed), plan.unchanged) == (1, 1, 1, 2)
    assert reads == []
    now = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}
    assert now == files
    assert counts(refreshed(store, root)) == (1, 1, 1, 2, 0)


def test_a_second_refresh_finds_nothing_to_do(store, root):
    first = refreshed(store, root)
    second = refreshed(store, root)
    assert counts(second) == (0, 0, 0, 4, 0)
    assert second.data_version == first.data_version


def test_nothing_of_a_listing_is_held_once_it_is_landed(store, root):
    put(root, "remembered.txt", "A file that nobody needs to know of any more.")
    refreshed(store, root)
    gc.collect()
    held = [item for item in gc.get_objects() if type(item) is Entry]
    assert not [entry for entry in held if entry.uri == "remembered.txt"]


def test_only_files_that_moved_are_read(store, root, reads):
    refreshed(store, root)
    reads.clear()
    put(root, "b.md", "# edited", age=30)
    put(root, "e.md", "# new")
    report = refreshed(store, root)
    assert sorted(reads) == ["b.md", "e.md"]
    assert counts(report) == (1, 1, 0, 3, 0)


def test_a_touched_file_is_the_same_document(store, root, reads):
    first = refreshed(store, root)
    reads.clear()
    settle(root / "a.md", seconds=-30)
    report = refreshed(store, root)
    assert reads == ["a.md"]
    assert counts(report) == (0, 0, 0, 4, 0)
    assert report.data_version == first.data_version
    moved = datetime.fromtimestamp((root / "a.md").stat().st_mtime, UTC)
    assert abs((rows(store)["a.md"]["modified"] - moved).total_seconds()) < 1e-3
    refreshed(store, root)
    assert reads == ["a.md"]


NAMES = st.sampled_from(["a.md", "b.md", "c.md", "deep/d.md", "é.txt"])
EDITS = st.lists(
    st.tuples(st.sampled_from(["write", "touch", "remove", "move"]), NAMES, NAMES), max_size=6
)


@given(edits=st.lists(EDITS, min_size=1, max_size=3))
@effort.examples(5, at_night=100)
def test_after_any_edits_the_manifest_is_that_of_a_build_from_nothing(tmp_path_factory, edits):
    home = tmp_path_factory.mktemp("edited")
    root, store = home / "documents", Store(home / "state")
    for place, name in enumerate(("a.md", "b.md", "c.md")):
        put(root, name, f"# {place}")
    refresh(store, DocumentSource(url=str(root)), allow_shrink=True)
    for number, part in enumerate(edits):
        for place, (edit, name, other) in enumerate(part):
            path = root / name
            if edit == "write":
                put(root, name, f"# {number}.{place}", age=100 - 10 * number - place)
            elif path.exists() and edit == "touch":
                settle(path, seconds=7)
            elif path.exists() and edit == "remove":
                path.unlink()
            elif path.exists() and name != other:
                (root / other).parent.mkdir(exist_ok=True)
                path.rename(root / other)
        report = refresh(store, DocumentSource(url=str(root)), allow_shrink=True)

    fresh = Store(home / "fresh")
    built = refresh(fresh, DocumentSource(url=str(root)), allow_shrink=True)
    assert rows(store) == rows(fresh)
    assert report.data_version == built.data_version


def test_a_file_written_just_before_the_look_is_read_again(store, root, reads):
    path = put(root, "a.md", "# one", age=0)
    refreshed(store, root)
    status = path.stat()
    path.write_text("# two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    reads.clear()
    report = refreshed(store, root)
    assert reads == ["a.md"]
    assert report.changed == 1


def test_a_rename_is_an_add_and_a_delete_with_equal_content(store, root):
    refreshed(store, root)
    before = rows(store)["a.md"]
    (root / "a.md").rename(root / "z.md")
    report = refreshed(store, root)
    assert counts(report) == (1, 0, 1, 3, 0)
    assert rows(store)["z.md"]["sha256"] == before["sha256"]


def test_renaming_everything_is_not_a_loss(store, root):
    refreshed(store, root)
    (root / "moved").mkdir()
    for path in list(root.glob("*.md")):
        path.rename(root / "moved" / path.name)
    assert counts(refreshed(store, root)) == (4, 0, 4, 0, 0)


def test_the_same_bytes_under_two_names_are_two_documents(store, root):
    shutil.copy2(root / "a.md", root / "copy.md")
    refreshed(store, root)
    held = rows(store)
    assert held["a.md"]["sha256"] == held["copy.md"]["sha256"]
    assert held["a.md"]["document_id"] != held["copy.md"]["document_id"]


def test_deleted_files_leave_the_manifest(store, root):
    refreshed(store, root)
    (root / "a.md").unlink()
    assert counts(refreshed(store, root)) == (0, 0, 1, 3, 0)
    assert "a.md" not in rows(store)


def test_losing_most_of_a_source_asks_for_confirmation(store, root):
    first = refreshed(store, root)
    for name in ("a.md", "b.md", "c.md"):
        (root / name).unlink()
    report = refreshed(store, root)
    assert counts(report) == (0, 0, 0, 4, 1)
    assert "--allow-shrink" in report.failures[0].reason
    assert report.data_version == first.data_version
    source = DocumentSource(url=str(root))
    confirmed = refresh(store, source, allow_shrink=True)
    assert counts(confirmed) == (0, 0, 3, 1, 0)


def test_an_empty_or_missing_root_is_a_failure_and_not_a_deletion(store, root, tmp_path):
    first = refreshed(store, root)
    root.rename(tmp_path / "away")
    unreachable = refreshed(store, root)
    root.mkdir()
    empty = refreshed(store, root)
    for report in (unreachable, empty):
        assert counts(report) == (0, 0, 0, 4, 1)
        assert report.failures[0].kind == "environment"
        assert report.data_version == first.data_version
    root.rmdir()
    (tmp_path / "away").rename(root)
    assert counts(refreshed(store, root)) == (0, 0, 0, 4, 0)


def test_one_source_that_fails_leaves_the_others_alone(store, root, tmp_path):
    other = tmp_path / "other"
    put(other, "x.md", "# x")
    good = DocumentSource(url=str(root))
    gone = DocumentSource(name="other", url=str(other))
    refresh(store, good, gone)
    shutil.rmtree(other)
    put(root, "e.md", "# e")
    report = refresh(store, good, gone)
    assert counts(report) == (1, 0, 0, 5, 1)
    assert "x.md" in rows(store)


def test_a_source_that_left_the_config_leaves_the_manifest(store, root, tmp_path):
    other = tmp_path / "other"
    put(other, "x.md", "# x")
    both = (DocumentSource(url=str(root)), DocumentSource(name="other", url=str(other)))
    refresh(store, *both)
    assert counts(refresh(store, both[1])) == (0, 0, 4, 1, 0)
    assert counts(refresh(store)) == (0, 0, 1, 0, 0)


def test_a_link_out_of_the_source_is_unreadable(store, root, tmp_path):
    put(tmp_path, "outside.md", "# secret")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    refreshed(store, root)
    row = rows(store)["link.md"]
    assert (row["status"], row["sha256"]) == ("unreadable", None)
    assert "out of the source" in row["reason"]


def test_a_file_that_cannot_be_read_is_reported_and_tried_again(store, root, monkeypatch):
    read = manifest._read

    def failing(listing, entry):
        if entry.uri == "a.md":
            raise PermissionError(13, "Permission denied")
        return read(listing, entry)

    monkeypatch.setattr(manifest, "_read", failing)
    report = refreshed(store, root)
    assert rows(store)["a.md"]["status"] == "unreadable"
    assert report.failed == 1
    monkeypatch.undo()
    assert counts(refreshed(store, root)) == (0, 1, 0, 3, 0)
    assert rows(store)["a.md"]["status"] == "ok"


def test_a_held_document_whose_file_cannot_be_read_stays_as_it_is(store, root, monkeypatch):
    """Rights taken from a whole folder by mistake, or a share that answers no more."""
    refreshed(store, root)
    before = rows(store)
    for name in ("a.md", "b.md", "c.md"):
        put(root, name, "# edited")

    def failing(*_: object):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(manifest, "_read", failing)
    for _ in range(2):
        report = refreshed(store, root)
        assert counts(report) == (0, 0, 0, 4, 3)
        assert "a.md cannot be read" in report.failures[0].reason
        assert rows(store) == before
    monkeypatch.undo()
    assert counts(refreshed(store, root)) == (0, 3, 0, 1, 0)


def test_a_refresh_that_had_to_wait_looks_at_the_files_when_its_turn_comes(store, root):
    """Else it would take back what the refresh that it waited for has found."""
    refreshed(store, root)
    has_to_wait = threading.Event()

    def second() -> sync.Report:
        return refresh_document_files(
            store,
            [DocumentSource(url=str(root))],
            allow_shrink=False,
            log=lambda _: has_to_wait.set(),
        )

    with ThreadPoolExecutor() as other:
        with store.lock(schemas.DOCUMENT_FILES_TABLE, log=print):
            report = other.submit(second)
            assert has_to_wait.wait(timeout=10)
            put(root, "e.md", "# e")
        assert counts(report.result()) == (1, 0, 0, 4, 0)


def forbid(monkeypatch, name: str) -> None:
    """Take the right to read a folder, as whoever runs the tests as root cannot."""
    scandir = os.scandir

    def failing(path):
        if str(path).endswith(f"/{name}"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)


def outages(store: Store) -> list[str]:
    return [each.subject for each in readability.readability(store, "documents").outages()]


def test_a_share_that_lists_its_files_but_opens_none_is_unreadable_as_a_whole(
    store, root, monkeypatch
):
    refreshed(store, root)
    put(root, "a.md", "# edited")

    @contextmanager
    def failing(*_: object):
        raise PermissionError(13, "Permission denied")
        yield

    monkeypatch.setattr(manifest, "_opened", failing)
    refreshed(store, root)
    assert outages(store) == ["documents"]
    monkeypatch.undo()
    refreshed(store, root)
    assert outages(store) == []


def test_one_file_that_cannot_be_opened_is_no_outage_of_its_source(store, root, monkeypatch):
    refreshed(store, root)
    put(root, "a.md", "# edited")
    opened = manifest._opened

    def failing(listing, entry):
        if entry.uri == "a.md":
            raise PermissionError(13, "Permission denied")
        return opened(listing, entry)

    monkeypatch.setattr(manifest, "_opened", failing)
    assert refreshed(store, root).failed == 1
    assert outages(store) == []


def test_each_source_says_when_it_was_read_and_when_it_changed(store, root, tmp_path, monkeypatch):
    put(tmp_path / "other", "z.md", "# z")
    sources = [
        DocumentSource(name="here", url=str(root)),
        DocumentSource(name="there", url=str(tmp_path / "other")),
    ]
    refresh(store, *sources)
    first = {name: readability.readability(store, name).whole for name in ("here", "there")}
    assert all(each.last_read == each.last_changed for each in first.values())
    later = max(each.last_read for each in first.values()) + timedelta(hours=1)

    monkeypatch.setattr(clock, "now", lambda: later)
    (root / "a.md").unlink()
    refresh(store, *sources)

    here, there = (readability.readability(store, name).whole for name in ("here", "there"))
    assert here.last_read == there.last_read == here.last_changed == later
    assert there.last_changed == first["there"].last_changed


@pytest.mark.parametrize("name", ["sub", "sub-e\u0301"])
def test_a_folder_that_cannot_be_read_keeps_its_documents(store, root, monkeypatch, name):
    put(root, f"{name}/x.md", "# x")
    refreshed(store, root)
    forbid(monkeypatch, name)
    source = DocumentSource(url=str(root))
    assert look(source).fingerprint == look(source).fingerprint, "the sensor reports it once"
    report = refreshed(store, root)
    assert counts(report) == (0, 0, 0, 5, 1)
    assert "sub" in report.failures[0].reason
    assert outages(store) == [unicodedata.normalize("NFC", f"documents/{name}/")]
    monkeypatch.undo()
    assert counts(refreshed(store, root)) == (0, 0, 0, 5, 0)
    assert outages(store) == []


def test_a_folder_that_cannot_be_read_keeps_none_of_that_name_in_another_source(
    store, root, tmp_path, monkeypatch
):
    other = tmp_path / "other"
    for folder in (root, other):
        put(folder, "sub/x.md", f"# {folder.name}")
    for name in ("one.md", "two.md"):
        put(other, name, "# stays")
    sources = [
        DocumentSource(url=str(root)),
        DocumentSource(name="other", url=str(other)),
    ]
    refresh(store, *sources)
    (other / "sub/x.md").unlink()
    forbid(monkeypatch, "documents/sub")

    assert counts(refresh(store, *sources)) == (0, 0, 1, 7, 1)


def test_a_folder_that_cannot_be_read_may_have_a_name_that_is_not_unicode(store, root, monkeypatch):
    name = os.fsdecode(b"sub\xff")
    put(root, f"{name}/x.md", "# x")
    refreshed(store, root)
    forbid(monkeypatch, name)
    report = refreshed(store, root)
    assert counts(report) == (0, 0, 0, 4, 1)
    assert "cannot be read" in report.failures[0].reason


def test_the_name_of_a_document_does_not_depend_on_its_spelling(store, root):
    put(root, unicodedata.normalize("NFD", "Größe.md"), "# size")
    refreshed(store, root)
    assert rows(store)["Größe.md"]["document_id"] == document_id("documents", "Größe.md")


def test_the_cache_of_hashes_may_be_lost(store, root, reads):
    first = refreshed(store, root)
    shutil.rmtree(store.root / "looks")
    put(root, "e.md", "# e")
    report = refreshed(store, root)
    assert counts(report) == (1, 0, 0, 4, 0)
    assert len(reads) == 9
    assert report.data_version != first.data_version


def test_a_source_that_was_away_is_not_read_again(store, root, tmp_path, reads):
    refreshed(store, root)
    root.rename(tmp_path / "away")
    refreshed(store, root)
    (tmp_path / "away").rename(root)
    put(root, "e.md", "# e")
    assert counts(refreshed(store, root)) == (1, 0, 0, 4, 0)
    assert len(reads) == 5


@pytest.fixture
def bucket():
    """A bucket in memory, through the same file system interface as s3, gs and az."""
    from fsspec.implementations.memory import MemoryFileSystem

    filesystem = MemoryFileSystem()
    filesystem.store.clear()
    yield filesystem
    filesystem.store.clear()


def test_a_bucket_is_listed_and_read_like_a_folder(store, bucket, root):
    for uri, content in {"a.md": b"# a", "sub/b.pdf": b"<html>", ".x/c.md": b"# c"}.items():
        bucket.pipe_file(f"/store/documents/{uri}", content)
    source = DocumentSource(url="memory://store/documents")
    assert counts(refresh(store, source)) == (2, 0, 0, 0, 0)
    held = rows(store)
    assert {uri: row["status"] for uri, row in held.items()} == {
        "a.md": "ok",
        "sub/b.pdf": "mislabelled",
    }
    refreshed(Store(store.root / "local"), put(root / "only", "a.md", "# a").parent)
    assert rows(Store(store.root / "local"))["a.md"]["sha256"] == held["a.md"]["sha256"]
    bucket.rm_file("/store/documents/sub/b.pdf")
    assert counts(refresh(store, source)) == (0, 0, 1, 1, 0)


def test_an_object_overwritten_in_the_same_second_is_read_again(store, bucket, monkeypatch):
    """A bucket's times are coarse; its content tags are not."""
    plain = type(bucket).find

    def tagged(self, path: str, **options: object) -> dict:
        long_ago = datetime(2020, 1, 1, tzinfo=UTC)
        return {
            name: said
            | {"created": long_ago}
            | ({"ETag": hashlib.md5(self.cat_file(name)).hexdigest()} if said["size"] else {})
            for name, said in plain(self, path, **options).items()
        }

    monkeypatch.setattr(type(bucket), "find", tagged)
    bucket.pipe_file("/store/a.md", b"# one")
    refresh(store, DocumentSource(url="memory://store"))
    bucket.pipe_file("/store/a.md", b"# two")

    assert refresh(store, DocumentSource(url="memory://store")).changed == 1


def test_objects_whose_names_are_one_uri_are_told(store, bucket):
    for name in ("caf\u00e9.md", "cafe\u0301.md"):
        bucket.pipe_file(f"/store/{name}", b"# a")

    report = refresh(store, DocumentSource(url="memory://store"))

    assert (report.added, report.failed) == (1, 1)
    assert "two Unicode spellings" in report.failures[0].reason


def test_objects_of_a_bucket_that_are_no_files_of_a_folder(store):
    """Markers of folders are none; what no path can name is told, and read by nobody."""
    with running() as url:
        client = boto3.client("s3")
        for key in ("[24] r/", "[24] r/sub/", "[24] r/sub/a.md", "[24] r//b.md", "[24] r/./c.md"):
            client.put_object(Bucket=BUCKET, Key=key, Body=b"" if key.endswith("/") else b"# a")
        report = refresh(store, DocumentSource(url=f"{url}/[24] r"))
    assert list(rows(store)) == ["sub/a.md"]
    assert (report.added, report.failed) == (1, 2)
    assert all("rename it" in failure.reason for failure in report.failures)


def test_a_bucket_that_cannot_be_reached_keeps_its_documents(store, bucket):
    bucket.pipe_file("/store/a.md", b"# a")
    refresh(store, DocumentSource(url="memory://store"))
    report = refresh(store, DocumentSource(url="nosuch://me:secret@store"))
    assert counts(report) == (0, 0, 0, 1, 1)
    assert "secret" not in report.failures[0].reason
