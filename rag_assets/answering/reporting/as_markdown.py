"""A report in Markdown."""

import re
from collections.abc import Iterator

from rag_assets.answering.reporting.cited_report import CitedReport
from rag_assets.answering.reporting.layout import LaidSection, LaidTable, laid_out

_SPECIAL = re.compile(r"((?<!\w)_|_(?!\w)|[\\`*\[\]<>|~$])")
_BEGINS_BLOCK = re.compile(r"^(\s*)([#+-]|\d+[.)])(?=\s|$)")


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
