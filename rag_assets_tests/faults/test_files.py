"""Files that change under the reader, lie about their time, or are not what they should be."""

import os
import time
from hashlib import sha256
from pathlib import Path

import pytest

from rag_assets.change.sync import Report
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.examining import examine
from rag_assets.operations.doctor.repairing import repair
from rag_assets.operations.problems.current import state_problems
from rag_assets.retrieval.hits import Hit
from rag_assets.sources.databases import sqlite
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.files import listing, manifest
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.sources.outcomes import Export
from rag_assets.sources.tabular import delimited
from rag_assets.store import Store
from rag_assets_testing.exported import rows
from rag_assets_testing.faults import built, comparing, project, reading
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import clean_up_at_once, refresh
from rag_assets_testing.faults.project import Project

DAY = 86_400


@pytest.fixture
def made(tmp_path) -> Project:
    return project.make(tmp_path, documents=3, rows=4)


def look(made: Project) -> tuple[Report, list[str]]:
    """One pass over the documents, and what it said."""
    lines: list[str] = []
    sources = made.config.sources.documents
    report = refresh_document_files(made.store, sources, allow_shrink=False, log=lines.append)
    return report, lines


def export(made: Project, source: int, *, state: Path | None = None) -> list[Export]:
    """One pass over a table source: the database (0) or the lists (1)."""
    store = Store(state or made.home / "state")
    chosen = made.config.sources.tables[source]
    return refresh_exports(store, chosen, allow_shrink=False, log=lambda _: None)


def tells_the_truth(made: Project) -> bool:
    """Whether the manifest says of each file what its bytes are now."""
    rows = made.store.read("document_files", columns=["uri", "sha256"]).to_pylist()
    said = {row["uri"]: row["sha256"] for row in rows}
    return said == {
        path.relative_to(made.documents).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in made.documents.rglob("*")
        if path.is_file()
    }


def snapshot(export: Export) -> str:
    return repr(rows(export))


def test_an_edit_of_equal_size_and_time_is_seen(made):
    """As copies and archives make them, which carry times along."""
    path = made.write("same.md", "# Same\n\nIt bears 100 MPa.\n")
    look(made)
    before = path.stat()
    path.write_text("# Same\n\nIt bears 200 MPa.\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert look(made)[0].changed == 1
    assert tells_the_truth(made)


def test_a_clock_that_was_set_back_hides_no_edit(made, monkeypatch):
    back = [0]
    now = listing.now
    for module in (listing, sqlite):
        monkeypatch.setattr(module, "now", lambda: now() - back[0] * 1_000_000)
    look(made)
    export(made, 0)
    back[0] = DAY
    assert not look(made)[0].touched
    assert not any(item.report.touched or item.report.failed for item in export(made, 0))

    path = made.documents / "series0/report0.md"
    path.write_text("# Written while the clock was a day behind\n")
    made.execute("UPDATE tests SET name = 'found behind time' WHERE id = 1")
    for written in (path, made.database):
        os.utime(written, (time.time() - DAY, time.time() - DAY))
    assert look(made)[0].changed == 1
    assert "found behind time" in "".join(map(snapshot, export(made, 0)))

    back[0] = 0
    assert not look(made)[0].touched
    assert not any(item.report.touched for item in export(made, 0))
    assert tells_the_truth(made)


@pytest.mark.parametrize("times", [1, 9])
def test_a_file_replaced_while_it_is_read_is_read_again(made, monkeypatch, times):
    """The second time it never stands still: what is held of it stays, and it is named."""
    path = made.documents / "series1/report1.md"
    read, replaced = manifest._read, []

    def read_and_replace(seen, entry):
        content = read(seen, entry)
        if Path(entry.path) == path and len(replaced) < times:
            replaced.append(entry)
            fresh = path.with_suffix(".fresh")
            fresh.write_text(f"# Edition {len(replaced)} of nine\n")
            fresh.replace(path)
            project.age(path, seconds=3_600 - len(replaced))
        return content

    look(made)
    made.write("series1/report1.md", "# Old\n")
    monkeypatch.setattr(manifest, "_read", read_and_replace)
    report, lines = look(made)
    assert "series1/report1.md changed while it was read" in lines
    assert tells_the_truth(made) == (times == 1)
    named = [failure.label for failure in report.failures]
    assert named == (["series1/report1.md"] if times > 1 else [])
    assert made.store.ended("document_files"), "it keeps nobody from going on"

    monkeypatch.setattr(manifest, "_read", read)
    look(made)
    assert tells_the_truth(made)


def test_a_replaced_file_that_comes_back_is_taken_back(made, monkeypatch):
    """What was listed is not what was read: the same list later proves nothing."""
    path = made.documents / "series1/report1.md"
    aside = made.home / "aside.md"
    read = manifest._read

    def read_another(seen, entry):
        if Path(entry.path) == path and not aside.exists():
            path.rename(aside)
            path.write_text("# Only for a moment\n")
        return read(seen, entry)

    look(made)
    made.write("series1/report1.md", "# The real one\n")
    monkeypatch.setattr(manifest, "_read", read_another)
    look(made)
    assert aside.exists()
    monkeypatch.setattr(manifest, "_read", read)
    aside.replace(path)
    look(made)
    assert tells_the_truth(made)


def test_a_list_that_is_written_to_while_it_is_read_keeps_its_snapshot(made, monkeypatch):
    path = made.home / "lists/suppliers.csv"
    read = delimited.rows

    def read_and_write(*arguments, **options):
        yield from read(*arguments, **options)
        path.write_text(path.read_text() + "99,Half a li")

    (before,) = export(made, 1)
    held = snapshot(before)
    path.write_text(path.read_text().replace("City 0", "City 7"))
    monkeypatch.setattr(delimited, "rows", read_and_write)
    (refused,) = export(made, 1)
    assert ["changed while it was read" in item.reason for item in refused.report.failures] == [
        True
    ]
    assert snapshot(refused) == held

    monkeypatch.setattr(delimited, "rows", read)
    path.write_text(path.read_text().replace("99,Half a li", "99,Half a list,City 9\n"))
    (taken,) = export(made, 1)
    (fresh,) = export(made, 1, state=made.home / "fresh")
    assert taken.report.failed == 0
    assert snapshot(taken) == snapshot(fresh)


def test_loops_and_links_out_of_the_root_are_no_documents(made, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n")
    for name, target in {
        "loop": made.documents,
        "series0/up": made.documents,
        "circle": made.documents / "circle",
        "leaves.md": secret,
        "out": tmp_path,
        "nowhere.md": tmp_path / "nothing.md",
    }.items():
        (made.documents / name).symlink_to(target)
    os.mkfifo(made.documents / "pipe.md")
    look(made)
    rows = made.store.read("document_files").to_pylist()
    assert len([row for row in rows if row["status"] == "ok"]) == 3
    reasons = {row["uri"]: row["reason"] for row in rows if row["status"] != "ok"}
    assert "out of the source" in reasons["leaves.md"]
    assert "leads nowhere" in reasons["nowhere.md"]
    assert "a pipe" in reasons["pipe.md"]
    assert reasons.keys() == {"circle", "leaves.md", "nowhere.md", "out", "pipe.md"}
    assert not look(made)[0].touched


def test_thousands_of_tiny_files_are_one_refresh(tmp_path):
    made = project.make(tmp_path, documents=1, rows=1)
    for number in range(2_000):
        path = made.documents / f"{number % 40}/tiny{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"tiny {number}")
        project.age(path)
    report, _ = look(made)
    assert (report.added, report.failed) == (2_001, 0)
    again, _ = look(made)
    assert (again.touched, again.unchanged) == (False, 2_001)
    (made.documents / "7/tiny7.txt").write_text("changed")
    assert look(made)[0].changed == 1


HOSTILE = {
    "nul.md": b"# Nul\n\nneedle \x00 after\n",
    "surrogates.txt": b"needle \xed\xa0\x80 alone\n",
    "right.txt": "needle עברית \u202eאבג\u202c\n".encode(),
    "emoji 👩‍👩‍👧.md": "# 🇸🇪\n\nneedle 👩‍👩‍👧‍👦 e\u0301\n".encode(),
    "line\nbreak.md": b"needle in an odd place\n",
    "bad.pdf": b"%PDF-1.7\nneedle",
    "empty.md": b"",
    "blank.txt": b" \n\t\n",
}


def test_hostile_texts_are_read_or_named_and_the_rest_goes_on(tmp_path):
    made = built.small(tmp_path)
    for name, content in HOSTILE.items():
        made.write(name, content)
    Path(os.fsdecode(bytes(made.documents) + b"/bad\xff.md")).write_text("needle")
    with hashing():
        refresh(made.config)
        joint = made.config.tables_of("default").joint
        found = "\n".join(made.store.read(joint, columns=["text"])["text"].to_pylist())
        for words in ("עברית", "👩‍👩‍👧‍👦 é", "alone", "odd place"):
            assert words in found
        reasons = {
            row["label"]: row["reason"]
            for row in made.store.read("quarantine", columns=["label", "reason"]).to_pylist()
        }
        assert "NUL" in reasons["nul.md"]
        assert {"bad.pdf", "empty.md", "blank.txt", "documents/bad\ufffd.md"} <= reasons.keys()
        assert not any(report.touched for report in refresh(made.config))


def hit_of(made: Project, word: str) -> Hit | None:
    """The best hit for a word that one document has, as what serves answers now."""
    hits = reading.opened(made.config).search(word, retriever="bm25", top_k=3)
    return next((hit for hit in hits if word in hit.text), None)


def test_a_file_that_never_stands_still_keeps_its_text_and_no_other_change(tmp_path, monkeypatch):
    made = built.small(tmp_path)
    restless = made.write("grows.md", "# Log\n\nIt began with quagga.\n")
    with hashing():
        refresh(made.config)
        read = manifest._read

        def read_and_append(seen, entry):
            content = read(seen, entry)
            if Path(entry.path) == restless:
                with restless.open("a") as file:
                    file.write("\n\nOne more line.\n")
            return content

        monkeypatch.setattr(manifest, "_read", read_and_append)
        restless.write_text("# Log\n\nIt went on with zebra.\n")
        made.write("other.md", "# Other\n\nThe okapi is new.\n")
        made.execute("INSERT INTO tests VALUES (99, 'gerenuk', 1.5, 1)")
        refresh(made.config)

        assert hit_of(made, "okapi").stale_since is None
        assert hit_of(made, "gerenuk").stale_since is None
        assert hit_of(made, "quagga").stale_since is not None
        assert hit_of(made, "zebra") is None

        monkeypatch.setattr(manifest, "_read", read)
        refresh(made.config)
        assert hit_of(made, "zebra").stale_since is None
        assert hit_of(made, "quagga") is None


@pytest.mark.parametrize(
    "broken",
    [
        b"PK\x03\x04 half a file",
        *(
            pytest.param(other, marks=pytest.mark.nightly(guards=["rag_assets/documents"]))
            for other in (b"", b"%PDF-1.7\nhalf a file")
        ),
    ],
)
def test_what_cannot_be_read_any_more_is_served_as_it_was_until_it_is_read_or_gone(
    tmp_path, broken
):
    made = built.small(tmp_path)
    with hashing():
        path = made.write("plan.md", "# Plan\n\nThe quagga comes first.\n")
        refresh(made.config)
        path.write_bytes(broken)
        refresh(made.config)
        first = hit_of(made, "quagga")
        assert first.stale_since is not None
        refresh(made.config, retry=True)
        assert hit_of(made, "quagga").stale_since == first.stale_since

        [stale] = state_problems(made.store, made.config)
        assert (stale.kind, stale.subject) == ("documents_stale", "plan.md")
        practice = Practice(made.store, made.config, variants=["default"], log=lambda _: None)
        assert examine(practice).is_clean

        path.write_text("# Plan\n\nThe zebra comes first.\n")
        refresh(made.config)
        assert hit_of(made, "zebra").stale_since is None
        assert hit_of(made, "quagga") is None

        path.write_bytes(broken)
        refresh(made.config)
        path.unlink()
        refresh(made.config)
        assert hit_of(made, "zebra") is None
        assert state_problems(made.store, made.config) == []


def test_folders_in_the_place_of_records_keep_nobody_from_work(tmp_path):
    made = built.small(tmp_path)
    state, tables = made.store.root, comparing.tables_of(made.config)
    before = comparing.contents(state, tables=tables)
    folders = ("checks", "completed", "complete_sets", "indexes", "looks", "sources", "quarantined")
    records = [each for name in folders for each in (state / name).rglob("*") if each.is_file()]
    records += [state / "tables.json", state / "throughput.json"]
    records += [state / "checks" / "chunks" / "of_no_table.json"]
    for path in records:
        path.unlink(missing_ok=True)
        path.mkdir(parents=True)

    with hashing():
        state_problems(made.store, made.config)
        clean_up_at_once(made.config)
        practice = Practice(made.store, made.config, variants=["default"], log=lambda _: None)
        assert repair(practice).left.is_clean
        refresh(made.config)
    assert comparing.contents(state, tables=tables) == before
    assert state_problems(made.store, made.config) == []


def test_a_copy_of_what_a_stale_document_was_is_a_document_without_fault(tmp_path):
    made = built.small(tmp_path)
    with hashing():
        path = made.write("plan.md", "# Plan\n\nThe quagga comes first.\n")
        text = path.read_bytes()
        refresh(made.config)
        path.write_bytes(b"PK\x03\x04 half a file")
        made.write("plan copy.md", text)
        refresh(made.config)

    hits = reading.opened(made.config).search("quagga", retriever="bm25")
    found = {hit.uri: hit.stale_since is None for hit in hits if "quagga" in hit.text}
    assert found == {"plan.md": False, "plan copy.md": True}
