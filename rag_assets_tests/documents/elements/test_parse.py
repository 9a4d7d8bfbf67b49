"""Documents to elements: what is parsed, what is copied, what fails, and what that costs."""

import shutil
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import date
from email.message import EmailMessage
from io import BytesIO
from urllib.parse import quote

import pytest
from PIL import Image as Picture

from rag_assets.change import sync
from rag_assets.documents.elements import parse, parsing
from rag_assets.documents.elements import reuse as element_reuse
from rag_assets.documents.files import SourceReader
from rag_assets.documents.parsers import by_media_type
from rag_assets.documents.parsers.description import Parser, ParserUnavailableError
from rag_assets.documents.problems import joined, problem_of
from rag_assets.process import clock
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.store import Store, images
from rag_assets.workers import Failed, Pool, pool
from rag_assets.workers.executors import Threads
from rag_assets_testing.documents.making import (
    SENTENCE,
    Project,
    partly_readable,
    pdf,
    scan,
    without_pages,
)
from rag_assets_tests.documents import stand_in_parser


@pytest.fixture
def stand_in(monkeypatch):
    """Let the stand-in read the PDFs, and let time limits count from the start."""
    monkeypatch.setitem(by_media_type.PDF_ENGINES, "pdfium", stand_in_parser.PARSER)
    monkeypatch.setattr("rag_assets.workers.pool.WARM_UP_SECONDS", 3.0)


@pytest.fixture
def submitted(monkeypatch):
    """Files that went to a parser, in order."""
    seen = []

    def spying(submit):
        def spy(self, task):
            if "inspect" not in task.function:
                seen.append(task.key)
            submit(self, task)

        return spy

    def spy_here(self, content, media_type):
        seen.append(media_type)
        return elements(self, content, media_type)

    elements = Parser.elements
    for executor in (Pool, Threads):
        monkeypatch.setattr(executor, "submit", spying(executor.submit))
    monkeypatch.setattr(Parser, "elements", spy_here)
    return seen


def reasons(report):
    return {failure.label: failure for failure in report.failures}


def texts(project, uri):
    return [element["text"] for element in project.elements(uri)]


def test_documents_become_elements_in_order(project):
    project.write("a.md", "# Title\n\nOne.\n\nTwo.\n")
    project.write("below/b.txt", "Plain.\n")
    pdf(project.folder / "c.pdf", [f"<p>{SENTENCE}</p>", "<p>Second page.</p>"])
    project.list_files()
    report = project.parse()
    assert (report.added, report.failed, report.contents, report.pages) == (3, 0, 3, 2)
    assert texts(project, "a.md") == ["Title", "One.", "Two."]
    assert texts(project, "below/b.txt") == ["Plain."]
    assert [(row["page"], row["text"]) for row in project.elements("c.pdf")] == [
        (1, SENTENCE.strip()),
        (2, "Second page."),
    ]
    assert [row["index"] for row in project.elements("a.md")] == [0, 1, 2]
    assert project.elements("a.md")[2]["section_path"] == ["Title"]
    assert not any((project.store.root / "scratch" / project.elements_table).iterdir())


def test_small_texts_start_no_process_and_large_ones_do(project, monkeypatch):
    monkeypatch.setattr(pool.subprocess, "Popen", lambda *_, **__: pytest.fail("a process"))
    project.write("small.md", "# A heading\n\nAnd a text.")
    project.list_files()
    assert project.parse().added == 1
    project.write("large.txt", "Much text. " * 100_000)
    project.list_files()
    with pytest.raises(pytest.fail.Exception, match="a process"):
        project.parse()


def test_a_second_pass_reads_nothing_and_has_the_same_version(project, submitted, monkeypatch):
    project.write("a.md", "One.")
    project.list_files()
    first = project.parse()
    monkeypatch.setattr(parse._ParsingPass, "inputs", lambda _: pytest.fail("read its inputs"))
    second = project.parse()
    assert (second.unchanged, second.contents) == (1, 0)
    assert second.data_version == first.data_version
    assert len(submitted) == 1


def test_only_what_changed_is_parsed_and_what_is_gone_is_dropped(project, submitted):
    for name in "abc":
        project.write(f"{name}.md", f"Text {name}.")
    project.list_files()
    project.parse()
    submitted.clear()
    project.write("b.md", "Other text.")
    (project.folder / "c.md").unlink()
    project.list_files()
    report = project.parse()
    assert (report.changed, report.removed, report.unchanged) == (1, 1, 1)
    assert len(submitted) == 1
    assert texts(project, "b.md") == ["Other text."]
    assert texts(project, "c.md") == []


def test_a_rename_takes_over_the_elements(project, submitted):
    pdf(project.folder / "old.pdf", [f"<p>{SENTENCE}</p>"])
    project.list_files()
    project.parse()
    before = project.elements("old.pdf")
    submitted.clear()
    (project.folder / "old.pdf").rename(project.folder / "new.pdf")
    project.list_files()
    report = project.parse()
    after = project.elements("new.pdf")
    assert submitted == []
    assert (report.added, report.removed, report.contents) == (1, 1, 0)
    assert [row["text"] for row in after] == [row["text"] for row in before]
    assert {row["element_id"] for row in after}.isdisjoint(row["element_id"] for row in before)
    assert texts(project, "old.pdf") == []


def test_files_that_swap_their_contents_swap_their_elements(project, submitted, monkeypatch):
    monkeypatch.setattr(element_reuse, "DOCUMENTS_A_BATCH", 1)
    monkeypatch.setattr(parse, "DOCUMENTS_A_BATCH", 1)
    project.write("a.md", "Text of a.")
    project.write("b.md", "Text of b.")
    project.list_files()
    project.parse()
    submitted.clear()
    project.write("a.md", "Text of b.")
    project.write("b.md", "Text of a.")
    project.list_files()
    report = project.parse()
    assert (report.changed, submitted) == (2, [])
    assert texts(project, "a.md") == ["Text of b."]
    assert texts(project, "b.md") == ["Text of a."]


def test_equal_bytes_are_parsed_once(project, submitted):
    for name in ("a.md", "b.md", "c/d.md"):
        project.write(name, "The same.")
    project.list_files()
    report = project.parse()
    assert (report.added, report.contents, len(submitted)) == (3, 1, 1)
    assert texts(project, "c/d.md") == ["The same."]


def test_the_state_equals_a_build_from_scratch(project, tmp_path):
    project.write("a.md", "A.")
    project.write("b.md", "B.")
    project.list_files()
    project.parse()
    (project.folder / "a.md").rename(project.folder / "c.md")
    project.write("b.md", "B, edited.")
    project.write("d.md", "B.")
    project.list_files()
    edited = project.parse()
    fresh = Project(tmp_path)
    fresh.store = Store(tmp_path / "other")
    fresh.list_files()
    assert fresh.parse().data_version == edited.data_version
    assert fresh.elements() == project.elements()


def test_files_that_the_manifest_refuses_are_quarantined_with_its_reason(project, submitted):
    project.write("a.md", "Text.")
    project.write("b.exe", b"MZ")
    project.write("c.xyz", b"?")
    project.list_files(**{"b.exe": ("unsupported", "b.exe is a program: leave it out")})
    report = project.parse()
    found = reasons(report)
    assert found["b.exe"].reason == "b.exe is a program: leave it out"
    assert "no parser reads application/octet-stream" in found["c.xyz"].reason
    assert {failure.kind for failure in found.values()} == {"input"}
    assert (report.added, len(submitted)) == (1, 1)
    assert project.parse().failed == 2


def test_bad_files_are_named_and_stop_nothing(project):
    import pymupdf

    good = pdf(project.folder / "good.pdf", [f"<p>{SENTENCE}</p>"]).read_bytes()
    project.write("garbage.pdf", b"\x93" * 50_000)
    project.write("truncated.pdf", good[: len(good) // 2])
    project.write("page.pdf", "<!DOCTYPE html><html><body>no</body></html>")
    project.write("slides.pdf", b"PK\x03\x04 zip")
    project.write("damaged.docx", b"PK\x03\x04 and nothing more")
    project.write("junk_before.pdf", b"\n junk \n" + good)
    without_pages(project.folder / "none.pdf")
    pdf(
        project.folder / "locked.pdf",
        ["<p>secret</p>"],
        encryption=pymupdf.PDF_ENCRYPT_AES_256,
        user_pw="secret",
        owner_pw="o",
    )
    pdf(project.folder / "giant.pdf", ["<p>wide</p>"], width=14_000, height=14_000)
    scan(project.folder / "scan.pdf")
    project.write("blank.md", "<!-- nothing -->\n")
    project.list_files()
    report = project.parse()
    found = reasons(report)
    expected = {
        "garbage.pdf": "not a readable PDF",
        "truncated.pdf": "not a readable PDF",
        "page.pdf": "not a readable PDF",
        "slides.pdf": "not a readable PDF",
        "none.pdf": "not a readable PDF",
        "damaged.docx": "damaged Office file",
        "locked.pdf": "needs a password",
        "giant.pdf": "page 1: left out: larger than",
        "scan.pdf": "no text layer",
        "blank.md": "holds no text",
    }
    assert set(found) == set(expected)
    for uri, reason in expected.items():
        assert reason in found[uri].reason
        assert found[uri].reason.startswith(f"{uri}: ")
        assert found[uri].kind == "input"
    assert texts(project, "good.pdf") == texts(project, "junk_before.pdf") == [SENTENCE.strip()]
    assert project.parse().contents == 0


def test_bad_files_through_the_layout_engine(project):
    pytest.importorskip("pymupdf")
    project.settings["engine"] = "pymupdf"
    good = pdf(project.folder / "good.pdf", [f"<h1>1 Scope</h1><p>{SENTENCE}</p>"]).read_bytes()
    project.write("truncated.pdf", good[: len(good) // 2])
    project.write("page.pdf", "<!DOCTYPE html><html><body>no</body></html>")
    without_pages(project.folder / "none.pdf")
    scan(project.folder / "scan.pdf")
    project.list_files()
    report = project.parse()
    assert set(reasons(report)) == {"truncated.pdf", "page.pdf", "none.pdf", "scan.pdf"}
    assert project.elements("good.pdf")[0]["type"] == "heading"


def test_a_hanging_page_range_costs_that_range_and_is_tried_again_after_a_night(
    project, stand_in, submitted, monkeypatch
):
    monkeypatch.setattr(clock, "today", lambda: date(2026, 11, 24))
    project.settings |= {"pages_per_task": 1, "seconds_per_task": 1, "seconds_per_page": 1}
    pdf(project.folder / "a.pdf", ["<p>first</p>", "<p>hang</p>", "<p>third</p>"])
    pdf(project.folder / "b.pdf", ["<p>fine</p>"])
    project.list_files()
    report = project.parse()
    assert texts(project, "a.pdf") == ["first", "third"]
    assert texts(project, "b.pdf") == ["fine"]
    (failure,) = report.failures
    assert failure.kind == "limit"
    assert failure.reason.startswith("a.pdf: page 2: the parser stand_in failed: it took longer")
    assert failure.reason.endswith("; tried again on 2026-11-25, or at once with --retry-failed")
    assert (report.added, report.failed) == (2, 1)
    submitted.clear()
    waits = project.parse()
    assert (submitted, waits.unchanged, waits.failed) == ([], 1, 1)
    monkeypatch.setattr(clock, "today", lambda: date(2026, 11, 25))
    again = project.parse()
    assert len(submitted) == 3
    assert (again.unchanged, again.failed) == (1, 1)
    assert again.failures[0].tried_again == date(2026, 11, 27)
    submitted.clear()
    project.parse(retry=True)
    assert len(submitted) == 3


def test_a_crash_costs_one_page_and_never_the_run(project, stand_in):
    project.settings |= {"pages_per_task": 2}
    pdf(project.folder / "a.pdf", ["<p>one</p>", "<p>crash</p>", "<p>three</p>"])
    pdf(project.folder / "b.pdf", ["<p>crash</p>"])
    pdf(project.folder / "c.pdf", ["<p>fine</p>"])
    project.list_files()
    report = project.parse()
    found = reasons(report)
    assert texts(project, "a.pdf") == ["one", "three"]
    assert texts(project, "c.pdf") == ["fine"]
    assert "page 2: the parser stand_in failed: it crashed, " in found["a.pdf"].reason
    assert "SIGKILL" in found["b.pdf"].reason
    assert {failure.kind for failure in found.values()} == {"environment"}


def test_a_long_file_says_how_many_of_its_pages_are_done(project, stand_in, monkeypatch):
    monkeypatch.setattr(parsing, "SECONDS_A_REPORT", 0.0)
    project.settings |= {"pages_per_task": 1}
    pdf(project.folder / "long.pdf", [f"<p>page {number}</p>" for number in range(1, 4)])
    project.list_files()
    project.parse()
    told = [line for line in project.lines if line.startswith("long.pdf")]
    assert told == [f"long.pdf: {done} of 3 pages parsed" for done in (1, 2, 3)]


def test_what_a_parser_says_of_a_file_waits_until_the_file_changes(project, stand_in, submitted):
    pdf(project.folder / "a.pdf", ["<p>refuse</p>"])
    pdf(project.folder / "b.pdf", ["<p>stumble</p>"])
    project.list_files()
    found = reasons(project.parse())
    assert found["a.pdf"].reason == "a.pdf: page 1: is refused"
    assert "cannot read it (KeyError: 'nonsense')" in found["b.pdf"].reason
    assert {failure.kind for failure in found.values()} == {"input"}
    submitted.clear()
    assert project.parse().failed == 2
    assert submitted == []
    project.parse(retry=True)
    assert len(submitted) == 2
    pdf(project.folder / "a.pdf", ["<p>better</p>"])
    project.list_files()
    assert project.parse().failed == 1
    assert texts(project, "a.pdf") == ["better"]


def test_a_reason_that_is_no_text_is_kept_as_far_as_it_is(project, stand_in):
    pdf(project.folder / "a.pdf", ["<p>mumble</p>"])
    pdf(project.folder / "b.pdf", ["<p>fine</p>"])
    project.list_files()
    assert reasons(project.parse())["a.pdf"].reason == "a.pdf: page 1: names the font Caf?"
    assert texts(project, "b.pdf") == ["fine"]


def test_a_document_that_fails_after_an_edit_keeps_its_elements_and_account(project):
    pdf(project.folder / "a.pdf", ["<p>old</p>"])
    project.list_files()
    project.parse()
    [account] = project.accounts.rows()
    project.write("a.pdf", b"\x93" * 100)
    project.write("b.pdf", b"\x93" * 100)
    project.list_files()
    for retry in (False, True):
        found = reasons(project.parse(retry=retry))
        assert (texts(project, "a.pdf"), texts(project, "b.pdf")) == (["old"], [])
        assert found["a.pdf"].stale_since is not None
        assert found["b.pdf"].stale_since is None
    assert [row for row in project.accounts.rows() if row["parsed"]] == [account]
    project.list_files(**{"a.pdf": ("encrypted", "a.pdf needs a password")})
    assert "password" in reasons(project.parse())["a.pdf"].reason
    assert texts(project, "a.pdf") == ["old"]
    (project.folder / "a.pdf").unlink()
    project.list_files()
    project.parse()
    assert texts(project, "a.pdf") == []


def test_oversized_pages_are_left_out_and_named_also_after_a_rename(project, submitted):
    import pymupdf

    path = pdf(project.folder / "plan.pdf", ["<p>small</p>"])
    document = pymupdf.open(path)
    document.new_page(width=14_000, height=14_000)
    document.saveIncr()
    project.list_files()
    assert "page 2: left out" in reasons(project.parse())["plan.pdf"].reason
    path.rename(project.folder / "moved.pdf")
    submitted.clear()
    project.list_files()
    report = project.parse()
    assert submitted == []
    assert list(reasons(report)) == ["moved.pdf"]
    assert texts(project, "moved.pdf") == ["small"]
    project.parse(retry=True)
    assert len(submitted) == 1


@pytest.mark.parametrize(
    ("failed", "kind"),
    [
        ([Failed("timeout", "took longer than 30 s")], "limit"),
        ([Failed("memory", "ran out of memory")], "limit"),
        ([Failed("crash", "its process ended with signal SIGKILL")], "environment"),
        ([Failed("system", "no space left")], "environment"),
        ([Failed("error", "nonsense", "KeyError")], "input"),
        ([Failed("error", "nonsense", "KeyError"), Failed("crash", "SIGKILL")], "environment"),
        ([Failed("crash", "SIGKILL"), Failed("timeout", "took longer than 30 s")], "limit"),
    ],
)
def test_what_is_to_blame_says_when_a_file_is_tried_again(failed, kind):
    problems = [problem_of(each, stand_in_parser.PARSER) for each in failed]
    assert joined(problems).kind == kind


def test_a_mail_with_an_attachment_is_named_and_gives_no_elements(project):
    message = EmailMessage()
    message["From"], message["Subject"] = "anna@example.com", "Plate 7"
    message.set_content("Please find the report of plate 7.")
    message.add_attachment(bytes(range(256)) * 300, maintype="application", subtype="pdf")
    project.write("plate.txt", message.as_bytes())
    project.write("plate.md", f"# Plate 7\n\n{SENTENCE}")
    sources = project.config.sources.documents
    refresh_document_files(project.store, sources, allow_shrink=False, log=print)

    report = project.parse()

    assert (report.added, report.failed) == (1, 1)
    assert reasons(report)["plate.txt"].reason.startswith("plate.txt is a mail with its headers: ")
    assert texts(project, "plate.txt") == []


def test_too_many_pages_name_the_setting(project):
    project.settings["max_pages"] = 2
    pdf(project.folder / "long.pdf", ["<p>x</p>"] * 3)
    project.list_files()
    reason = reasons(project.parse())["long.pdf"].reason
    assert "has 3 pages" in reason
    assert "parsers.plain.max_pages" in reason
    project.settings["max_pages"] = 3
    assert project.parse(retry=True).failed == 0


def test_a_file_that_changed_since_the_manifest_waits_for_the_next_refresh(project):
    project.write("a.md", "Old.")
    project.list_files()
    project.write("a.md", "New.")
    (failure,) = project.parse().failures
    assert failure.kind == "environment"
    assert "changed while being read" in failure.reason
    project.list_files()
    assert project.parse().failed == 0
    assert texts(project, "a.md") == ["New."]


def test_a_file_that_is_gone_since_the_manifest_is_tried_again(project):
    path = project.write("a.md", "Old.")
    project.list_files()
    path.unlink()
    (failure,) = project.parse().failures
    assert failure.kind == "environment"
    assert "cannot be read (FileNotFoundError" in failure.reason


def test_no_link_leads_out_of_the_source(project, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("Secret.")
    (project.folder / "link.md").symlink_to(secret)
    project.list_files()
    (failure,) = project.parse().failures
    assert failure.kind == "input"
    assert "leads out of its source" in failure.reason


def test_a_killed_pass_goes_on_where_it_stopped(project, submitted, monkeypatch):
    monkeypatch.setattr(parse, "DOCUMENTS_A_BATCH", 2)
    for number in range(6):
        pdf(project.folder / f"{number}.pdf", [f"<p>Text {number}.</p>"])
    project.list_files()
    pools = []
    begin = Pool.__init__
    monkeypatch.setattr(
        Pool, "__init__", lambda self, **options: (begin(self, **options), pools.append(self))[0]
    )

    def killed(line):
        if " done" in line:
            assert pools[0].processes
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parse.refresh_elements(project.store, project.config, parser="plain", log=killed)
    assert len({row["document_id"] for row in project.elements()}) == 2
    assert pools[0].processes == []
    submitted.clear()
    report = project.parse()
    assert (report.added, report.unchanged) == (4, 2)
    assert len(submitted) == 4


def test_small_files_do_not_wait_for_large_ones(project, monkeypatch):
    monkeypatch.setattr(parse, "DOCUMENTS_A_BATCH", 1)
    for name, length in (("a", 40), ("b", 10), ("c", 30), ("d", 20)):
        project.write(f"{name}.md", name * length)
    project.list_files()
    project.parse()
    committed = project.store.read(project.elements_table, columns=["text"])["text"].to_pylist()
    assert [text[0] for text in committed] == ["b", "d", "c", "a"]


def test_an_absent_parser_stops_before_any_work(project, monkeypatch):
    project.write("a.md", "Text.")
    project.list_files()
    monkeypatch.setattr(Parser, "missing", lambda _: "it is gone")
    monkeypatch.setattr(sync, "refresh", lambda *_, **__: pytest.fail("began to work"))
    with pytest.raises(ParserUnavailableError, match="it is gone"):
        project.parse()


def test_another_parser_version_parses_again(project, submitted, monkeypatch):
    from dataclasses import replace

    pdf(project.folder / "a.pdf", ["<p>one</p>"])
    project.write("b.md", "Two.")
    project.list_files()
    project.parse()
    submitted.clear()
    newer = replace(by_media_type.PDF_ENGINES["pdfium"], revision=99)
    monkeypatch.setitem(by_media_type.PDF_ENGINES, "pdfium", newer)
    report = project.parse()
    assert (report.changed, report.unchanged) == (1, 1)
    assert len(submitted) == 1


def test_one_document_starts_one_worker(project, monkeypatch):
    started = []
    begin = pool._WorkerProcess.__init__

    def spy(self, **options):
        started.append(self)
        begin(self, **options)

    monkeypatch.setattr(pool._WorkerProcess, "__init__", spy)
    pdf(project.folder / "a.pdf", ["<p>one</p>"])
    project.list_files()
    project.parse()
    assert len(started) == 1
    project.parse()
    assert len(started) == 1


# --- pictures beside Markdown and web pages


def png(color):
    file = BytesIO()
    Picture.new("RGB", (40, 30), color).save(file, "PNG")
    return file.getvalue()


IMG = "<img src='{}' alt='A crack'>"
CUT_SHORT = b64encode(png("red")[:70]).decode()


def figures(project, uri):
    """Caption, hash of the picture and problem of each figure."""
    rows = [row for row in project.elements(uri) if row["type"] == "figure"]
    return [(row["text"], row["image"], row["problem"]) for row in rows]


def test_pictures_beside_markdown_are_stored(project):
    project.write("guide/a.md", "See ![A crack](../figures/a.png) here.\n")
    project.write("figures/a.png", png("red"))
    project.list_files()
    project.parse()
    ((caption, key, problem),) = figures(project, "guide/a.md")
    assert (caption, problem) == ("A crack", None)
    media_type, data = images.picture(project.store, key)
    assert media_type == "image/png"
    assert Picture.open(BytesIO(data)).size == (40, 30)
    assert texts(project, "guide/a.md")[0] == "See ![A crack](../figures/a.png) here."
    assert not any((project.store.root / "scratch" / project.elements_table).iterdir())


def test_a_picture_inside_markdown_is_stored(project):
    held = b64encode(png("red")).decode()
    project.write("a.md", f"![A](data:image/png;base64,{held})")
    project.list_files()
    project.parse()
    ((_, key, problem),) = figures(project, "a.md")
    assert key
    assert problem is None


def lost(project, table):
    """Delete the folder of a table, as an operator does whose disk has damaged it."""
    shutil.rmtree(project.store.root / "lance" / f"{table}.lance")


def test_pictures_whose_table_was_lost_are_had_again(project):
    held = b64encode(png("red")).decode()
    project.write("a.md", f"![A](data:image/png;base64,{held})")
    project.list_files()
    built = project.parse()
    ((_, key, _),) = figures(project, "a.md")
    of_picture = images.picture(project.store, key)
    lost(project, "images")

    again = project.parse()

    assert again.data_version == built.data_version
    assert images.picture(project.store, key) == of_picture
    assert project.parse().contents == 0


def test_accounts_whose_table_was_lost_are_had_again(project):
    project.write("a.md", "One.")
    project.list_files()
    built = project.parse()
    accounts = project.accounts
    held = list(accounts.rows())
    lost(project, accounts.table)

    again = project.parse()

    assert again.data_version == built.data_version
    assert list(accounts.rows()) == held
    assert project.parse().contents == 0


def test_pictures_of_a_large_markdown_file_are_stored(project):
    project.write("a.md", "Much text. " * 100_000 + "\n\n![A](a.png)\n")
    project.write("a.png", png("red"))
    project.list_files()
    project.parse()
    ((_, key, _),) = figures(project, "a.md")
    assert key


@pytest.mark.usefixtures("in_process")
def test_pictures_beside_a_web_page_are_stored(project):
    source = "<p>Cracks.</p><img src='../figures/a%20b.png' alt='A crack'><img src=c.png>"
    project.write("guide/a.html", source)
    project.write("figures/a b.png", png("red"))
    project.write("guide/c.png", png("red"))
    project.list_files()
    project.parse()
    (caption, key, problem), (_, same, _) = figures(project, "guide/a.html")
    assert (caption, problem) == ("A crack", None)
    assert same == key
    assert Picture.open(BytesIO(images.picture(project.store, key)[1])).size == (40, 30)
    assert not any((project.store.root / "scratch" / project.elements_table).iterdir())


@pytest.mark.usefixtures("in_process")
def test_a_picture_inside_a_web_page_is_stored(project):
    encoded, spelled = b64encode(png("red")).decode(), quote(png("red"))
    sources = {
        "a.html": f"data:image/png;base64,{encoded}",
        "b.html": f"data:image/png;BASE64, {encoded}",
        "c.html": f"data:image/png,{spelled}",
    }
    for uri, source in sources.items():
        project.write(uri, f"<p>Red, in {uri}.</p><img alt=red src='{source}'>")
    project.list_files()
    project.parse()
    for uri in sources:
        ((caption, key, problem),) = figures(project, uri)
        assert (caption, problem) == ("red", None)
        assert key


@pytest.mark.usefixtures("in_process")
def test_a_picture_shown_many_times_is_read_once(project, submitted):
    for uri, shown in (("a.md", "![A](a.png)"), ("b.html", "<img src=a.png>")):
        project.write(uri, "Text.\n\n" + f"{shown}\n\n" * 50)
    project.write("a.png", png("red"))
    project.list_files()
    project.parse()
    for uri in ("a.md", "b.html"):
        assert len({(key, problem) for _, key, problem in figures(project, uri)}) == 1
        assert len(figures(project, uri)) == 50
    assert sum(" picture " in key for key in submitted) == 2


def test_markdown_with_a_table_of_html_is_read_in_a_worker(project, submitted, monkeypatch):
    opened = []
    opening = SourceReader._opened
    monkeypatch.setattr(
        SourceReader, "_opened", lambda self, uri: (opened.append(uri), opening(self, uri))[1]
    )
    table = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>"
    project.write("a.md", f"Text.\n\n{table}\n")
    project.write("b.md", "Text.\n\n| a | b |\n|---|---|\n| c | d |\n")
    project.write("c.txt", table)
    project.list_files()
    project.parse()
    for uri in ("a.md", "b.md"):
        assert [row["type"] for row in project.elements(uri)] == ["text", "table"]
    assert [row["type"] for row in project.elements("c.txt")] == ["text"]
    assert sum(key.endswith(" text all") for key in submitted) == 1
    assert sorted(opened) == ["a.md", "b.md", "c.txt"], "each is read once"


OUT_OF_REACH = {
    "gone.png": "gone.png: is no picture among the files of its source",
    "../outside.png": "../outside.png: is no picture among the files",
    "a.md": "a.md: is no picture among the files",
    "broken.png": "broken.png: is damaged or no picture",
    "data:image/png;base64,AAAA": "a picture inside the text: is damaged or no picture",
    f"data:image/png;base64,{CUT_SHORT}": "inside the text: is damaged or no picture",
    "link.png": "link.png: leads out of its source",
    "a%00b.png": "ab.png: is no picture among the files",
}
"""Targets of pictures, and what is said of each."""


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(("suffix", "form"), [("md", "![A crack]({})"), ("html", IMG)])
def test_a_picture_that_cannot_be_had_is_named_and_loses_no_text(project, suffix, form):
    outside = project.folder.parent / "outside.png"
    outside.write_bytes(png("red"))
    (project.folder / "link.png").symlink_to(outside)
    project.write("broken.png", b"\x89PNG and no more")
    project.write("a.md", "Not read here.")
    shown = {f"{place}.{suffix}": target for place, target in enumerate(OUT_OF_REACH)}
    for uri, target in shown.items():
        project.write(uri, f"Before {form.format(target)} after.")
    project.list_files()
    project.parse()
    found = {row["document_id"]: row for row in accounts(project)}
    for uri, target in shown.items():
        ((caption, key, problem),) = figures(project, uri)
        assert (caption, key) == ("A crack", None)
        assert OUT_OF_REACH[target] in problem
        assert texts(project, uri)[0].startswith("Before")
        account = found[project.id_of(uri)]
        assert (account["figures"], account["kept_figures"], account["tables"]) == (1, 0, 0)


def accounts(project):
    return list(project.accounts.rows())


def test_accounts_wait_for_whoever_cleans_their_table_up(project):
    project.write("a.md", "Words.")
    project.list_files()
    project.parse()
    kept = project.accounts
    with ThreadPoolExecutor(1) as parsing:
        with project.store.lock(kept.table, log=print):
            dropped = parsing.submit(kept.drop, [project.id_of("a.md")])
            _, waiting = wait([dropped], timeout=1)
            assert waiting
            assert accounts(project)
        dropped.result()
    assert not accounts(project)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(("uri", "form"), [("a.md", "![A crack]({})"), ("a.html", IMG)])
def test_a_changed_picture_is_taken_although_its_document_stays(project, uri, form):
    project.write(uri, f"Text. {form.format('a.png')}")
    project.list_files()
    project.parse()
    assert figures(project, uri)[0][1] is None
    keys = []
    for color in ("red", "blue"):
        project.write("a.png", png(color))
        project.list_files()
        project.parse()
        keys.append(figures(project, uri)[0][1])
    assert None not in keys
    assert len(set(keys)) == 2
    assert project.parse().contents == 0


@pytest.mark.usefixtures("in_process")
def test_documents_that_show_no_picture_are_not_parsed_for_one(project):
    data = b64encode(png("red")).decode()
    project.write("a.html", f"<p>Words.</p><img src='data:image/png;base64,{data}'>")
    project.write("b.md", "Words alone.")
    project.write("c.png", png("red"))
    project.list_files()
    assert project.parse().contents == 2
    before = project.elements()
    project.write("c.png", png("blue"))
    project.list_files()
    assert project.parse().contents == 0
    after = project.elements()
    assert [row["text"] for row in after] == [row["text"] for row in before]
    assert project.parse().contents == 0


def test_equal_documents_in_two_folders_show_each_its_own_picture(project):
    for folder, color in (("a", "red"), ("b", "blue")):
        project.write(f"{folder}/read.md", "![A](a.png)")
        project.write(f"{folder}/a.png", png(color))
    project.list_files()
    project.parse()
    assert figures(project, "a/read.md") != figures(project, "b/read.md")


@pytest.mark.parametrize("engine", ["pdfium", "pymupdf"])
def test_a_page_that_is_not_there_costs_no_other_page(tmp_path, engine):
    project = Project(tmp_path, engine=engine)
    partly_readable(project.folder / "a.pdf", "The first page is whole.")
    project.list_files()

    report = project.parse()

    assert texts(project, "a.pdf") == ["The first page is whole."]
    (failure,) = report.failures
    assert (failure.kind, failure.reason[:15]) == ("input", "a.pdf: page 2: ")
    (account,) = accounts(project)
    assert (account["pages"], account["parsed"]) == (2, 1)
