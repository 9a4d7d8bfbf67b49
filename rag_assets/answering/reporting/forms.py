"""The forms in which a report is written as a file: Markdown, HTML and DOCX.

The HTML is one file, without scripts or outside links.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.answering.reporting.cited_report import CitedReport
from rag_assets.answering.reporting.layout import LaidSection, LaidTable, laid_out
from rag_assets.citations.card import Card
from rag_assets.reports import pages

if TYPE_CHECKING:
    from docx.document import Document

    from rag_assets.answering.assistant import Assistant

_SPECIAL = re.compile(r"((?<!\w)_|_(?!\w)|[\\`*\[\]<>|~$])")
_BEGINS_BLOCK = re.compile(r"^(\s*)([#+-]|\d+[.)])(?=\s|$)")
LONGEST_TITLE = 255
"""The most characters of the title among the properties of a document."""
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


def as_html(report: CitedReport, cards: Mapping[str, Sequence[Card]]) -> str:
    """`report` as a whole page; `cards` are shown below the places that they are of."""
    laid = laid_out(report)
    page = "answering/reporting/page.html"
    return pages.render(page, title=laid.title, laid=laid, cards=cards)


def as_markdown(report: CitedReport) -> str:
    """`report` as Markdown; what a source says stays text and is never read as markup."""
    return "\n\n".join(_blocks(report)) + "\n"


def _blocks(report: CitedReport) -> Iterator[str]:
    laid = laid_out(report)
    yield f"# {_plain(laid.title)}"
    if laid.comparison:
        yield _table(laid.comparison)
    for section in laid.sections:
        yield from _section(section)
    if laid.not_covered:
        yield "## Not covered"
        yield "\n".join(f"- {_plain(line)}" for line in laid.not_covered)
    if laid.sources:
        yield "## Sources"
        sources = enumerate(laid.sources, start=1)
        yield "\n".join(f"{number}. {_plain(place)}" for number, (_, place) in sources)
    yield _plain(laid.about)


def _section(section: LaidSection) -> Iterator[str]:
    yield f"## {_plain(section.title)}"
    told = [f"{_plain(sentence.text)}{sentence.marks}" for sentence in section.sentences]
    if section.is_list:
        yield "\n".join(f"- {line}" for line in told)
    else:
        yield from told
    if section.note:
        yield f"*{_plain(section.note)}*"


def _table(table: LaidTable) -> str:
    things = [f"{_plain(thing.text)}{thing.marks}" for thing in table.things]
    rows = [["", *things], ["---"] * (1 + len(things)), *(map(_plain, row) for row in table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _plain(text: str) -> str:
    """`text` so that Markdown shows it as it is, on one line."""
    line = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return _BEGINS_BLOCK.sub(_escaped, line)


def _escaped(match: re.Match[str]) -> str:
    mark = match[2]
    return f"{match[1]}{mark[:-1]}\\{mark[-1]}"


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
        _add_section(document, section)
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


def _add_section(document: "Document", section: LaidSection) -> None:
    document.add_heading(section.title, level=1)
    for sentence in section.sentences:
        style = "List Bullet" if section.is_list else None
        document.add_paragraph(f"{sentence.text}{sentence.marks}", style=style)
    if section.note:
        document.add_paragraph().add_run(section.note).italic = True
