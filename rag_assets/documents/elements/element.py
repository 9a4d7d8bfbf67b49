"""Elements: the blocks that every parser yields, in reading order.

An element knows nothing of the document it came from, so that equal bytes under two names give
equal elements. Worker processes import this module at every start: it needs little.
"""

import hashlib
import re
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from rag_assets.workers import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

ValueT = TypeVar("ValueT")
Cells: TypeAlias = tuple[tuple[str, ...], ...]
Box: TypeAlias = tuple[float, float, float, float]
Span: TypeAlias = tuple[int, int, int, int]
"""Row and column of a cell, from 0, and over how many rows and columns it reaches."""

POINTS_AN_INCH = 72
_EXPONENT = re.compile(r"[-+\u2212\u2013]?\d{1,3}")

LINE_END = "\ufffe"
"""Stands, in the text that a parser gives, for a hyphen at the end of a line: see `line_ends`."""
_HYPHENATED = re.compile(r"[^\W\d_]{2,}[-\u2010]$")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\ufeff\uffff\ud800-\udfff]")
_CONTROLS = bytes({*range(32), 0x7F} - set(b"\t\n"))
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_LIGATURE = re.compile("[ﬀ-ﬆ]")


@dataclass(frozen=True, slots=True)
class Image:
    """The picture of a figure, as embedded or as rendered, or the crop of a formula."""

    base64: str = field(repr=False)
    """The bytes as they travel."""
    media_type: str
    """The media type: image/png or image/jpeg."""
    width: int
    """The width in pixels."""
    height: int
    """The height in pixels."""

    @classmethod
    def of(cls, data: bytes, *, media_type: str, width: int, height: int) -> "Image":
        """The picture in `data`."""
        return cls(b64encode(data).decode("ascii"), media_type, width, height)

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return b64decode(self.base64)

    @property
    def key(self) -> str:
        """SHA-256 of the bytes: under it the picture is stored, once."""
        return hashlib.sha256(self.data).hexdigest()


class Element(NamedTuple):
    """One block of a document: made for each, so it has to be cheap."""

    type: str
    """The type, one of `schemas.ELEMENT_TYPES`."""
    text: str
    """Markdown; a heading has no leading #, code no fences."""
    page: int | None = None
    """Physical page or slide, from 1."""
    level: int | None = None
    """Level of a heading, from 1, where the format gives it."""
    font_size: float | None = None
    """Type size in points of a heading whose level the format does not give."""
    section_path: tuple[str, ...] = ()
    """Headings above it, outermost first; a heading belongs to the section that it opens."""
    box: Box | None = None
    """The place on the page as x0, y0, x1, y1, in points from its top left."""
    cells: Cells | None = None
    """The rows of a table; the text of a wide cell stands in its first place alone."""
    spans: tuple[Span, ...] | None = None
    """Cells of a table that reach over several rows or columns."""
    image: Image | None = None
    """Picture of a figure, or of a formula that the parser cannot write as LaTeX."""
    link: str | None = None
    """Path of a figure's picture from the document on, or its `data:` link, until it is read."""
    confidence: float | None = None
    """How sure the text recognition is, 0 to 1; None for text that the file itself holds."""
    problem: str | None = None
    """Why a table is not sound, or a figure has no picture; its text is kept."""


def raised(text: str, *, before: str) -> str:
    """Superscript text in a line: `10^-3`; the mark of a footnote, as in `5 1)`, stands apart."""
    if before[-1:].isalnum() and _EXPONENT.fullmatch(text):
        return f"^{text}"
    return f" {text}" if before[-1:].isdigit() and text[:1].isdigit() else text


def clean(text: str) -> str:
    """`text` in NFC, without control characters, soft hyphens and typographic ligatures.

    `LINE_END` stays: PDFium has it too.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    if lines.isascii():
        return lines.encode().translate(None, _CONTROLS).decode().strip()
    printable = _UNPRINTABLE.sub("", lines)
    spelled = _LIGATURE.sub(lambda found: _LIGATURES[found[0]], printable)
    return unicodedata.normalize("NFC", spelled).strip()


def prose_of(lines: Iterable[str]) -> str:
    """Lines as one paragraph; `LINE_END` stands for a hyphen between two, a soft one goes."""
    text = ""
    for line in lines:
        if text.endswith("\u00ad"):
            text = text[:-1] + line
        elif _HYPHENATED.search(text) and line[:1].isalnum():
            text = text[:-1] + LINE_END + line
        else:
            text = f"{text} {line}" if text else line
    return text


def cleaned_cells(rows: Iterable[Iterable[str | None]]) -> Cells:
    """A table's cells, each on one line; rows are filled up to the same length."""
    grid = [[" ".join(clean(cell or "").split()) for cell in row] for row in rows]
    width = max(map(len, grid), default=0)
    return tuple(tuple(row + [""] * (width - len(row))) for row in grid)


def markdown_of(cells: Cells) -> str:
    """The table in Markdown, its first row as the header."""
    if not cells:
        return ""
    header, *body = (
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in cells
    )
    return "\n".join([header, "|" + " --- |" * len(cells[0]), *body])


def to_json(elements: Iterable[Element]) -> list[Json]:
    """`elements` as they travel from a worker; fields with their default are left out."""
    return [
        {
            name: asdict(value) if isinstance(value, Image) else value
            for name in Element._fields
            if (value := getattr(element, name)) is not None and value != ()
        }
        for element in elements
    ]


def from_json(values: Json | bytes) -> list[Element]:
    """The elements that `to_json` wrote."""
    return _adapter(list[Element]).validate_python(values)


def image_from_json(value: Json | bytes) -> Image:
    """A picture as it came from a worker."""
    return _adapter(Image).validate_python(value)


@cache
def _adapter(kind: "type[ValueT]") -> "TypeAdapter[ValueT]":
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
