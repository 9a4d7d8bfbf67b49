"""A report as one HTML file, without scripts or outside links."""

from collections.abc import Iterator
from html import escape

from rag_assets.answering.reporting.layout import LaidReport, LaidSection, LaidTable, laid_out
from rag_assets.answering.reporting.report import CitedReport
from rag_assets.reports.pages import bullets, note, page, section


def as_html(report: CitedReport) -> str:
    """`report` as a whole page."""
    laid = laid_out(report)
    return page(laid.title, _parts(laid))


def _parts(laid: LaidReport) -> Iterator[str]:
    yield f"<h1>{escape(laid.title)}</h1>"
    if laid.comparison:
        yield _table(laid.comparison)
    for each in laid.sections:
        yield from section(each.title, *_told(each))
    if laid.not_covered:
        yield from section("Not covered", bullets(laid.not_covered))
    if laid.sources:
        items = "".join(f"<li>{escape(place)}</li>" for place in laid.sources)
        yield from section("Sources", f"<ol>{items}</ol>")
    yield note(laid.about)


def _table(table: LaidTable) -> str:
    things = (f"{thing.text}{thing.marks}" for thing in table.things)
    rows = (
        "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
        for tag, row in [("th", ["", *things]), *(("td", row) for row in table.rows)]
    )
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _told(told: LaidSection) -> Iterator[str]:
    tag = "li" if told.is_list else "p"
    lines = [
        f'<{tag}>{escape(sentence.text)}<span class="about">{escape(sentence.marks)}</span></{tag}>'
        for sentence in told.sentences
    ]
    yield from ["<ul>", *lines, "</ul>"] if told.is_list else lines
    if told.note:
        yield note(told.note)
