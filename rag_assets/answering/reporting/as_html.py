"""A report as one HTML file, without scripts or outside links."""

from collections.abc import Mapping, Sequence

from rag_assets.answering.reporting.cited_report import CitedReport
from rag_assets.answering.reporting.layout import laid_out
from rag_assets.citations.card import Card
from rag_assets.reports import pages


def as_html(report: CitedReport, cards: Mapping[str, Sequence[Card]]) -> str:
    """`report` as a whole page; `cards` are shown below the places that they are of."""
    laid = laid_out(report)
    page = "answering/reporting/page.html"
    return pages.render(page, title=laid.title, laid=laid, cards=cards)
