"""Page layout for the demo PDFs: blocks that know their height, set in one or two columns.

Text may carry a little markup: ``**bold**``, ``//italic//``, ``_{sub}`` and ``^{super}``.
The same blocks give the same bytes: no dates of today, no random ids.
"""

# ruff: noqa: RUF001

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import pymupdf

if TYPE_CHECKING:
    from pathlib import Path

PAGE_WIDTH, PAGE_HEIGHT = 595.0, 842.0
"""A4 in points."""

Colour = tuple[float, float, float]
BLACK: Colour = (0.0, 0.0, 0.0)
GREY: Colour = (0.45, 0.45, 0.45)
BLUE: Colour = (0.05, 0.23, 0.42)
SHADE: Colour = (0.91, 0.93, 0.95)

Family = Literal["sans", "serif"]
_FONT_NAMES: dict[Family, dict[str, str]] = {
    "sans": {"regular": "helv", "bold": "hebo", "italic": "heit"},
    "serif": {"regular": "tiro", "bold": "tibo", "italic": "tiit"},
}
_MARKUP = re.compile(r"(\*\*|//|_\{|\^\{|\})")


class Fonts:
    """The three faces of one family, loaded once."""

    def __init__(self, family: Family) -> None:
        self.faces = {face: pymupdf.Font(name) for face, name in _FONT_NAMES[family].items()}

    def __getitem__(self, face: str) -> pymupdf.Font:
        return self.faces[face]

    def width(self, word: Word) -> float:
        """Width of a word in points."""
        return sum(self.faces[run.face].text_length(run.text, run.size) for run in word)


@dataclass(frozen=True)
class Run:
    """Text in one face, at one size, shifted from the baseline (points, up is positive)."""

    text: str
    face: str
    size: float
    shift: float = 0.0


Word = tuple[Run, ...]


def words_of(text: str, size: float, face: str = "regular") -> list[Word]:
    """`text` as words, each a tuple of runs; markup is resolved."""
    words: list[list[Run]] = [[]]
    bold = italic = False
    level = 0
    for piece in _MARKUP.split(text):
        if piece == "**":
            bold = not bold
        elif piece == "//":
            italic = not italic
        elif piece == "_{":
            level = -1
        elif piece == "^{":
            level = 1
        elif piece == "}" and level:
            level = 0
        elif piece:
            shown = "bold" if bold else "italic" if italic else face
            small = size * 0.7 if level else size
            shift = size * (0.33 if level > 0 else -0.16 if level < 0 else 0.0)
            for number, part in enumerate(re.split(r"[ \n]+", piece)):
                if number:
                    words.append([])
                if part:
                    words[-1].append(Run(part, shown, small, shift))
    return [tuple(word) for word in words if word]


class Canvas:
    """One page being drawn; `y` grows downwards."""

    def __init__(self, page: pymupdf.Page, fonts: Fonts) -> None:
        self.page = page
        self.fonts = fonts
        self._writers: list[tuple[Colour, pymupdf.TextWriter]] = []

    def write(self, x: float, y: float, word: Word, colour: Colour = BLACK) -> float:
        """Write a word with its baseline at `y`; the x where it ends."""
        if not self._writers or self._writers[-1][0] != colour:
            self._writers.append((colour, pymupdf.TextWriter(self.page.rect, color=colour)))
        for run in word:
            self._writers[-1][1].append(
                (x, y - run.shift), run.text, font=self.fonts[run.face], fontsize=run.size
            )
            x += self.fonts[run.face].text_length(run.text, run.size)
        return x

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 9,
        face: str = "regular",
        colour: Colour = BLACK,
        align: Literal["left", "centre", "right"] = "left",
    ) -> None:
        """Write one line of marked-up text, anchored at `x`."""
        line = words_of(text, size, face)
        space = self.fonts[face].text_length(" ", size)
        total = sum(map(self.fonts.width, line)) + space * (len(line) - 1)
        x -= {"left": 0.0, "centre": total / 2, "right": total}[align]
        joined = _with_spaces(line)
        self.write(x, y, joined, colour)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        width: float = 0.5,
        colour: Colour = GREY,
        dashes: str | None = None,
    ) -> None:
        """Draw a straight line."""
        self.page.draw_line(start, end, color=colour, width=width, dashes=dashes)

    def flush(self) -> None:
        """Put the collected text on the page, in the order in which it was written."""
        for colour, writer in self._writers:
            writer.write_text(self.page, color=colour)
        self._writers.clear()


def _with_spaces(line: Sequence[Word]) -> Word:
    """A line of words as one word, spaces included, so that extracted text keeps them."""
    runs: list[Run] = []
    for number, word in enumerate(line):
        for place, run in enumerate(word):
            if number and not place:
                last = runs[-1]
                if last.shift:
                    runs.append(Run(" ", run.face, run.size))
                else:
                    runs[-1] = Run(last.text + " ", last.face, last.size)
            runs.append(run)
    merged: list[Run] = []
    for run in runs:
        if merged and (merged[-1].face, merged[-1].size, merged[-1].shift) == (
            run.face,
            run.size,
            run.shift,
        ):
            merged[-1] = Run(merged[-1].text + run.text, run.face, run.size, run.shift)
        else:
            merged.append(run)
    return tuple(merged)


def wrap(fonts: Fonts, words: Sequence[Word], width: float, space: float) -> list[list[Word]]:
    """Words as lines no wider than `width`."""
    lines: list[list[Word]] = [[]]
    used = 0.0
    for word in words:
        length = fonts.width(word)
        if lines[-1] and used + space + length > width:
            lines.append([])
            used = 0.0
        used += length + (space if lines[-1] else 0.0)
        lines[-1].append(word)
    return lines


class Block(Protocol):
    """Something that stands on a page."""

    def height(self, fonts: Fonts, width: float) -> float:
        """Height in points when set `width` wide."""
        ...

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> None:
        """Draw with the upper left corner at (`x`, `y`)."""
        ...


@dataclass(frozen=True)
class Para:
    """A paragraph."""

    text: str
    size: float = 8.8
    face: str = "regular"
    colour: Colour = BLACK
    before: float = 0.0
    after: float = 4.5
    indent: float = 0.0
    marker: str = ""

    def _lines(self, fonts: Fonts, width: float) -> list[list[Word]]:
        space = fonts[self.face].text_length(" ", self.size)
        words = words_of(self.text, self.size, self.face)
        return wrap(fonts, words, width - self.indent, space)

    def height(self, fonts: Fonts, width: float) -> float:
        """See `Block`."""
        return self.before + len(self._lines(fonts, width)) * self.size * 1.3 + self.after

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> None:
        """See `Block`."""
        y += self.before
        if self.marker:
            canvas.text(x, y + self.size, self.marker, size=self.size, face=self.face)
        for line in self._lines(canvas.fonts, width):
            canvas.write(x + self.indent, y + self.size, _with_spaces(line), self.colour)
            y += self.size * 1.3


def heading(text: str, level: int = 1) -> Para:
    """A heading; its number is part of the text."""
    size = {0: 17.0, 1: 11.0, 2: 9.6}[level]
    return Para(text, size, "bold", BLUE, before={0: 2.0, 1: 6.0, 2: 3.0}[level], after=3.0)


def bullets(*items: str, size: float = 8.8) -> list[Block]:
    """A list with dashes."""
    return [Para(item, size, indent=10, marker="–", after=2.0) for item in items]


@dataclass(frozen=True)
class Table:
    """A ruled table; `widths` are shares of the full width."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    widths: Sequence[float] = ()
    size: float = 8.0
    after: float = 9.0

    def _shares(self, width: float) -> list[float]:
        shares = list(self.widths) or [1.0] * len(self.head)
        return [width * share / sum(shares) for share in shares]

    def _cell(self, text: str, face: str) -> Para:
        return Para(text, self.size, face, after=0.0)

    def _row_height(self, fonts: Fonts, row: Sequence[str], face: str, width: float) -> float:
        cells = zip(row, self._shares(width), strict=True)
        return max(self._cell(text, face).height(fonts, w - 7) for text, w in cells) + 5

    def _title(self) -> Para:
        return Para(self.caption, 8.3, "bold", before=3.0, after=3.0)

    def height(self, fonts: Fonts, width: float) -> float:
        """See `Block`."""
        total = self._title().height(fonts, width)
        total += self._row_height(fonts, self.head, "bold", width)
        total += sum(self._row_height(fonts, row, "regular", width) for row in self.rows)
        return total + self.after

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> None:
        """See `Block`."""
        self._title().draw(canvas, x, y, width)
        y += self._title().height(canvas.fonts, width)
        top = y
        shares = self._shares(width)
        for number, row in enumerate([self.head, *self.rows]):
            face = "regular" if number else "bold"
            tall = self._row_height(canvas.fonts, row, face, width)
            if not number:
                canvas.page.draw_rect(
                    pymupdf.Rect(x, y, x + width, y + tall), color=None, fill=SHADE, width=0
                )
            left = x
            for text, share in zip(row, shares, strict=True):
                self._cell(text, face).draw(canvas, left + 3.5, y + 1.5, share - 7)
                left += share
            canvas.line((x, y), (x + width, y))
            y += tall
        canvas.line((x, y), (x + width, y))
        left = x
        for share in [*shares, 0.0]:
            canvas.line((left, top), (left, y))
            left += share


@dataclass(frozen=True)
class Frac:
    """A fraction in a formula."""

    over: str
    under: str


@dataclass(frozen=True)
class Formula:
    """A displayed formula with its number at the right."""

    parts: Sequence[str | Frac]
    number: str
    size: float = 11.0

    def height(self, fonts: Fonts, width: float) -> float:
        """See `Block`."""
        del fonts, width
        tall = any(isinstance(part, Frac) for part in self.parts)
        return 38.0 if tall else 22.0

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> None:
        """See `Block`."""
        base = y + self.height(canvas.fonts, width) / 2 + 3
        space = canvas.fonts["regular"].text_length(" ", self.size)

        def measure(text: str) -> float:
            line = words_of(text, self.size)
            return sum(map(canvas.fonts.width, line)) + space * (len(line) - 1)

        widths = [
            max(measure(part.over), measure(part.under)) + 4
            if isinstance(part, Frac)
            else measure(part)
            for part in self.parts
        ]
        left = x + (width - sum(widths) - space * (len(widths) - 1)) / 2
        for part, share in zip(self.parts, widths, strict=True):
            if isinstance(part, Frac):
                middle = left + share / 2
                canvas.text(middle, base - 7, part.over, size=self.size, align="centre")
                canvas.text(middle, base + 10, part.under, size=self.size, align="centre")
                canvas.line((left, base - 3.4), (left + share, base - 3.4), colour=BLACK, width=0.7)
            else:
                canvas.text(left, base, part, size=self.size)
            left += share + space
        canvas.text(x + width, base, f"({self.number})", size=9.5, align="right")


@dataclass(frozen=True)
class Figure:
    """A drawing: `paint` draws into the rectangle (canvas, x, y, width, height)."""

    paint: Callable[[Canvas, float, float, float, float], None]
    tall: float
    caption: str

    def _title(self) -> Para:
        return Para(self.caption, 8.3, "italic", before=3.0, after=8.0)

    def height(self, fonts: Fonts, width: float) -> float:
        """See `Block`."""
        return self.tall + self._title().height(fonts, width)

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> None:
        """See `Block`."""
        self.paint(canvas, x, y, width, self.tall)
        self._title().draw(canvas, x, y + self.tall, width)


@dataclass(frozen=True)
class Pair:
    """Blocks set beside each other: one language in each column."""

    left: Sequence[Block]
    right: Sequence[Block]
    gutter: float = 16.0

    def height(self, fonts: Fonts, width: float) -> float:
        """See `Block`."""
        column = (width - self.gutter) / 2
        return max(
            sum(block.height(fonts, column) for block in side) for side in (self.left, self.right)
        )

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> None:
        """See `Block`."""
        column = (width - self.gutter) / 2
        for side, left in ((self.left, x), (self.right, x + column + self.gutter)):
            top = y
            for block in side:
                block.draw(canvas, left, top, column)
                top += block.height(canvas.fonts, column)


@dataclass(frozen=True)
class NewPage:
    """Go on at the top of the next page."""

    def height(self, fonts: Fonts, width: float) -> float:
        """See `Block`."""
        del fonts, width
        return 0.0

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> None:
        """See `Block`."""
        del canvas, x, y, width


Frame = Callable[[Canvas, int, int], None]
"""Draws header and footer of a page: canvas, page number from 1, number of pages."""


@dataclass
class PdfDocument:
    """A PDF in the making."""

    title: str
    frame: Frame
    family: Family = "sans"
    author: str = "Nordhjul Lastvagnar"
    date: str = "2024-01-01"
    top: float = 92.0
    bottom: float = 782.0
    margin: float = 50.0
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self.blocks.extend(blocks)

    def _pages(self, fonts: Fonts, width: float) -> list[list[tuple[Block, float]]]:
        """The blocks of each page with their y."""
        pages: list[list[tuple[Block, float]]] = [[]]
        y = self.top
        for number, block in enumerate(self.blocks):
            tall = need = block.height(fonts, width)
            follower = self.blocks[number + 1] if number + 1 < len(self.blocks) else None
            if isinstance(block, Para) and block.face == "bold" and follower is not None:
                need += min(follower.height(fonts, width), 120.0)
            if isinstance(block, NewPage) or (y + need > self.bottom and pages[-1]):
                pages.append([])
                y = self.top
            pages[-1].append((block, y))
            y += tall
        return pages

    def save(self, path: Path) -> None:
        """Lay the blocks out and write the file."""
        pdf = pymupdf.open()
        fonts = Fonts(self.family)
        width = PAGE_WIDTH - 2 * self.margin
        pages = self._pages(fonts, width)
        for number, placed in enumerate(pages, 1):
            canvas = Canvas(pdf.new_page(width=PAGE_WIDTH, height=PAGE_HEIGHT), fonts)
            for block, y in placed:
                block.draw(canvas, self.margin, y, width)
            self.frame(canvas, number, len(pages))
            canvas.flush()
        stamp = f"D:{self.date.replace('-', '')}080000Z"
        pdf.set_metadata(
            {
                "title": self.title,
                "author": self.author,
                "keywords": "fictional demo document",
                "creationDate": stamp,
                "modDate": stamp,
            }
        )
        pdf.subset_fonts()
        path.parent.mkdir(parents=True, exist_ok=True)
        pdf.save(path, garbage=4, deflate=True, no_new_id=True)
        pdf.close()
