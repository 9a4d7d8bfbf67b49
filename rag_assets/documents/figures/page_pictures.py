"""Pictures of units: the page of a PDF with the unit's blocks marked, or a figure's own picture.

A page is drawn in a worker process, from a copy of the bytes that were parsed. A file that has been
edited since then is refused, as its page may show something else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from rag_assets.config import Config
from rag_assets.documents.chunks.location import ChunkLocation, NotShownError, locate_chunk
from rag_assets.documents.elements.element import POINTS_AN_INCH, Box
from rag_assets.documents.files import FetchError, SourceFile, SourceReader
from rag_assets.media.media_types import PDF
from rag_assets.store import Store, images
from rag_assets.workers import Failed, Json, Pool, Task

DPI = 120
MARGIN = 2.0
"""Points between a block and its mark."""
MARK = (255, 190, 0)
"""Red, green and blue of the mark."""
MARK_OPACITY = 70
"""The opacity of a mark, of 255."""
SECONDS = 60.0
MEMORY = 2 << 30
"""The most bytes that drawing a page may take."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a unit."""

    data: bytes
    """The picture as PNG."""
    kind: Literal["page", "figure"]
    uri: str
    """The document, below its source root."""
    page: int | None
    """The page that is shown, from 1."""
    pages: tuple[int, ...]
    """All pages that the unit touches."""
    marks: int
    """Blocks that are marked on this page; 0 if the parser gives no boxes."""


def picture_of(
    store: Store,
    config: Config,
    *,
    variant: str | None,
    unit_id: str,
    page: int | None = None,
    dpi: int = DPI,
) -> Picture:
    """The page that a chunk stands on, its blocks marked; a slide's figure as it is stored.

    Args:
        store: Holds chunks, elements and pictures.
        config: Says where the documents lie.
        variant: The variant whose parser and chunking made the unit; None: what serves.
        unit_id: Id of a chunk, as a search returns it.
        page: One of the pages that the unit touches; the first unless given.
        dpi: Dots per inch of a drawn page.

    Raises:
        NotShownError: There is no such chunk, it is not on that page, or its file cannot be
            drawn.
        MissingIndexError: The variant was never built.
    """
    unit = locate_chunk(store, config, variant=variant, unit_id=unit_id)
    file, pages = unit.file, unit.pages
    if file.media_type != PDF or not pages:
        return _stored(store, unit)
    wanted = pages[0] if page is None else page
    if wanted not in pages:
        there = ", ".join(map(str, pages))
        raise NotShownError(f"{unit_id} is not on page {wanted} of {file.uri}: it is on {there}")
    boxes = boxes_of(store, unit, page=wanted)
    arguments = {"page": wanted, "boxes": [list(box) for box in boxes], "dpi": dpi}
    data = in_worker(store, config, file, f"{__name__}:draw", arguments)
    assert isinstance(data, bytes), "a drawn page is PNG"
    return Picture(data, "page", file.uri, wanted, pages, len(boxes))


def draw(path: str, page: int, boxes: Sequence[Box], dpi: int) -> bytes:
    """A page with marked boxes as PNG: called in a worker.

    Args:
        path: A PDF.
        page: Number of the page, from 1.
        boxes: What to mark: x0, y0, x1, y1 in points from the top left.
        dpi: Dots per inch.
    """
    import pypdfium2
    from PIL import Image, ImageDraw

    scale = dpi / POINTS_AN_INCH
    with pypdfium2.PdfDocument(path) as document:
        drawn = document[page - 1].render(scale=scale).to_pil().convert("RGBA")
    marks = Image.new("RGBA", drawn.size)
    pencil = ImageDraw.Draw(marks)
    for x0, y0, x1, y1 in boxes:
        edges = (x0 - MARGIN, y0 - MARGIN, x1 + MARGIN, y1 + MARGIN)
        pencil.rectangle(
            [edge * scale for edge in edges],
            fill=(*MARK, MARK_OPACITY),
            outline=(*MARK, 255),
            width=max(1, round(scale)),
        )
    png = BytesIO()
    Image.alpha_composite(drawn, marks).convert("RGB").save(png, "PNG")
    return png.getvalue()


def _stored(store: Store, unit: ChunkLocation) -> Picture:
    """The stored picture of a figure, for a file whose pages cannot be drawn."""
    uri, pages = unit.file.uri, unit.pages
    if unit.image is None:
        raise NotShownError(
            f"{uri} is no PDF: only its figures have a picture; `--out FILE.html` shows its text"
        )
    try:
        _, data = images.picture(store, unit.image)
    except images.MissingImageError as error:
        raise NotShownError(f"the picture of {uri} is gone: refresh the index") from error
    return Picture(_as_png(data), "figure", uri, pages[0] if pages else None, pages, 0)


def _as_png(data: bytes) -> bytes:
    from PIL import Image

    png = BytesIO()
    with Image.open(BytesIO(data)) as picture:
        picture.save(png, "PNG")
    return png.getvalue()


def boxes_of(store: Store, unit: ChunkLocation, *, page: int) -> list[Box]:
    """The blocks of a chunk on a page; none if the parser gives no boxes."""
    rows = store.read(
        unit.elements,
        columns=["box"],
        where=f"{unit.within} AND page = {page} AND box IS NOT NULL",
        version=unit.elements_version,
    )
    return [(box[0], box[1], box[2], box[3]) for box in rows["box"].to_pylist()]


def in_worker(
    store: Store, config: Config, file: SourceFile, function: str, arguments: Mapping[str, Json]
) -> Json | bytes:
    """What `function` says of a page: called in a worker, on the bytes of `file` that were parsed.

    Raises:
        NotShownError: The file is gone or was edited, or the function failed.
    """
    sources = {source.name: source for source in config.sources.documents}
    if file.source not in sources:
        raise NotShownError(f"{file.uri}: its source {file.source} is no longer in the config")
    scratch = store.root / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=scratch) as folder, Pool(size=1, memory_bytes=MEMORY) as pool:
        copy = Path(folder) / "document.pdf"
        try:
            SourceReader(sources[file.source]).fetch(file, to=copy)
        except FetchError as error:
            raise NotShownError(
                f"{file.uri} {error}: if it was edited or removed since, refresh the index"
            ) from error
        pool.submit(Task("page", function, arguments, SECONDS, file=copy, offline=True))
        ((_, outcome),) = pool.finished()
    if isinstance(outcome, Failed):
        page = arguments["page"]
        raise NotShownError(f"page {page} of {file.uri} cannot be drawn: {outcome.reason}")
    return outcome.value
