"""The pieces of a unit's text that an answer may quote: sentences, items of lists, rows of tables.

Chunks are slices of Markdown-like text: blocks with empty lines between them. A heading is no
piece, and neither is a line of dashes. The halves of a sentence before and behind the break of a
page or a column are one piece. An item keeps the introduction that ends with a colon, by which it
is rated; a row of a table keeps its header row, so that it can be read alone. What is markup alone
is no piece.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.documents.chunks.regions import SEPARATOR, Block, DocumentText
from rag_assets.documents.chunks.sentences import Grade, grades
from rag_assets.documents.chunks.tokens import Words

PieceKind: TypeAlias = Literal["sentence", "fragment", "item", "row"]
"""A `fragment` begins or ends in the middle of a sentence, or holds no sentence at all."""
Range: TypeAlias = tuple[int, int]
"""First character, and one past the last."""

LONGEST_HEADING = 14
"""The most words of a heading."""
_WORD = re.compile(r"\S+")
_ITEM = re.compile(
    r"[ \t]*(?:[-*+\u2022\u25cf\u25aa\u25e6]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?=\S)"
)
_RULE = re.compile(r"[\s|:=_*-]*")
_EDGE = re.compile(r"(?<!\\)\|")
_CLOSED = re.compile(r"[.!?:;\u2026\u3002][\"'\u201d\u2019\u00bb)\]*_]*$")
_WHOLE_END = re.compile(r"[.!?\u2026\u3002][\"'\u201d\u2019\u00bb)\]*_\d]*$")
_HEADING_MARK = re.compile(r"#{1,6}\s+")
_ELEMENTS = (
    "a|b|br|center|details|div|em|figcaption|figure|font|h[1-6]|hr|i|iframe|img|li|ol|p|picture|s"
    "|section|small|source|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul|video"
)
_MARKUP = re.compile(
    rf"<!--.*?-->|</?(?:{_ELEMENTS})(?:\s[^<>]*=[^<>]*|\s+[a-z]+)?\s*/?>|^:::[^\n]*$"
    r"|^\*\*+$|(?<![\w)\]])\*\*+(?=\S)|(?<=\S)\*\*+(?![\w(\[])|(?<!\w)__+|__+(?!\w)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
"""Tags of HTML, directives of Markdown dialects (`:::note`), and marks of emphasis; `10**6` and
`i<u and v>p` have none."""
BOLD = re.compile(r"(?<![\w)\]*])\*\*+(?=[^\s*])([^*]*[^\s*])\*\*+")
"""Words between marks of emphasis, which may end inside a word."""
_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\((?:[^()\s]|\([^()\s]*\))+\)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text that can be quoted."""

    start: int
    end: int
    """One past the last character."""
    kind: PieceKind
    lead: Range | None = None
    """The text that it is read with: the introduction of its list, the header row of its table, or
    the first half of its sentence, before the break of a page or a column."""

    @property
    def ranges(self) -> tuple[Range, ...]:
        """What has to be cited to show it: an item stands for itself."""
        own = (self.start, self.end)
        return (self.lead, own) if self.lead and self.kind != "item" else (own,)


def pieces_of(text: str) -> list[Piece]:
    """The pieces of `text` in their order; none overlap."""
    found: list[Piece] = []
    lead: Range | None = None
    blocks = list(_blocks(text))
    for place, (start, end) in enumerate(blocks):
        block = text[start:end]
        is_last = place == len(blocks) - 1
        if _is_table(block):
            found += _rows(text, start, end)
            lead = None
        elif not is_last and _is_heading(block, above=text[slice(*blocks[place + 1])]):
            lead = None
        else:
            of_block = list(_sentences(text, start, end, lead=lead))
            if found and of_block and _goes_on(found[-1], of_block[0], text):
                of_block[0] = _joined(found.pop(), of_block[0], text)
            found += of_block
            lead = _introduction(text, of_block, before=lead)
    return found


def shown(piece: Piece, text: str) -> str:
    """`piece` of `text` as a line to read: the words as they are, without markup."""
    if piece.kind == "row":
        header = text[slice(*piece.lead)] if piece.lead else ""
        return _row_as_line(text[piece.start : piece.end], header)
    return " ".join(plain(text[slice(*part)]) for part in piece.ranges)


def read(piece: Piece, text: str) -> str:
    """`piece` as it is rated: an item with the introduction of its list before it."""
    if piece.kind != "item" or piece.lead is None:
        return shown(piece, text)
    return f"{plain(text[slice(*piece.lead)])} {shown(piece, text)}"


def plain(text: str) -> str:
    """The words of `text` in one line, without tags of HTML and marks of Markdown."""
    return " ".join(_MARKUP.sub("", BOLD.sub(r"\1", _LINK.sub(r"\1", text))).split())


def cells_of(line: str) -> list[str]:
    """The cells of a line of a table in Markdown."""
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [plain(cell.replace("\\|", "|")) for cell in _EDGE.split(inner)]


def _row_as_line(row: str, header: str) -> str:
    cells = cells_of(row)
    names = cells_of(header) if header else []
    names += [""] * (len(cells) - len(names))
    named = ((name, cell) for name, cell in zip(names, cells, strict=False) if cell)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named)


def _blocks(text: str) -> Iterator[Range]:
    """The parts between empty lines, and where a table begins or ends; a heading line is one."""
    start = 0
    for part in text.split(SEPARATOR):
        yield from _parts(text, start, start + len(part))
        start += len(part) + len(SEPARATOR)


def _parts(text: str, start: int, end: int) -> Iterator[Range]:
    first = start
    is_table: bool | None = None
    place = start
    for line in text[start:end].split("\n"):
        is_row = line.lstrip().startswith("|")
        is_marked = _HEADING_MARK.match(line) is not None
        if place > first and (is_row != is_table or is_marked):
            yield from _stripped(text, first, place - 1)
            first = place
        is_table = is_row if not is_marked else None
        place += len(line) + 1
    yield from _stripped(text, first, end)


def _stripped(text: str, start: int, end: int) -> Iterator[Range]:
    part = text[start:end]
    if words := part.strip():
        first = start + part.index(words[0])
        yield first, first + len(words)


def _is_table(block: str) -> bool:
    return block.startswith("|")


def _is_heading(block: str, *, above: str) -> bool:
    """Whether it is a line of few words, above no list, that no mark of punctuation ends."""
    if "\n" in block or _ITEM.match(block) or _ITEM.match(above):
        return False
    if _HEADING_MARK.match(block):
        return True
    return len(block.split()) <= LONGEST_HEADING and _CLOSED.search(block) is None


def _rows(text: str, start: int, end: int) -> Iterator[Piece]:
    lines = [(at, at + len(line)) for at, line in _lines(text, start, end)]
    rows = [line for line in lines if not _RULE.fullmatch(text[slice(*line)])]
    header, *others = rows if rows else [(start, end)]
    if not others:
        yield Piece(*header, "row")
    for row in others:
        yield Piece(*row, "row", lead=header)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for line in text[start:end].split("\n"):
        yield start, line
        start += len(line) + 1


def _sentences(text: str, start: int, end: int, *, lead: Range | None) -> Iterator[Piece]:
    block = text[start:end]
    is_list = _ITEM.match(block) is not None
    for first, last in _cut(block, kind="list" if is_list else "text"):
        item = _ITEM.match(block, first, last)
        begin = item.end() if item else first
        words = block[begin:last]
        if not any(map(str.isalnum, plain(words))):
            continue
        is_item = is_list and item is not None
        yield Piece(
            start + begin,
            start + last,
            "item" if is_item else _kind(words),
            lead=lead if is_item or (lead and first == 0 and words[:1].islower()) else None,
        )


def _kind(words: str) -> PieceKind:
    begins = not words[:1].islower() and not words.startswith((")", ",", ";", ":", "."))
    return "sentence" if begins and _WHOLE_END.search(words) else "fragment"


def _goes_on(before: Piece, after: Piece, text: str) -> bool:
    """Whether a break of a page or a column parts a sentence into `before` and `after`."""
    return (
        before.kind == after.kind == "fragment"
        and before.lead is None
        and after.lead is None
        and _CLOSED.search(text[before.start : before.end]) is None
        and text[after.start : after.end][:1].islower()
    )


def _joined(before: Piece, after: Piece, text: str) -> Piece:
    is_closed = _WHOLE_END.search(text[after.start : after.end]) is not None
    begins = not text[before.start : before.end][:1].islower()
    kind = "sentence" if is_closed and begins else "fragment"
    return Piece(after.start, after.end, kind, lead=(before.start, before.end))


def _introduction(text: str, pieces: Sequence[Piece], *, before: Range | None) -> Range | None:
    """What introduces the next block: the last piece where it ends with a colon.

    The items of one list are a block each; all of them keep its introduction.
    """
    if not pieces:
        return None
    last = pieces[-1]
    if text[last.start : last.end].endswith(":"):
        return last.start, last.end
    return before if last.kind == "item" else None


def _cut(block: str, *, kind: str) -> Iterator[Range]:
    """The sentences of a block, and the items of a list."""
    matches = list(_WORD.finditer(block))
    starts, ends = [match.start() for match in matches], [match.end() for match in matches]
    counts = range(len(matches) + 1)
    words = Words(array("q", starts), array("q", ends), array("q", counts), most=1)
    document = DocumentText.of([Block(0, kind, block, None, ())])
    marks = grades(document, words, room=0)
    first = 0
    for place in range(1, len(matches) + 1):
        if place == len(matches) or marks[place] <= Grade.SENTENCE:
            yield starts[first], ends[place - 1]
            first = place
