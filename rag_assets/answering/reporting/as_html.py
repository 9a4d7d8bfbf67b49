"""A report as one HTML file, without scripts or outside links."""

from collections.abc import Iterator
from html import escape

from rag_assets.answering.reporting.layout import LaidReport, LaidSection, laid_out
from rag_assets.answering.reporting.report import CitedReport
from rag_assets.reports.pages import bullets, note, page, section


def as_html(report: CitedReport) -> str:
    """`report` as a whole page."""
    laid = laid_out(report)
    return page(laid.title, _parts(laid))


def _parts(laid: LaidReport) -> Iterator[str]:
    yield f"<h1>{escape(laid.title)}</h1>"
    for each in laid.sections:
        yield from section(each.title, *_told(each))
    if laid.not_covered:
        yield from section("Not covered", bullets(laid.not_covered))
    if laid.sources:
        items = "".join(f"<li>{escape(place)}</li>" for place in laid.sources)
        yield from section("Sources", f"<ol>{items}</ol>")
    yield note(laid.about)


def _told(told: LaidSection) -> Iterator[str]:
    for sentence in told.sentences:
        yield f'<p>{escape(sentence.text)}<span class="about">{escape(sentence.marks)}</span></p>'
    if told.note:
        yield note(told.note)
