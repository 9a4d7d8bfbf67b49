"""A report as a Word document."""

from io import BytesIO
from typing import TYPE_CHECKING

from rag_assets.answering.reporting.cited_report import CitedReport
from rag_assets.answering.reporting.layout import LaidSection, laid_out

if TYPE_CHECKING:
    from docx.document import Document

LONGEST_TITLE = 255
"""The most characters of the title among the properties of a document."""


def as_docx(report: CitedReport) -> bytes:
    """`report` as the content of a DOCX file."""
    import docx

    laid = laid_out(report)
    document = docx.Document()
    document.core_properties.title = laid.title[:LONGEST_TITLE]
    document.core_properties.author = "rag-assets"
    document.add_heading(laid.title, level=0)
    if laid.comparison:
        things = [f"{thing.text}{thing.marks}" for thing in laid.comparison.things]
        table = document.add_table(0, 1 + len(things))
        for row in (["", *things], *laid.comparison.rows):
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.text = text
    for section in laid.sections:
        _add(document, section)
    if laid.not_covered:
        document.add_heading("Not covered", level=1)
        for line in laid.not_covered:
            document.add_paragraph(line, style="List Bullet")
    if laid.sources:
        document.add_heading("Sources", level=1)
        for number, (_, place) in enumerate(laid.sources, start=1):
            document.add_paragraph(f"[{number}] {place}")
    document.add_paragraph().add_run(laid.about).italic = True
    content = BytesIO()
    document.save(content)
    return content.getvalue()


def _add(document: "Document", section: LaidSection) -> None:
    document.add_heading(section.title, level=1)
    for sentence in section.sentences:
        style = "List Bullet" if section.is_list else None
        document.add_paragraph(f"{sentence.text}{sentence.marks}", style=style)
    if section.note:
        document.add_paragraph().add_run(section.note).italic = True
