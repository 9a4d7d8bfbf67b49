"""What an evidence card tells of hard sources, and that its one template shows texts as texts."""

import re
import shutil
from functools import partial

import pptx
import pytest

from rag_assets import config as configuration
from rag_assets.answering.answer import Scope
from rag_assets.answering.assistant import Assistant
from rag_assets.answering.reporting.cited_report import CitedReport, ReportSection
from rag_assets.answering.reporting.forms import as_html
from rag_assets.citations.kinds import Cell, Span
from rag_assets.citations.sentences import Sentence
from rag_assets.identity import UnknownIdError
from rag_assets.reports import pages
from rag_assets.serving import cli
from rag_assets.store import serving_pointer
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan
from rag_assets_testing.documents.making import pdf
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh

ATTACK = '<script>alert(1)</script><img src=x onerror="alert(2)"> {{ 7 * 191 }} "\''
CROSSING = "The brackets of the rear axle are bolted, never welded, since heat takes their strength"
STEELS = (("Steel", "Yield, MPa", "Elongation, %"), ("S355", "355", "22"), ("S690", "690", "14"))
WIDE = 60
LONG = "word " * 1000
TURNED = "\u202eteehs detsur\u202c"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    pytest.importorskip("pymupdf")
    made = project.make(tmp_path_factory.mktemp("cards") / "project", documents=1, rows=6)
    text = made.file.read_text().replace("size: 48", "size: 120")
    made.file.write_text(text)
    made.write("attack.md", f"# Coating\n\nQuibblezorp is a coating. {ATTACK} {TURNED}\n")
    cells = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in STEELS
    )
    made.write("steels.html", f"<html><body><h1>Steels</h1><table>{cells}</table></body></html>")
    first, second = CROSSING[:43], CROSSING[43:]
    pdf(made.documents / "two.pdf", [f"<p>Axles. {first}</p>", f"<p>{second} there.</p>"])
    project.age(made.documents / "two.pdf")
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Springs", "Springs are shot peened."
    slides.save(made.documents / "springs.pptx")
    project.age(made.documents / "springs.pptx")
    names = ", ".join(f'"c{n}" TEXT' for n in range(WIDE))
    values = ", ".join(f"'v{n}'" for n in range(WIDE))
    made.execute(
        f'CREATE TABLE wide (id INTEGER PRIMARY KEY, "Rp0.2" TEXT, "3" TEXT, note TEXT, {names})',
        *(
            f"INSERT INTO wide VALUES ({n}, 'a{n}', 'b{n}', '{note}', {values})"
            for n in range(1, 7)
            for note in [LONG if n == 3 else ATTACK.replace("'", "''")]
        ),
    )
    with hashing():
        refresh(made.config)
    return made


@pytest.fixture(scope="module")
def assistant(made):
    with hashing():
        yield Assistant(made.store, made.config)


@pytest.fixture
def cards(assistant):
    return assistant.cards


def unit(made, where):
    joint = made.config.tables_of("default").joint
    return made.store.read(joint, where=where).sort_by("index").to_pylist()[0]


def shown(card, around=400):
    return pages.render("citations/page.html", title="Card", card=card)


def place_of(text, words):
    start = text.index(words)
    return start, start + len(words)


def test_a_row_stands_between_its_neighbours_whatever_its_columns_are_called(made, cards):
    row = unit(made, "`table` = 'wide' AND row_key = '3'")
    card = cards.of_unit(row["unit_id"], columns=["Rp0.2", "3"])
    assert [each["Rp0.2"] for each in card.rows] == ["a1", "a2", "a3", "a4", "a5"]
    assert card.cited == 2
    page = shown(card)
    assert page.count("<th ") == 6
    [cited] = re.findall(r'<tr class="cited">.*?</tr>', page)
    assert cited.count('class="marked"') == 2
    assert 'class="marked"><bdi>a3</bdi>' in cited


def test_a_wide_row_with_a_long_cell_stays_readable_and_whole(made, cards):
    row = unit(made, "`table` = 'wide' AND row_key = '3'")
    card = cards.of_unit(row["unit_id"], columns=[*(f"c{n}" for n in range(WIDE)), "note"])
    page = shown(card)
    table, _, whole = page.partition("</table>")
    assert table.count("<th ") == 12
    assert LONG.strip() not in table
    assert LONG.strip() in whole
    assert "<details open>" in whole, "cells that are cited stand in it alone"
    assert whole.count('<dd class="marked">') == WIDE + 1


def test_a_cell_of_a_table_in_a_document_is_marked_in_its_row(made, cards):
    table = unit(made, "uri = 'steels.html' AND type = 'table'")
    card = cards.of_unit(table["unit_id"], columns=["Yield, MPa"], row_key="2")
    [cited] = re.findall(r'<tr class="cited">.*?</tr>', shown(card))
    assert [each["Steel"] for each in card.rows] == ["S355", "S690"]
    assert 'class="marked"><bdi>690</bdi>' in cited


def test_rows_of_a_table_in_a_document_are_those_that_a_lookup_selects(cards):
    [table] = cards.catalogue.document_tables
    condition = Condition("Steel", "=", ("S690",))
    card = cards.of_plan(LookupPlan(table.source, table.table, where=(condition,)))
    assert [each["Steel"] for each in card.rows] == ["S690"]
    every = cards.of_plan(LookupPlan(table.source, table.table))
    assert [each["Steel"] for each in every.rows] == ["S355", "S690"]


def test_a_quote_over_two_pages_is_marked_on_both(made, cards):
    chunk = unit(made, "uri = 'two.pdf'")
    assert chunk["pages"] == [1, 2], "else this test shows nothing"
    words = re.search(r"The brackets.*their\s+strength", chunk["text"], re.DOTALL).span()
    card = cards.of_unit(chunk["unit_id"], words=[words], is_drawn=True)
    assert [(each.page, bool(each.boxes)) for each in card.pictures] == [(1, True), (2, True)]
    page = shown(card)
    assert page.count("the cited words are dark") == 2
    assert page.count("data:image/png;base64,") == 2


def test_several_quotes_of_one_passage_are_marked_once_each(made, cards):
    chunk = unit(made, "uri = 'attack.md'")
    text = chunk["text"]
    quotes = [place_of(text, "a coating"), place_of(text, "Quibblezorp"), place_of(text, "is a")]
    page = shown(cards.of_unit(chunk["unit_id"], words=quotes))
    assert re.findall("<mark>(.*?)</mark>", page) == ["Quibblezorp", "is a", " coating"]


def test_only_what_is_near_a_quote_is_shown_where_room_is_short(made, cards):
    chunk = unit(made, "uri = 'attack.md'")
    card = cards.of_unit(chunk["unit_id"], words=[place_of(chunk["text"], "is a")])
    module = pages.environment().get_template("citations/card.html").module
    said = str(module.passage(card.excerpt, card.quotes, 5))
    assert '… <mark class="light">zorp <mark>is a</mark> coat</mark> …' in said


def test_a_slide_has_its_text_and_says_why_it_has_no_picture(made, cards):
    chunk = unit(made, "uri = 'springs.pptx'")
    card = cards.of_unit(chunk["unit_id"], is_drawn=True)
    assert "page 1" in card.place
    assert "springs.pptx is no PDF, and only the pages of these are drawn" in shown(card)
    assert "shot peened" in shown(card)


def test_a_document_without_pages_says_nothing_of_pictures(made, cards):
    chunk = unit(made, "uri = 'attack.md'")
    assert "picture of the page" not in shown(cards.of_unit(chunk["unit_id"], is_drawn=True))


def test_a_document_that_was_edited_since_keeps_its_words_and_shows_no_other_page(
    made, tmp_path, cards
):
    chunk = unit(made, "uri = 'two.pdf'")
    kept = shutil.copy2(made.documents / "two.pdf", tmp_path / "kept.pdf")
    draw = partial(cards.of_unit, chunk["unit_id"], is_drawn=True)
    try:
        pdf(made.documents / "two.pdf", ["<p>Other words.</p>"])
        edited = draw()
        (made.documents / "two.pdf").unlink()
        gone = draw()
    finally:
        shutil.copy2(kept, made.documents / "two.pdf")
    for card in (edited, gone):
        assert card.pictures == ()
        assert "two.pdf" in card.no_picture
        assert "brackets" in shown(card)
    assert draw().pictures


def test_a_unit_that_is_gone_is_told_so(cards):
    with pytest.raises(UnknownIdError, match="no unit 0000"):
        cards.of_unit("0000")


def test_source_text_stays_text_in_reports_too(made, cards):
    chunk, row = unit(made, "uri = 'attack.md'"), unit(made, "`table` = 'wide' AND row_key = '2'")
    start, end = place_of(chunk["text"], "is a coating")
    span = Span(
        chunk["unit_id"],
        chunk["text_hash"],
        "documents",
        chunk["uri"],
        chunk["title"],
        (),
        start,
        end,
        "is a coating",
    )
    cell = Cell(row["unit_id"], row["text_hash"], "laboratory", "wide", "2", "note", "note", ATTACK)
    sentence = Sentence(f"It is. {ATTACK}", (span, cell), "verbatim")
    report = CitedReport(
        ATTACK, ATTACK, (ReportSection(ATTACK, "what", (sentence,)),), (), Scope("d", "b", {}, 2)
    )
    told = []
    page = as_html(report, cards.by_place(report.citations, progress=told.append))
    assert told == ["showing source 1 of 2", "showing source 2 of 2"]
    for html in (page, shown(cards.of_unit(row["unit_id"], columns=["note"]))):
        assert "<script" not in html
        assert "<img" not in html
        assert "1337" not in html
        assert "&lt;script&gt;alert(1)" in html
    assert "<mark>is a coating</mark>" in page
    assert "http" not in page


@pytest.mark.parametrize("row_key", ["3", "0", "-1", "none"])
def test_a_row_that_a_table_in_a_document_does_not_have_is_not_marked(made, cards, row_key):
    table = unit(made, "uri = 'steels.html' AND type = 'table'")
    card = cards.of_unit(table["unit_id"], columns=["Steel"], row_key=row_key)
    assert card.cited is None
    assert '<mark class="light">' in shown(card)


@pytest.mark.parametrize("words", [(10**9, 10**10), (-5, -2), (40, 3)])
def test_words_that_a_passage_does_not_have_leave_it_whole(made, cards, words):
    chunk = unit(made, "uri = 'springs.pptx'")
    card = cards.of_unit(chunk["unit_id"], words=[words])
    assert card.quotes == []
    assert "Springs are shot peened." in shown(card)


def test_a_document_that_cannot_be_read_by_now_is_told_to_be_stale(made, tmp_path):
    copy = project.Project(shutil.copytree(made.home, tmp_path / "copy"))
    copy.write("two.pdf", b"%PDF-1.7 broken")
    with hashing():
        refresh(copy.config)
        chunk = unit(copy, "uri = 'two.pdf'")
        card = Assistant(copy.store, copy.config).cards.of_unit(chunk["unit_id"], is_drawn=True)
    assert "stale since 20" in card.place
    assert "brackets" in shown(card)
    assert card.pictures == ()


def test_an_index_that_served_before_still_shows_its_pages(made, tmp_path, monkeypatch):
    copy = project.Project(shutil.copytree(made.home, tmp_path / "copy"))
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(copy.file))
    before = serving_pointer.current(copy.store)
    with hashing():
        refresh(copy.config, variant="other")
        assert cli.main(["variants", "promote", "other", "--override", "to look back"]) == 0
        chunk = unit(copy, "uri = 'two.pdf'")
        card = Assistant(copy.store, copy.config, pointer=before).cards.of_unit(
            chunk["unit_id"], is_drawn=True
        )
    assert card.no_picture == ""
    assert card.pictures
