"""A report as one HTML file, without scripts or outside links."""

from rag_assets.answering.reporting.layout import laid_out
from rag_assets.answering.reporting.report import CitedReport
from rag_assets.reports import pages


def as_html(report: CitedReport) -> str:
    """`report` as a whole page."""
    laid = laid_out(report)
    return pages.render("answering/reporting/page.html", title=laid.title, laid=laid)
