"""A report as JSON, Markdown, HTML and DOCX: the same words and numbers in each."""

import io
from dataclasses import replace

import docx
import pytest
from markdown_it import MarkdownIt

from rag_assets.answering.answer import Scope
from rag_assets.answering.quoting.unit_citations import span_of
from rag_assets.answering.reporting.cited_report import (
    CitedReport,
    NotCovered,
    ReportFormatError,
    ReportSection,
    from_json,
    to_json,
)
from rag_assets.answering.reporting.forms import as_docx, as_html, as_markdown
from rag_assets.citations.card import Card
from rag_assets.citations.sentences import Sentence
from rag_assets_tests.answering.found import document

NEW = span_of(document("new_guide", "It holds.", pages=(3,)), 0, 9)
OLD = replace(NEW, uri="old.md", is_superseded=True)
REPORT = CitedReport(
    prompt="Write <b>it</b>",
    title="Parts & <joints>",
    sections=(
        ReportSection(
            "Salt",
            "salt",
            (
                Sentence(
                    "# Not a heading, *not* bold, [1] no mark.",
                    (NEW,),
                    "numbers and names",
                    is_written=True,
                ),
                Sentence("An old \x0b fact.", (OLD, NEW), is_written=True),
            ),
            missing=("AlMg3",),
        ),
    ),
    not_covered=(NotCovered("Prices", "prices", 'nothing that was found holds "price"', 15),),
    scope=Scope("default", "best", {"domain": "document"}, 40),
    note="taken apart by rules, as writer is away",
)

CARDS: dict[str, list[Card]] = {each.place: [] for each in REPORT.citations}


def test_json_is_read_back_as_it_was():
    assert from_json(to_json(REPORT)) == REPORT


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"format": "other/1"}, "its format is 'other/1'"), ({"sections": 3}, "sections")],
)
def test_json_of_another_form_is_refused(changes, says):
    with pytest.raises(ReportFormatError, match=says):
        from_json({**to_json(REPORT), **changes})


def shown_by_markdown() -> str:
    return MarkdownIt().render(as_markdown(REPORT))


def shown_by_word() -> list[str]:
    document = docx.Document(io.BytesIO(as_docx(REPORT)))
    return [paragraph.text for paragraph in document.paragraphs]


def test_markdown_shows_the_words_of_the_sources_as_they_are():
    html = shown_by_markdown()
    assert "<p># Not a heading, *not* bold, [1] no mark. [1]</p>" in html
    assert "<h1>Parts &amp; &lt;joints&gt;</h1>" in html
    assert "<li>new_guide.md, page 3</li>" in html
    assert html.count("<h2>") == 3


def test_html_holds_no_markup_of_the_sources():
    html = as_html(REPORT, CARDS)
    assert "Parts &amp; &lt;joints&gt;</h1>" in html
    assert "<script" not in html
    assert "<li>new_guide.md, page 3" in html


def test_word_has_headings_sources_and_no_unprintable_characters():
    texts = shown_by_word()
    assert texts[:2] == ["Parts & <joints>", "Salt"]
    assert "[1] new_guide.md, page 3" in texts
    assert "An old  fact. [2, superseded] [1] (not compared)" in texts


@pytest.mark.parametrize(
    "shown", [shown_by_markdown(), as_html(REPORT, CARDS), "\n".join(shown_by_word())]
)
def test_every_form_tells_what_is_superseded_missing_and_not_covered(shown):
    assert "[2, superseded]" in shown
    assert "old.md, page 3, superseded" in shown
    assert "Not in what was found: AlMg3." in shown
    assert "Prices: nothing that was found holds" in shown
    assert "40 units were ranked and 0 read. Taken apart by rules, as writer is away." in shown
