"""Elements: the blocks that every parser yields, in reading order.

An element knows nothing of the document it came from, so that equal bytes under two names give
equal elements. Worker processes import this module at every start: it needs little.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.workers import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Cells: TypeAlias = tuple[tuple[str, ...], ...]
Box: TypeAlias = tuple[float, float, float, float]

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\ufeff\ufffe\uffff\ud800-\udfff]"
)
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One block of a document."""

    type: str
    """One of `schemas.ELEMENT_TYPES`."""
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
    """x0, y0, x1, y1 in points from the top left of the page."""
    cells: Cells | None = None
    """Rows of a table."""


_NAMES = tuple(item.name for item in fields(Element))


def clean(text: str) -> str:
    """`text` in NFC, without control characters, soft hyphens and typographic ligatures."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    printable = _UNPRINTABLE.sub("", lines)
    if not printable.isascii():
        printable = unicodedata.normalize("NFC", printable.translate(_LIGATURES))
    return printable.strip()


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
            name: value
            for name in _NAMES
            if (value := getattr(element, name)) is not None and value != ()
        }
        for element in elements
    ]


def from_json(values: Json | bytes) -> list[Element]:
    """The elements behind `to_json`."""
    return _validator().validate_python(values)


@cache
def _validator() -> "TypeAdapter[list[Element]]":
    from pydantic import TypeAdapter

    return TypeAdapter(list[Element])
