"""Markdown and plain text: the blocks of the source, unchanged.

A picture that lies beside the file, or inside it as `data:`, becomes a figure after the block that
shows it; a paragraph of nothing but such pictures becomes those figures. Links to other places stay
as they are written. Tables in HTML are read like those of a web page.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from rag_assets.documents.elements.element import Element, clean, to_json
from rag_assets.documents.parsers.description import Parser
from rag_assets.documents.parsers.pictures import link_of
from rag_assets.documents.parsers.tables import table_of
from rag_assets.documents.parsers.text import html_blocks
from rag_assets.media.encodings import HEAD, code_page_of, utf16_of
from rag_assets.media.media_types import MARKDOWN, PLAIN, SUFFIXES
from rag_assets.workers import Json

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.utils import EnvType

PARSER = Parser(
    name="text",
    module=__name__,
    revision=8,
    distribution="markdown-it-py",
    install="pip install markdown-it-py",
    harmless_bytes=1_000_000,
    other_packages=("docling-slim", "chardet"),
)

_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\n(?!\s*\n)(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
"""What follows a blank line is no front matter: the first line is a rule then."""
_LINE_BREAKS = ("\r\n", "\r", "\v", "\f")
"""Word parts lines by a vertical tab, and printers pages by a form feed."""
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_PICTURE = re.compile(r"!\[|<img\b", re.IGNORECASE)
_PAYLOAD = re.compile(
    r"(data:(?:image/[\w.+-]+|[\w.+-]+/[\w.+-]+(?=[;\w=.-]*;base64,)))(?:;[\w=.-]+)*,[\w+/=%-]+"
)
"""A picture or another file inside the text, which no reader can read as text."""

_TYPES = {
    "heading_open": "heading",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
}


def parse(path: str, pages: list[int] | None) -> Json:  # noqa: ARG001 - text has no pages
    """Elements of the file: see the package's docstring."""
    media_type = MARKDOWN if path.endswith(SUFFIXES[MARKDOWN]) else PLAIN
    return to_json(elements(Path(path).read_bytes(), media_type))


def is_harmless(content: bytes, media_type: str) -> bool:
    """Whether no table of HTML is in it, for which docling is loaded."""
    return media_type != MARKDOWN or not html_blocks.TABLE.search(_decoded(content))


def elements(content: bytes, media_type: str) -> Iterator[Element]:
    """Elements of a file: see the package's docstring."""
    blocks = _markdown if media_type == MARKDOWN else _paragraphs
    found = blocks(_decoded(content))
    return (element for element in found if element.text or element.link)


def _decoded(content: bytes) -> str:
    """Text in UTF-8, in UTF-16, or in the code page that its letters tell."""
    if utf16 := utf16_of(content[:HEAD]):
        text = content.decode(utf16, "replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            page = code_page_of(content.splitlines(keepends=True))
            text = content.decode(page.name, "replace")
    for line_break in _LINE_BREAKS:
        text = text.replace(line_break, "\n")
    return text


def _paragraphs(source: str) -> Iterator[Element]:
    for paragraph in _BLANK_LINES.split(_without_payloads(clean(source))):
        yield Element("text", paragraph.strip())


def _markdown(source: str) -> Iterator[Element]:
    if front_matter := _FRONT_MATTER.match(source):
        yield Element(type="text", text=clean(front_matter.group(1)))
        source = source[front_matter.end() :]
    lines = source.split("\n")
    blocks = list(_blocks(_block_reader().parse(source)))
    targets: EnvType = {}
    shows = bool(_PICTURE.search(source))
    if shows:
        _target_reader().parse(source, targets)
    start = 0
    for run in html_blocks.table_runs(blocks):
        yield from _elements(blocks[start : run.start], lines, targets, shows=shows)
        of_run = blocks[run.start : run.stop]
        if found := html_blocks.elements_of(of_run, lines):
            yield from found
            shown = chain.from_iterable(_shown(block, targets) for block in of_run)
            yield from _figures(shown)
        else:
            yield from _elements(of_run, lines, targets, shows=shows)
        start = run.stop
    yield from _elements(blocks[start:], lines, targets, shows=shows)


def _elements(
    blocks: "Iterable[Sequence[Token]]", lines: Sequence[str], targets: "EnvType", *, shows: bool
) -> Iterator[Element]:
    """The blocks one by one; `shows` says whether there is any picture to be looked for."""
    for block in blocks:
        shown = list(_shown(block, targets)) if shows else []
        figures = list(_figures(shown))
        if not (figures and len(figures) == len(shown) and _is_of_pictures(block, targets)):
            yield _element(block, lines)
        yield from figures


def _blocks(tokens: "Sequence[Token]") -> "Iterator[Sequence[Token]]":
    """The tokens of each block that lies in no other one."""
    start = 0
    for end, token in enumerate(tokens, 1):
        if token.level == 0 and token.nesting <= 0:
            yield tokens[start:end]
            start = end


def _element(block: "Sequence[Token]", lines: Sequence[str]) -> Element:
    """One block; inside a list or a quotation, whatever it holds stays as it is written."""
    token = block[0]
    kind = _TYPES.get(token.type, "text")
    if kind == "heading":
        return Element(type=kind, text=_plain(block[1].content), level=int(token.tag[1:]))
    if kind == "code":
        return Element(type=kind, text=_without_payloads(clean(token.content)))
    first, end = token.map or (0, 0)
    source = _without_payloads(clean(dedent("\n".join(lines[first:end]))))
    if kind == "table":
        return table_of(_rows(block), text=source, markdown=source)
    if token.type == "html_block":
        return Element(type=kind, text=clean(html_blocks.without_comments(source)))
    if token.type == "hr":
        return Element(type=kind, text="")
    if source.startswith("$$") and source.endswith("$$"):
        kind = "formula"
    return Element(type=kind, text=source)


def _without_payloads(text: str) -> str:
    """The text without the bytes of files that it holds as `data:`; what they are stays."""
    return _PAYLOAD.sub(r"\1", text) if "data:" in text else text


def _plain(heading: str) -> str:
    """The words of a heading without emphasis marks, link targets and tags of HTML."""
    (inline,) = _inline_reader().parseInline(heading)
    parts = (
        "\n" if child.type in ("softbreak", "hardbreak") else child.content
        for child in inline.children or ()
        if child.type != "html_inline"
    )
    return " ".join(clean("".join(parts) or heading).split())


@cache
def _block_reader() -> "MarkdownIt":
    """Leaves what stands inside a paragraph as it is written: reading it would cost most.

    So the targets of links and footnotes are kept where they stand.
    """
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable(["inline", "reference"])


@cache
def _inline_reader() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


@cache
def _target_reader() -> "MarkdownIt":
    """Finds the targets that are named apart from where they are shown: `[plot]: plot.png`."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("inline")


def _shown(block: "Sequence[Token]", targets: "EnvType") -> Iterator[tuple[str, str]]:
    """Target and alternative text of each picture that a block shows."""
    for token in block:
        if token.type == "html_block":
            yield from html_blocks.pictures(token.content)
        elif token.type == "inline" and _PICTURE.search(token.content):
            for child in _children(token, targets):
                if child.type == "image":
                    yield str(child.attrs["src"]), child.content
                elif child.type == "html_inline":
                    yield from html_blocks.pictures(child.content)


def _is_of_pictures(block: "Sequence[Token]", targets: "EnvType") -> bool:
    """Whether a block is a paragraph that holds nothing but pictures."""
    return block[0].type == "paragraph_open" and all(
        child.type in ("image", "softbreak", "hardbreak")
        or (child.type == "html_inline" and bool(html_blocks.pictures(child.content)))
        or (not child.content.strip() and child.type == "text")
        for child in _children(block[1], targets)
    )


def _children(inline: "Token", targets: "EnvType") -> "Sequence[Token]":
    (read,) = _inline_reader().parseInline(inline.content, targets)
    return read.children or ()


def _figures(shown: Iterable[tuple[str, str]]) -> Iterator[Element]:
    """The figures of pictures that the file holds, or that lie beside it."""
    for target, alt in shown:
        if link := link_of(target):
            yield Element(type="figure", text=" ".join(clean(alt).split()), link=link)


def _rows(tokens: "Sequence[Token]") -> Iterator[list[str]]:
    """Cells of a table."""
    row: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(token.content)
        elif token.type == "tr_close":
            yield row
