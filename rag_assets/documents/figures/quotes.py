"""The pages of a PDF on which words of a unit stand, and where: found by letters, or not marked.

The letters of the words are looked for among those that lie in the unit's blocks, without regard to
case, blanks, hyphens and ligatures, which parsers change. Where they are found more often, or less
often, than the unit says them, nobody knows which place is meant, and none is marked.
"""

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from rag_assets.citations.card import PagePicture
from rag_assets.config import Config
from rag_assets.documents.chunks.location import ChunkLocation, NotShownError, locate_chunk
from rag_assets.documents.elements.element import Box
from rag_assets.documents.figures.page_pictures import DPI, boxes_of, draw, in_worker
from rag_assets.documents.parsers.engines.page_view import PageView, is_inside
from rag_assets.media.media_types import PDF
from rag_assets.schemas import slice_of
from rag_assets.store import Store
from rag_assets.workers import Json

if TYPE_CHECKING:
    from rag_assets.change.tracing import Row

SAME_LINE = 0.3
"""Two letters of one line share at least this much of the height of the lower one."""
MARGIN = 2.0
"""Points by which a letter may stand out of its block."""


def placed_quotes(
    store: Store,
    config: Config,
    unit: "Row",
    *,
    variant: str | None,
    words: Sequence[tuple[int, int]],
) -> tuple[PagePicture, ...]:
    """The pages on which words of a chunk stand; its first page where no place is sure.

    Args:
        store: Holds chunks and elements.
        config: Says where the documents lie.
        unit: The chunk as it is searched.
        variant: The variant whose parser and chunking made it; None: what serves.
        words: First character of each quote in its text, and one past the last.

    Raises:
        NotShownError: There is no such chunk, it is of no PDF, or its file cannot be read.
        MissingIndexError: The variant was never built.
    """
    place = locate_chunk(store, config, variant=variant, unit_id=str(unit["unit_id"]))
    if place.file.media_type != PDF or not place.pages:
        raise NotShownError(f"{place.file.uri} is no PDF, and only the pages of these are drawn")
    arguments = asked_of(store, place, unit, words)
    found = in_worker(store, config, place.file, f"{__name__}:find_quotes", arguments)
    return TypeAdapter(tuple[PagePicture, ...]).validate_python(found)


def in_slice(unit: "Row", words: tuple[int, int]) -> tuple[int, int]:
    """The place of words of a chunk's text in what its document says, without the header."""
    length = int(str(unit["char_end"])) - int(str(unit["char_start"]))
    header = len(str(unit["text"])) - length
    start, end = (min(max(each - header, 0), length) for each in words)
    return start, end


def asked_of(
    store: Store, place: ChunkLocation, unit: "Row", words: Sequence[tuple[int, int]]
) -> dict[str, Json]:
    """The arguments of `find_quotes` for words of a chunk."""
    text = slice_of(str(unit["text"]), int(str(unit["char_start"])), int(str(unit["char_end"])))
    quotes: list[Json] = []
    for start, end in (in_slice(unit, each) for each in words):
        before, quote = letters_of(text[:start]), letters_of(text[start:end])
        said_before = len(places(quote, before + quote[:-1]))
        quotes.append([quote, said_before, len(places(quote, letters_of(text)))])
    return {
        "page": place.pages[0],
        "pages": list(place.pages),
        "quotes": quotes,
        "blocks": [
            [list(box) for box in boxes_of(store, place, page=page)] for page in place.pages
        ],
    }


def find_quotes(
    path: str,
    page: int,
    pages: Sequence[int],
    quotes: Sequence[tuple[str, int, int]],
    blocks: Sequence[Sequence[Box]],
) -> list:
    """The lines of quotes on each page that they stand on, as `PagePicture`: called in a worker.

    Args:
        path: A PDF.
        page: The page that is shown where the place of no quote is sure.
        pages: Numbers of the pages that the unit touches.
        quotes: The letters of each (see `letters_of`), how often the unit says them before, and how
            often in all.
        blocks: The boxes of the unit on each of the pages; none: all of them.
    """
    with PageView(path) as view:
        placed = [
            (number, letter, box)
            for number, within in zip(pages, blocks, strict=True)
            if within or not any(blocks)
            for letter, box in _letters(view, number, within)
        ]
        letters = "".join(letter for _, letter, _ in placed)
        at = [place for place, (_, letter, _) in enumerate(placed) if letter]
        boxes: dict[int, list[Box]] = {}
        for quote, said_before, said in quotes:
            found = places(quote, letters)
            lines: dict[int, list[Box]] = {}
            own = at[found[said_before] :][: len(quote)] if found and len(found) == said else []
            for number, _, box in placed[own[0] : own[-1] + 1] if own else ():
                lines.setdefault(number, []).append(box)
            for number, of_page in lines.items():
                boxes.setdefault(number, []).extend(_lines(of_page))
        sizes = {number: view.size(number) for number in sorted(boxes) or (page,)}
    return [
        {
            "page": number,
            "width": width,
            "height": height,
            "boxes": boxes.get(number, []),
            "picture": b64encode(draw(path, number, blocks[pages.index(number)], DPI)).decode(),
        }
        for number, (width, height) in sizes.items()
    ]


def letters_of(text: str) -> str:
    """The letters and digits of a text, without case, accents and ligatures."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))


def places(quote: str, letters: str) -> list[int]:
    """The places in `letters` at which `quote` begins."""
    return (
        [each.start() for each in re.finditer(f"(?={re.escape(quote)})", letters)] if quote else []
    )


def _letters(view: PageView, page: int, within: Sequence[Box]) -> Iterator[tuple[str, Box]]:
    """The signs that lie in some boxes of a page, or all of them, each with its box.

    Of a sign that is no letter, the letter is empty: it is part of what stands around it.
    """
    wide = [(x0 - MARGIN, y0 - MARGIN, x1 + MARGIN, y1 + MARGIN) for x0, y0, x1, y1 in within]
    for said, box in view.letters(page):
        if not wide or any(is_inside(box, block) for block in wide):
            for letter in letters_of(said) or ("" if said.isspace() else [""]):
                yield letter, box


def _lines(letters: Sequence[Box]) -> list[Box]:
    """The boxes of letters, those of one line as one; lines may run across the page or along it."""
    along = [_turned(box) for box in letters]
    across, down = (sum(map(_is_of_line, boxes, boxes[1:])) for boxes in (letters, along))
    lines = _joined(_joined(letters if across >= down else along))  # of words, where some jump
    return [*lines] if across >= down else [*map(_turned, lines)]


def _joined(letters: Iterable[Box]) -> Iterator[Box]:
    line: Box | None = None
    for box in letters:
        if line is not None and _is_of_line(line, box):
            (x0, y0, x1, y1), (left, top, right, bottom) = line, box
            line = (min(x0, left), min(y0, top), max(x1, right), max(y1, bottom))
            continue
        if line is not None:
            yield line
        line = box
    if line is not None:
        yield line


def _is_of_line(line: Box, box: Box) -> bool:
    """Whether a letter is at the height of a line."""
    shared = min(line[3], box[3]) - max(line[1], box[1])
    return shared > SAME_LINE * min(line[3] - line[1], box[3] - box[1])


def _turned(box: Box) -> Box:
    """A box of the page that is mirrored at its diagonal."""
    return box[1], box[0], box[3], box[2]
