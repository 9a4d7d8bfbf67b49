"""The header of a chunk: lines before its slice of text, which enter the model with it.

The chunking's header names the document, its section, or its header fields. Some regions add what
their chunks cannot be understood without. The later chunks of a long table get its caption and
header row. A figure gets the paragraph that refers to it (or else the heading of its section) and
the description by a vision model.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property

from rag_assets.documents.chunks.regions import DocumentText, Region
from rag_assets.documents.chunks.tokens import TokenCounter
from rag_assets.schemas import HEADINGS

LINE_END = "\n"
SEPARATOR = " > "
FIELD_SEPARATOR = "; "
SHARE = 4
"""A chunking's header takes at most the limit divided by this."""
TABLE_SHARE = 2
"""Caption and header row take at most the limit divided by this."""

_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_REFERENCE = re.compile(
    r"\b(?:figures?|figs?\.?|figur(?:en|er)?|bild(?:en|er)?|abb(?:ildung|\.)?)\s*"
    r"(?P<number>[A-Z]?\d+(?:[.-]\d+)*)",
    re.IGNORECASE,
)


@dataclass(eq=False)
class Headers:
    """The headers of the chunks of one document."""

    document: DocumentText
    """What the chunks are cut from."""
    counter: TokenCounter
    header: str = field(kw_only=True)
    """`none`, `title`, `section` or `fields`."""
    size: int = field(kw_only=True)
    """Most tokens of a chunk."""
    name: str = ""
    """The document's name if no heading spans it."""
    fields: tuple[str, ...] = ()
    """Its header fields, `name: value` each."""
    rule: bool = False
    """Whether the header row of a table is repeated with the rule below it."""

    def __post_init__(self) -> None:
        self.most = self.size // SHARE if self.header != "none" else 0
        """Tokens that the chunking's header takes at most."""
        self._fitted: dict[tuple[str, int], tuple[str, int]] = {}
        self._added: dict[int, tuple[str, int]] = {}

    def at(self, start: int, region: Region) -> tuple[str, int]:
        """Header, line breaks included, and tokens of a chunk that begins at `start`."""
        text, tokens = self._of_document(start) if self.header != "none" else ("", 0)
        if region.subject is None or start <= self._bare_until(region):
            return text, tokens
        added, more = self.added(region)
        return text + added, tokens + more

    def added(self, region: Region) -> tuple[str, int]:
        """What the region adds to the header of its chunks, and its tokens."""
        if region.subject is None:
            return "", 0
        if region.start not in self._added:
            is_table = region.type == "table"
            added = self._of_table(region) if is_table else self._of_figure(region)
            self._added[region.start] = added
        return self._added[region.start]

    def _bare_until(self, region: Region) -> int:
        """Chunks that begin at or before this place contain already what the region would add."""
        subject = region.subject or 0
        return self.document.starts[subject] if region.type == "table" else -1

    def _of_document(self, start: int) -> tuple[str, int]:
        if self.header == "fields" and self.fields:
            return self._shortened(FIELD_SEPARATOR.join(self.fields), most=self.most)
        place = self.document.place(start)
        block = self.document.blocks[place]
        path = block.section_path
        parts = path if path[:1] == (self._title,) else (self._title, *path)
        if block.type in HEADINGS and start == self.document.starts[place]:
            parts = parts[:-1]
        shown = parts if self.header == "section" else parts[:1]
        return self._shortened(SEPARATOR.join(shown), most=self.most)

    def _of_table(self, region: Region) -> tuple[str, int]:
        """Caption and header row, or what fits of the two."""
        blocks = self.document.blocks
        caption = " ".join(" ".join(blocks[place].text.split()) for place in region.captions)
        row = header_row(blocks[region.subject or 0].text)
        ruled = row + LINE_END + _rule_below(row) if self.rule and row else row
        for lines in ((caption, ruled), (caption, row), (ruled,), (row,), (caption,)):
            text = "".join(line + LINE_END for line in lines if line)
            tokens = self._tokens(text)
            if text and tokens <= self.size // TABLE_SHARE:
                return text, tokens
        return "", 0

    def _of_figure(self, region: Region) -> tuple[str, int]:
        """The text around a figure that refers to it, and its description: a line each."""
        block = self.document.blocks[region.subject or 0]
        lines = [self._around(region), " ".join((block.description or "").split())]
        fitted = [self._shortened(line, most=self.size // SHARE) for line in lines if line]
        return "".join(text for text, _ in fitted), sum(tokens for _, tokens in fitted)

    def _around(self, region: Region) -> str:
        """The first paragraph of the section that refers to a figure, else the section's name."""
        path = self.document.blocks[region.subject or 0].section_path
        own = self.document.text[region.start : region.end]
        label = _REFERENCE.search(own)
        place = self._references.get((path, label["number"])) if label else None
        if place is not None:
            return " ".join(self.document.blocks[place].text.split())
        return path[-1] if path and self.header != "section" and path[-1] not in own else ""

    @cached_property
    def _references(self) -> dict[tuple[tuple[str, ...], str], int]:
        """The block that first names a figure, by the section and number of the figure."""
        found: dict[tuple[tuple[str, ...], str], int] = {}
        for place, block in enumerate(self.document.blocks):
            if block.type in ("text", "list"):
                for match in _REFERENCE.finditer(block.text):
                    found.setdefault((block.section_path, match["number"]), place)
        return found

    @cached_property
    def _title(self) -> str:
        """The heading that all others lie under, else the document's name."""
        blocks = self.document.blocks
        outermost = {block.section_path[0] for block in blocks if block.section_path}
        return outermost.pop() if len(outermost) == 1 else self.name

    def _shortened(self, header: str, *, most: int) -> tuple[str, int]:
        """The words of `header` that fit, and their tokens; none if not even the first does."""
        if (header, most) not in self._fitted:
            self._fitted[header, most] = self._longest(header, most=most)
        return self._fitted[header, most]

    def _longest(self, header: str, *, most: int) -> tuple[str, int]:
        words = header.split()
        for last in range(min(len(words), most), 0, -1):
            line = " ".join(words[:last]) + LINE_END
            tokens = self._tokens(line)
            if tokens <= most:
                return line, tokens
        return "", 0

    def _tokens(self, text: str) -> int:
        return self.counter.count(text) - self.counter.special


def _rule_below(row: str) -> str:
    """The shortest rule that makes `row` the header of a table in Markdown."""
    cells = len(_CELL_EDGE.findall(row.strip().strip("|"))) + 1
    return "|" + "-|" * cells


def header_row(table: str) -> str:
    """The header row of a table in Markdown; empty where it has none."""
    first, _, rest = table.partition("\n")
    rule, _, rows = rest.partition("\n")
    return first if rows and _RULE.fullmatch(rule) else ""
