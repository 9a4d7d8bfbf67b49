"""Nothing is lost silently: who reads a page that another could not, and the account of it all."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.config import Variant
from rag_assets.documents import checks
from rag_assets.documents.elements import completeness
from rag_assets.documents.elements.completeness import FEWEST_DOCUMENTS
from rag_assets.documents.elements.element import Element
from rag_assets.documents.elements.parse_report import (
    Account,
    garbled_letters,
    measured,
    named,
    ranges,
)
from rag_assets.documents.elements.parse_report_rows import Accounts
from rag_assets.documents.parsers import by_media_type
from rag_assets.media.encodings import letters_of
from rag_assets.quality import Tally
from rag_assets.serving import document_status
from rag_assets_testing.documents.making import SENTENCE, Project, claims_pages, pdf, scan
from rag_assets_tests.documents import stand_in_parser
from rag_assets_tests.quality.judging import failures, judged


@pytest.fixture
def chained(project, monkeypatch):
    """A project whose engine is the stand-in and whose next parser is pdfium."""
    monkeypatch.setitem(by_media_type.PDF_ENGINES, "pymupdf", stand_in_parser.PARSER)
    monkeypatch.setattr("rag_assets.workers.pool.WARM_UP_SECONDS", 3.0)
    project.settings |= {"engine": "pymupdf", "seconds_per_task": 1, "seconds_per_page": 1}
    return project


def account(project, uri):
    rows = {row["document_id"]: row for row in project.accounts.rows()}
    return rows[project.id_of(uri)]


def engines(project, uri):
    return [(row["page"], row["engine"]) for row in project.elements(uri)]


@given(
    st.text(st.characters(exclude_categories=()))
    | st.text("aZ09_ \u00e9\u6f22\u0660\u0301", max_size=9)
)
def test_letters_and_digits_of_all_scripts_are_counted(text):
    assert letters_of(text) == sum(map(str.isalnum, text))


@pytest.mark.parametrize("trouble", ["crash", "refuse", "stumble", "hang"])
def test_one_bad_page_costs_one_page_and_the_next_parser_reads_it(chained, trouble):
    pdf(chained.folder / "a.pdf", ["<p>one</p>", f"<p>{trouble}</p>", "<p>three</p>"])
    chained.list_files()
    assert chained.parse().failed == 0
    assert engines(chained, "a.pdf") == [(1, "stand_in"), (2, "pdfium"), (3, "stand_in")]
    held = account(chained, "a.pdf")
    assert (held["pages"], held["parsed"], held["lost_pages"]) == (3, 3, 0)
    assert not held["plain"]


def test_a_page_of_which_the_parser_sees_nothing_is_read_by_the_next(chained):
    pdf(chained.folder / "a.pdf", [f"<p>blind {SENTENCE}</p>", "<p>two</p>"])
    chained.list_files()
    assert chained.parse().failed == 0
    assert engines(chained, "a.pdf") == [(1, "pdfium"), (2, "stand_in")]
    (part,) = json.loads(account(chained, "a.pdf")["replaced"])
    assert part["pages"] == "1"
    assert "found no text, although the page has" in part["reason"]


def test_a_page_of_figures_alone_whose_words_nobody_saw_is_read_by_the_next(chained):
    pdf(chained.folder / "a.pdf", ["<p>one</p>", f"<p>drawn {SENTENCE}</p>", "<p>drawn</p>"])
    chained.list_files()
    assert chained.parse().failed == 0
    assert engines(chained, "a.pdf") == [
        (1, "stand_in"),
        (2, "pdfium"),
        (2, "pdfium"),
        (3, "stand_in"),
    ]
    _, text, figure, _ = chained.elements("a.pdf")
    assert (text["type"], figure["type"]) == ("text", "figure")
    assert figure["image"]
    held = account(chained, "a.pdf")
    assert (held["lost_pages"], held["lost_letters"], held["empty"]) == (0, 5, "")
    chained.settings["fallback"] = []
    (failure,) = chained.parse().failures
    assert "page 2: the parser stand_in found no text, although" in failure.reason
    assert [row["type"] for row in chained.elements("a.pdf")] == ["text", "figure", "figure"]


def test_a_page_that_nobody_can_read_is_named_with_what_each_said(chained, monkeypatch):
    monkeypatch.setitem(by_media_type.PDF_ENGINES, "pdfium", stand_in_parser.NEXT)
    pdf(chained.folder / "a.pdf", ["<p>one</p>", "<p>refuse</p>", "<p>three</p>"])
    chained.list_files()
    (failure,) = chained.parse().failures
    assert failure.reason == "a.pdf: page 2: is refused"
    assert engines(chained, "a.pdf") == [(1, "stand_in"), (3, "stand_in")]
    held = account(chained, "a.pdf")
    assert (held["lost_pages"], json.loads(held["failed"])) == (
        1,
        [{"reason": "is refused", "pages": "2"}],
    )


def test_a_renamed_file_is_quarantined_under_its_new_name(chained):
    chained.settings["fallback"] = []
    pdf(chained.folder / "a.pdf", ["<p>one</p>", "<p>refuse</p>"])
    chained.list_files()
    chained.parse()
    (chained.folder / "a.pdf").rename(chained.folder / "b.pdf")
    chained.list_files()
    assert chained.parse().contents == 0
    (failure,) = sync.quarantined(chained.store, chained.elements_table)
    assert (failure.label, failure.reason) == ("b.pdf", "b.pdf: page 2: is refused")


def test_a_parser_that_hangs_again_and_again_is_given_no_more_of_the_file(chained, monkeypatch):
    monkeypatch.setattr("rag_assets.documents.elements.parsing.MOST_FAILURES", 1)
    monkeypatch.setattr("rag_assets.workers.pool.MOST_PROCESSES", 1)
    pdf(chained.folder / "a.pdf", ["<p>crash</p>"] + ["<p>fine</p>"] * 11)
    chained.list_files()
    assert chained.parse().failed == 0
    found = engines(chained, "a.pdf")
    assert [page for page, _ in found] == list(range(1, 13))
    assert (found[0][1], found[-1][1]) == ("pdfium", "pdfium")
    reasons = " ".join(part["reason"] for part in json.loads(account(chained, "a.pdf")["replaced"]))
    assert "SIGKILL" in reasons
    assert "gets no more pages" in reasons


def test_a_document_that_needed_no_help_is_not_parsed_again_for_a_helper(chained):
    pdf(chained.folder / "a.pdf", ["<p>one</p>"])
    pdf(chained.folder / "b.pdf", ["<p>refuse</p>"])
    chained.list_files()
    chained.parse()
    chained.settings["fallback"] = []
    report = chained.parse()
    assert (report.contents, report.failed) == (1, 1)
    assert engines(chained, "a.pdf") == [(1, "stand_in")]
    (chained.folder / "a.pdf").rename(chained.folder / "c.pdf")
    chained.list_files()
    assert chained.parse().contents == 0
    assert account(chained, "c.pdf")["parsed"] == 1
    assert len(list(chained.accounts.rows())) == 2


def test_a_parser_gets_no_network(chained):
    pdf(chained.folder / "a.pdf", ["<p>call</p>"])
    chained.settings["fallback"] = []
    chained.list_files()
    (failure,) = chained.parse().failures
    assert failure.kind == "input"
    assert "it tried to reach 'localhost' over the network" in failure.reason


def test_one_that_calls_a_server_of_the_config_does(chained, monkeypatch):
    from dataclasses import replace

    online = replace(stand_in_parser.PARSER, calls_servers=True)
    monkeypatch.setitem(by_media_type.PDF_ENGINES, "pymupdf", online)
    pdf(chained.folder / "a.pdf", ["<p>call</p>"])
    chained.list_files()
    assert chained.parse().failed == 0
    assert engines(chained, "a.pdf") == [(1, "stand_in")]


@pytest.mark.usefixtures("in_process")
def test_languages_of_elements_on_a_page_of_two_columns(project):
    pytest.importorskip("pymupdf")
    from rag_assets_tests.documents.parsers.test_ocr import two_columns

    project.settings["engine"] = "pymupdf"
    two_columns(project.folder / "a.pdf")
    project.list_files()
    project.parse()
    languages = {row["text"][:7]: row["language"] for row in project.elements("a.pdf")}
    assert (languages["The dec"], languages["Den dek"]) == ("en", "sv")


def test_an_account_counts_what_is_there_and_what_is_not():
    found = measured(
        Account(4, letters=[10, 6, 4, 0], scanned=[3], engines=dict.fromkeys((1, 2, 3, 4), "x")),
        [
            Element(type="text", text="ten lette!", page=1),
            Element(type="table", text="| a |", page=2, problem="one row"),
            Element(type="table", text="| bc |", page=2),
            Element(type="text", text="|", page=2, problem="no rows"),
            Element(type="figure", text="", page=3),
            Element(type="figure", text="", page=3, problem="no picture"),
        ],
    )
    assert found.layer_letters == 16
    assert found.lost_letters == 2 + 3
    assert found.empty == [3, 4]
    assert (found.sound_tables, found.tables) == (1, 3)
    assert (found.kept_figures, found.figures) == (0, 2)


def test_words_that_are_only_parted_or_joined_otherwise_are_not_lost():
    shown = ["CO2 at 10 bar", "two words", "lost twice", "lost twice"]
    texts = ["CO 2 at 10", "bar twowords", "lost twice"]

    found = measured(Account(shown=shown), [Element(type="text", text=text) for text in texts])

    assert (found.words, found.lost_words) == (10, {"lost": 1, "twice": 1})


@pytest.mark.usefixtures("in_process")
def test_a_word_file_that_lacks_words_is_named_and_what_it_hides_is_counted(project):
    import pptx
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    made = pptx.Presentation()
    slide, hidden = (made.slides.add_slide(made.slide_layouts[5]) for _ in range(2))
    slide.shapes.title.text = "Strength of the grades"
    data = CategoryChartData()
    data.categories = ["S235", "S355"]
    data.add_series("yield", (235, 355))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 9_000, 9_000, data).chart
    chart.value_axis.axis_title.text_frame.text = "megapascals"
    hidden.shapes.title.text = "Draft of five hidden words"
    hidden._element.set("show", "0")
    made.save(project.folder / "a.pptx")
    project.list_files()
    project.parse()
    held = account(project, "a.pptx")
    found = failures(judge(project))["no_document_in_doubt"]
    [parser] = (
        document_status.answer(project.store, project.config, parsers=["plain"])
        .record["parsers"]
        .values()
    )

    assert (held["words"], held["lost_words"]) == (8, 1)
    assert held["hidden"] == "1 slide with 5 words"
    assert found.examples == [
        {
            "document": "a.pptx",
            "why": "1 of its 8 words are not in its text: megapascals; save it as PDF, or leave it "
            "out with sources.documents.exclude",
        }
    ]
    assert [document["hidden"] for document in parser] == ["1 slide with 5 words"]


def test_texts_of_another_code_page_are_read_and_doubt_is_named(project):
    (project.folder / "sure.md").write_bytes("この塗装は塩水に五百時間耐えます。\n".encode("cp932"))
    (project.folder / "unsure.txt").write_bytes("Größe und Länge".encode("mac-roman"))
    project.list_files()
    project.parse()
    found = failures(judge(project))["no_document_in_doubt"]

    assert [row["text"] for row in project.elements("sure.md")] == [
        "この塗装は塩水に五百時間耐えます。"
    ]
    [example] = found.examples
    assert example["document"] == "unsure.txt"
    assert "was read as mac-roman, but may be in cp852; save it as UTF-8" in example["why"]


def test_pages_are_named_in_runs():
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
    assert (named([4]), named([4, 5])) == ("page 4", "pages 4-5")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Ångström, naïve façade: 10 µm, „richtig“ — coöperate", 0),
        ("fÃ¶r mÃ¥nga", 4),
        ("\ufffd\ufffd and \uf0b7", 3),
        ("(cid:12)(cid:3)", 15),
        ("the wqxzptrb of it", 8),
    ],
)
def test_what_no_reader_makes_sense_of_is_counted(text, count):
    assert garbled_letters(text) == count


def judge(project):
    config = project.config.model_copy(
        update={"variants": {"default": Variant(parser="plain", chunking="fixed_256")}}
    )
    return judged(checks.subjects(config), project.store, asset="parsed_documents")


def test_checks_name_the_documents_that_lack_pages_and_letters(chained):
    chained.settings["fallback"] = []
    pdf(chained.folder / "good.pdf", [f"<p>{SENTENCE}</p>"] * 8)
    pdf(chained.folder / "bad.pdf", [f"<p>{SENTENCE}</p>", "<p>refuse</p>"])
    chained.list_files()
    chained.parse()
    result = judge(chained)
    found = failures(result)
    assert found.keys() >= {"pages_of_each_document"}
    (example,) = found["pages_of_each_document"].examples
    assert example == {
        "document": "bad.pdf",
        "lost pages": 1,
        "pages to read": 2,
        "why": "pages 2: is refused",
    }
    assert not result.blocks


def test_most_of_few_documents_may_be_damaged_and_the_others_go_on(chained):
    chained.settings["fallback"] = []
    pdf(chained.folder / "good.pdf", [f"<p>{SENTENCE}</p>"])
    for name in ("bad.pdf", "worse.pdf"):
        pdf(chained.folder / name, [f"<p>{name} {SENTENCE}</p>", *["<p>refuse</p>"] * 3])
    chained.list_files()
    chained.parse()
    result = judge(chained)
    assert failures(result).keys() >= {"pages_of_each_document"}
    assert not result.blocks


def test_a_parser_that_fails_on_most_documents_blocks_and_names_them(project):
    named = {}
    for number in range(FEWEST_DOCUMENTS):
        lost = 9 if number % 3 else 0
        row = accounted(f"{number}.pdf", pages=10, parsed=10 - lost, lost_pages=lost)
        named[row["document_id"]] = row
    tally = summed_up(named)
    share = tally.totals["documents_without_pages_share"]
    assert share == sum(bool(row["lost_pages"]) for row in named.values()) / FEWEST_DOCUMENTS
    assert share > 0.5
    example = tally.examples["documents_without_pages_share"][0]
    assert (example["document"], example["lost pages"]) == ("1.pdf", 9)


@given(st.integers(0, 60), st.integers(1, 10**9))
def test_no_single_document_decides_whatever_it_claims(others, claimed):
    good = [accounted(f"{number}.pdf", pages=1, parsed=1) for number in range(others)]
    trap = accounted(
        "trap.pdf",
        pages=claimed,
        parsed=0,
        lost_pages=claimed,
        empty_pages=claimed,
        layer_letters=claimed,
        lost_letters=claimed,
        letters=claimed,
        garbled=claimed,
    )
    totals = summed_up({row["document_id"]: row for row in [*good, trap]}).totals
    for damaged in completeness.DAMAGED:
        assert totals[damaged.total] <= 1 / FEWEST_DOCUMENTS
    assert totals["empty_pages_share"] == 0


def test_what_a_limit_left_out_counts_nowhere_and_stands_in_quarantine(project):
    project.settings["max_pages"] = 5
    pdf(project.folder / "good.pdf", [f"<p>{SENTENCE}</p>"] * 3)
    claims_pages(project.folder / "trap.pdf", pages=1_000_000)
    project.list_files()
    (failure,) = project.parse().failures
    assert "trap.pdf: has 1,000,000 pages, more than parsers.plain.max_pages" in failure.reason
    held = account(project, "trap.pdf")
    assert (held["pages"], held["parsed"], held["lost_pages"]) == (1_000_000, 0, 0)
    assert failures(judge(project)).keys() == {"few_documents_failed", "no_document_failed"}


def test_pages_that_are_not_there_cost_nothing_but_themselves(project):
    path = pdf(project.folder / "a.pdf", [f"<p>{SENTENCE}</p>", "<p>Two.</p>"])
    path.write_bytes(path.read_bytes().replace(b"/Count 2", b"/Count 9"))
    project.list_files()
    (failure,) = project.parse().failures
    assert [row["page"] for row in project.elements("a.pdf")] == [1, 2]
    assert "pages 3-9: the parser pdfium cannot read it" in failure.reason


def test_a_page_too_large_to_read_is_named_and_not_counted_as_lost(project):
    pdf(project.folder / "plan.pdf", [f"<p>{SENTENCE}</p>"], width=14_000, height=14_000)
    project.list_files()
    (failure,) = project.parse().failures
    assert "page 1: left out: larger than 5,000 pt" in failure.reason
    assert account(project, "plan.pdf")["lost_pages"] == 0


def accounted(uri, **counts):
    """An account as it is stored."""
    columns = {name: 0 for name in schemas.ACCOUNTS.names if name != "language"}
    return {**columns, "document_id": uri, "language": "en", "failed": "[]", **counts}


def summed_up(rows):
    tally = Tally()
    completeness.measure(rows.values(), into=tally, names={key: key for key in rows})
    return tally


def test_status_lists_each_document_with_its_pages(chained):
    pdf(chained.folder / "a.pdf", ["<p>one</p>", "<p>crash</p>"])
    chained.write("b.md", f"# Title\n\n{SENTENCE} It is the one that was loaded.")
    scan(chained.folder / "c.pdf")
    chained.list_files()
    chained.parse()
    answer = document_status.answer(chained.store, chained.config, parsers=["plain"])
    first, second, third = answer.record["parsers"]["plain"]
    assert [each["document"] for each in (first, second, third)] == ["a.pdf", "c.pdf", "b.md"]
    assert (first["pages"], first["parsed"]) == (2, 2)
    assert first["engines"] == [
        {"engine": "stand_in", "pages": "1"},
        {"engine": "pdfium", "pages": "2"},
    ]
    assert "no text layer" in second["reason"]
    assert third["language"] == "en"
    assert "c.pdf: has no text layer" in answer.text
    assert "a.pdf: pages 2: the parser stand_in failed: it crashed, " in answer.text


def fingerprints(project: Project) -> dict[str, str]:
    """What each document's account says that its elements were made from."""
    rows = project.accounts.rows()
    return {row["document_id"]: row["fingerprint"] for row in rows}


def of_elements(project: Project) -> dict[str, str]:
    rows = project.store.read(project.elements_table, columns=["document_id", "fingerprint"])
    return {row["document_id"]: row["fingerprint"] for row in rows.to_pylist()}


def test_a_run_killed_before_it_forgot_an_account_forgets_it_later(project, monkeypatch):
    project.write("a.md", "One.")
    path = project.write("b.md", "Two.")
    project.list_files()
    project.parse()
    path.unlink()
    project.list_files()
    with monkeypatch.context() as killed:
        killed.setattr(Accounts, "drop_all_but", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            project.parse()
    project.parse()
    assert fingerprints(project) == of_elements(project)


def test_documents_that_swap_their_contents_swap_their_accounts_even_when_killed_halfway(
    project, monkeypatch
):
    project.write("a.md", "One.")
    project.write("b.md", "Two.")
    project.list_files()
    project.parse()
    project.write("a.md", "Two.")
    project.write("b.md", "One.")
    project.list_files()
    with monkeypatch.context() as killed:
        killed.setattr("rag_assets.documents.elements.reuse.renamed", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            project.parse()
    assert project.parse().contents == 0
    assert fingerprints(project) == of_elements(project)
