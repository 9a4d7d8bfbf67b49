"""The outline of a PDF: its bookmarks, which name headings without any analysis of the text."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING

from rag_assets.workers import Json

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

FUNCTION = f"{__name__}:read"
SECONDS = 30.0
DEEPEST = 20
"""Levels that are read: the bookmarks of a broken file may be nested endlessly."""
MOST = 20_000
"""Bookmarks that are read."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A bookmark."""

    title: str
    page: int
    """The page that it leads to, from 1."""
    level: int
    """The level of the heading, from 1."""


def read(path: str) -> Json:
    """The outline of a PDF, as it comes from a worker: entries without a page are left out."""
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        return [asdict(entry) for entry in _entries(document)]


def _entries(document: "PdfDocument") -> Iterator[Bookmark]:
    for bookmark in islice(document.get_toc(max_depth=DEEPEST), MOST):
        destination = bookmark.get_dest()
        page = destination.get_index() if destination else None
        title = " ".join(bookmark.get_title().split())
        if page is not None and title:
            yield Bookmark(title, page + 1, bookmark.level + 1)
