"""The forms in which a report is written as a file."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.answering.reporting.as_docx import as_docx
from rag_assets.answering.reporting.as_html import as_html
from rag_assets.answering.reporting.as_markdown import as_markdown

if TYPE_CHECKING:
    from rag_assets.answering.assistant import Assistant
    from rag_assets.answering.reporting.cited_report import CitedReport

Progress: TypeAlias = Callable[[str], None]
Form: TypeAlias = "Callable[[CitedReport, Assistant, Progress], str | bytes]"
FORMS: Mapping[str, Form] = {
    "md": lambda report, _assistant, _progress: as_markdown(report),
    "html": lambda report, assistant, progress: as_html(
        report, assistant.cards.by_place(report.citations, progress=progress)
    ),
    "docx": lambda report, _assistant, _progress: as_docx(report),
}
"""The writer of a report by the ending of its file. What takes long is told to `progress`, as is
each search."""
