"""Where a citation points, for people, and the numbers that places have in a list of sources."""

import re
import textwrap
from collections.abc import Iterable, Sequence

from rag_assets.citations.kinds import Absence, Cell, Citation, Computed, Rows, Span

MOST_ROWS = 5
_MARK = re.compile(r"\[(\d+(?:\s*[,;\u2013-]\s*\d+)*(?:, superseded)?)\]")
MOST_TITLE = 60


def without_marks(text: str) -> str:
    """Words of a source in which nothing looks like a citation of ours: its `[2]` is escaped."""
    return _MARK.sub(r"\\[\1\\]", text)


def numbered_places(citations: Iterable[Citation]) -> dict[str, int]:
    """The places that are cited, in the order in which they are, with their numbers from 1."""
    places = dict.fromkeys(place_of(citation) for citation in citations)
    return {place: number for number, place in enumerate(places, start=1)}


def place_of(citation: Citation) -> str:
    """Where a citation points, for people; what points to one place has one number."""
    match citation:
        case Span():
            parts = [citation.uri, _pages(citation.pages), _short(citation.section)]
            parts.append("superseded" if citation.is_superseded else "")
            since = citation.stale_since
            parts.append(f"stale since {since[:10]}" if since else "")
            return ", ".join(part for part in parts if part)
        case Cell():
            return f"{citation.source}/{citation.table}, row {citation.row_key}"
        case Rows():
            return f"{citation.source}/{citation.table}, {_rows(citation.count, citation.row_keys)}"
        case Computed():
            rows = citation.rows
            columns = dict.fromkeys(cell.heading for cell in citation.inputs)
            column = f", column {', '.join(columns)}" if columns else ""
            return (
                f"{rows.source}/{rows.table}{column}: {citation.operation} of "
                f"{citation.count:,} cells, {_rows(rows.count, rows.row_keys)}"
            )
        case Absence():
            return f"{citation.scope}: {citation.searched:,} searched"


def _rows(count: int, keys: Sequence[str]) -> str:
    if count == 1 and keys:
        return f"row {keys[0]}"
    shown = ", ".join(keys[:MOST_ROWS])
    more = f" and {count - MOST_ROWS:,} more" if count > MOST_ROWS else ""
    return f"rows {shown}{more}" if shown else f"{count:,} rows"


def _pages(pages: Sequence[int]) -> str:
    if not pages:
        return ""
    word = "page" if len(pages) == 1 else "pages"
    return f"{word} {', '.join(map(str, pages))}"


def _short(section: str) -> str:
    """The last heading of a section path."""
    return textwrap.shorten(section.split(" > ")[-1], MOST_TITLE, placeholder=" ...")
