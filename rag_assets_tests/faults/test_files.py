"""Files that change under the reader, lie about their time, or are not what they should be."""

import os
import time
from pathlib import Path

import pytest

from rag_assets.sources import databases, files, listing
from rag_assets.sources.files import refresh_document_files
from rag_assets_tests.faults import comparing, project
from rag_assets_tests.faults.hashing import hashing
from rag_assets_tests.faults.pipeline import refresh
from rag_assets_tests.faults.project import Project

DAY = 86_400


@pytest.fixture
def made(tmp_path) -> Project:
    return project.make(tmp_path, documents=3, rows=4)


def texts(made: Project) -> str:
    """All that the index says."""
    store, tables = made.store, made.config.tables_of("default")
    return "\n".join(store.read(tables.joint, columns=["text"])["text"].to_pylist())


def is_like_fresh(made: Project, name: str = "fresh") -> bool:
    refresh(made.config_with(made.home / name))
    return comparing.contents(made.home / "state") == comparing.contents(made.home / name)


def look(made: Project):
    lines: list[str] = []
    sources = made.config.sources.documents
    report = refresh_document_files(made.store, sources, allow_shrink=False, log=lines.append)
    return report, lines


def test_an_edit_of_equal_size_and_time_is_seen(made):
    """As copies and archives make them, which carry times along."""
    path = made.write("same.md", "# Same\n\nIt bears 100 MPa.\n")
    with hashing():
        refresh(made.config)
        before = path.stat()
        path.write_text("# Same\n\nIt bears 200 MPa.\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        refresh(made.config)
        assert "200 MPa" in texts(made)
        assert is_like_fresh(made)


def test_a_clock_that_was_set_back_hides_no_edit(made, monkeypatch):
    back = [0]
    now = listing.now
    for module in (listing, databases):
        monkeypatch.setattr(module, "now", lambda: now() - back[0] * 1_000_000)
    with hashing():
        refresh(made.config)
        back[0] = DAY
        assert not any(report.touched or report.failed for report in refresh(made.config))

        path = made.documents / "series0/report0.md"
        path.write_text("# Edited\n\nWritten while the clock was a day behind.\n")
        os.utime(path, (time.time() - DAY, time.time() - DAY))
        made.execute("UPDATE tests SET name = 'found behind time' WHERE id = 1")
        os.utime(made.database, (time.time() - DAY, time.time() - DAY))
        refresh(made.config)
        assert "a day behind" in texts(made)
        assert "found behind time" in texts(made)

        back[0] = 0
        assert not any(report.touched or report.failed for report in refresh(made.config))
        assert is_like_fresh(made)


@pytest.mark.parametrize("times", [1, 9])
def test_a_file_replaced_while_it_is_read_is_read_again(made, monkeypatch, times):
    """The second time it never stands still: what was read counts until the next refresh."""
    path = made.documents / "series1/report1.md"
    read, replaced = files._read, []

    def read_and_replace(seen, entry):
        content = read(seen, entry)
        if Path(entry.path) == path and len(replaced) < times:
            replaced.append(entry)
            fresh = path.with_suffix(".fresh")
            fresh.write_text(f"# Replaced\n\nEdition {len(replaced)} of nine.\n")
            fresh.replace(path)
            project.age(path, seconds=3_600 - len(replaced))
        return content

    look(made)
    made.write("series1/report1.md", "# Old\n")
    monkeypatch.setattr(files, "_read", read_and_replace)
    _, lines = look(made)
    assert "series1/report1.md changed while it was read" in lines
    monkeypatch.setattr(files, "_read", read)
    with hashing():
        refresh(made.config)
        assert f"Edition {len(replaced)} of nine" in texts(made)
        assert is_like_fresh(made)


def test_a_replaced_file_that_comes_back_is_taken_back(made, monkeypatch):
    """What was listed is not what was read: the same list later proves nothing."""
    path = made.documents / "series1/report1.md"
    aside = made.home / "aside.md"
    read = files._read

    def read_another(seen, entry):
        if Path(entry.path) != path or aside.exists():
            return read(seen, entry)
        path.rename(aside)
        path.write_text("# Only for a moment\n")
        return read(seen, entry)

    look(made)
    made.write("series1/report1.md", "# The real one\n\nIt stays.\n")
    monkeypatch.setattr(files, "_read", read_another)
    look(made)
    assert aside.exists()
    monkeypatch.setattr(files, "_read", read)
    aside.replace(path)
    with hashing():
        refresh(made.config)
        assert "It stays" in texts(made)
        assert is_like_fresh(made)


def test_a_list_that_is_written_to_while_it_is_read_keeps_its_snapshot(made, monkeypatch):
    from rag_assets.sources import tabular

    path = made.home / "lists/suppliers.csv"
    read = tabular._csv_rows

    def read_and_write(*arguments, **options):
        yield from read(*arguments, **options)
        path.write_text(path.read_text() + "99,Half a li")

    with hashing():
        refresh(made.config)
        held = comparing.contents(made.home / "state")
        path.write_text(path.read_text().replace("City 0", "City 7"))
        monkeypatch.setattr(tabular, "_csv_rows", read_and_write)
        reports = {report.target: report for report in refresh(made.config)}
        failures = reports["exports/lists/suppliers"].failures
        assert ["changed while it was read" in item.reason for item in failures] == [True]
        assert comparing.contents(made.home / "state") == held

        monkeypatch.setattr(tabular, "_csv_rows", read)
        path.write_text(path.read_text().replace("99,Half a li", "99,Half a list,City 9\n"))
        refresh(made.config)
        assert "City 7" in texts(made)
        assert is_like_fresh(made)


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
    with hashing():
        refresh(made.config)
        assert "Secret" not in texts(made)
        assert made.store.count("document_files", where="status = 'ok'") == 3
        named = {label for _, label, _ in comparing.quarantine(made.home / "state")}
        assert {"leaves.md", "nowhere.md", "pipe.md"} <= named
        assert not any(report.touched for report in refresh(made.config))


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
    "right.txt": "needle עברית \u202eمرحبا\u202c\n".encode(),
    "emoji 👩‍👩‍👧.md": "# 🇸🇪\n\nneedle 👩‍👩‍👧‍👦 e\u0301\n".encode(),
    "page.html": b"<html><body><p>needle &#xD800; &#0; here</p></body></html>",
    "line\nbreak.md": b"needle in an odd place\n",
    "bad.pdf": b"%PDF-1.7\nneedle",
    "empty.md": b"",
    "blank.txt": b" \n\t\n",
}


def test_hostile_texts_are_read_or_named_and_the_rest_goes_on(made):
    for name, content in HOSTILE.items():
        made.write(name, content)
    Path(os.fsdecode(bytes(made.documents) + b"/bad\xff.md")).write_text("needle")
    with hashing():
        refresh(made.config)
        found = texts(made)
        for words in ("עברית", "👩‍👩‍👧‍👦 é", "alone", "here", "odd place"):
            assert words in found
        reasons = {
            row["label"]: row["reason"]
            for row in made.store.read("quarantine", columns=["label", "reason"]).to_pylist()
        }
        assert "NUL" in reasons["nul.md"]
        assert {"bad.pdf", "empty.md", "blank.txt", "documents/bad\ufffd.md"} <= reasons.keys()
        assert not any(report.touched for report in refresh(made.config))
        assert is_like_fresh(made)
