"""HTML inside Markdown: its pictures, and its tables, which docling reads.

A table may extend over several blocks, as a blank line ends a block of HTML. A run of blocks that
closes all tables that it opens is read as a piece of a web page; whatever else it holds becomes
elements too. Tables that are never closed, or are no tables, stay as they are written.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from rag_assets.documents.elements.element import Element

if TYPE_CHECKING:
    from markdown_it.token import Token

TABLE = re.compile(r"<(/?)table(?=[\s/>])", re.IGNORECASE)
DEEPEST = 8
"""Tables within each other; a file that nests more is a trap, and its tables stay as written."""
LARGEST = 200_000
"""The most characters of a run; a larger one is data, and stays as it is written."""


def without_comments(html: str) -> str:
    """HTML without its comments; one that never ends is none."""
    kept, start = [], 0
    while (opened := html.find("<!--", start)) >= 0:
        closed = html.find("-->", opened + 4)
        if closed < 0:
            break
        kept.append(html[start:opened])
        start = closed + 3
    return "".join([*kept, html[start:]])


def pictures(html: str) -> list[tuple[str, str]]:
    """Target and alternative text of each picture, up to where the HTML cannot be read."""
    tags = _Tags()
    with suppress(AssertionError):  # the standard library raises it for a broken declaration
        tags.feed(without_comments(html))
    return tags.found


class _Tags(HTMLParser):
    """Collects the pictures of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "img" and (target := (values.get("src") or "").strip()):
            self.found.append((target, values.get("alt") or ""))


def table_runs(blocks: "Sequence[Sequence[Token]]") -> list[range]:
    """The runs of blocks that hold whole tables, in their order."""
    opened: list[int] = []
    runs: list[range] = []
    for place, block in enumerate(blocks):
        if block[0].type != "html_block":
            continue
        for tag in TABLE.finditer(without_comments(block[0].content)):
            if not tag[1]:
                opened.append(place)
                if len(opened) > DEEPEST:
                    return []
            elif opened:
                first = opened.pop()
                while runs and runs[-1].stop > first:
                    first = min(first, runs.pop().start)
                runs.append(range(first, place + 1))
    return runs


def elements_of(blocks: "Sequence[Sequence[Token]]", lines: Sequence[str]) -> list[Element]:
    """What a run of blocks holds, its pictures aside; nothing if there is no table in it.

    Args:
        blocks: The run.
        lines: Those of the whole file.
    """
    from rag_assets.documents.parsers.office import docling_office

    html = "\n".join(_html(block, lines) for block in blocks)
    found = docling_office.elements_of(html) if len(html) <= LARGEST else []
    if not any(element.type == "table" for element in found):
        return []
    return [element for element in found if element.type != "figure"]


def _html(block: "Sequence[Token]", lines: Sequence[str]) -> str:
    token = block[0]
    if token.type == "fence":
        return f"<pre>{escape(token.content)}</pre>"
    first, end = token.map or (0, 0)
    return "\n".join(lines[first:end])
