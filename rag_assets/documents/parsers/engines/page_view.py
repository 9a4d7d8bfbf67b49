"""Pages of a PDF as PDFium sees them: pictures of parts of a page, its words and their size.

Engines that give only the box of a figure, a formula or a table get its picture and words here, so
that all of them yield the same pictures. Coordinates are points from the top left of the page as it
is shown, whatever its rotation and crop box.
"""

from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_int
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from rag_assets.documents.elements.element import POINTS_AN_INCH, Box, Element, Image, clean
from rag_assets.documents.parsers.pictures import LONGEST_SIDE, image_of
from rag_assets.documents.parsers.tables import Word, grid_of, table_of

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

DPI = 144
MARGIN = 2.0
"""Points around a formula or figure that its box may have cut off."""
WORD_GAP = 0.2
"""Distance between two letters, in heights of type, from which they are two words."""
RULE_WIDTH = 3.0
"""Points; a thinner shape is a rule."""
FRAME_SHARE = 0.8
"""A shape that covers a larger share of a block's area only frames or shades it."""

_STEPS = 100
"""Parts of a point that PDFium's whole numbers tell apart."""


class PageView:
    """The pages of one PDF; a context manager."""

    def __init__(self, path: str) -> None:
        """Open the PDF at `path`."""
        import pypdfium2

        self._document = pypdfium2.PdfDocument(path)
        self._page = lru_cache(maxsize=2)(self._load)
        self.words = lru_cache(maxsize=2)(self._words)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._page.cache_clear()
        self._document.close()

    def __len__(self) -> int:
        return len(self._document)

    def size(self, number: int) -> tuple[float, float]:
        """Width and height of page `number`."""
        return self._page(number).get_size()

    def picture(self, number: int, box: Box) -> Image | None:
        """The part of page `number` in `box`; None if nothing of it lies on the page."""
        page = self._page(number)
        width, height = page.get_size()
        left, top = max(0.0, box[0] - MARGIN), max(0.0, box[1] - MARGIN)
        right, bottom = min(width, box[2] + MARGIN), min(height, box[3] + MARGIN)
        if right - left <= 2 * MARGIN or bottom - top <= 2 * MARGIN:
            return None
        scale = min(DPI / POINTS_AN_INCH, LONGEST_SIDE / max(right - left, bottom - top))
        bitmap = page.render(scale=scale, crop=(left, height - bottom, width - right, top))
        return image_of(bitmap.to_pil())

    def has_drawing(self, number: int, box: Box) -> bool:
        """Whether page `number` shows anything but words, rules and a frame in `box`."""
        import pypdfium2.raw as pdfium

        page = self._page(number)
        shown = shown_by(page)
        for item in page.get_objects(max_depth=1):
            if item.type == pdfium.FPDF_PAGEOBJ_TEXT:
                continue
            left, bottom, right, top = item.get_bounds()
            place = box_of(shown(left, top), shown(right, bottom))
            if not is_inside(place, box):
                continue
            if item.type != pdfium.FPDF_PAGEOBJ_PATH:
                return True
            is_rule = min(place[2] - place[0], place[3] - place[1]) <= RULE_WIDTH
            is_frame = _area(place) >= FRAME_SHARE * _area(box)
            if not is_rule and not is_frame:
                return True
        return False

    def words_in(self, number: int, box: Box) -> list[Word]:
        """Words of page `number` whose middle lies in `box`, as the page's text holds them."""
        return [word for word in self.words(number) if is_inside(word.box, box)]

    def type_size(self, number: int, box: Box) -> float | None:
        """Height of the tallest word in `box`, rounded to half points: it ranks headings."""
        heights = [word.box[3] - word.box[1] for word in self.words_in(number, box)]
        return round(max(heights) * 2) / 2 if heights else None

    def _load(self, number: int) -> "PdfPage":
        return self._document[number - 1]

    def _words(self, number: int) -> list[Word]:
        words: list[Word] = []
        letters: list[tuple[str, Box]] = []
        for letter, box in self.letters(number):
            if letters and (letter.isspace() or _is_apart(letters[-1][1], box)):
                words.append(_joined(letters))
                letters = []
            if not letter.isspace():
                letters.append((letter, box))
        if letters:
            words.append(_joined(letters))
        return [word for word in words if word.text]

    def letters(self, number: int) -> Iterator[tuple[str, Box]]:
        """Characters of a page with their boxes, in the order of the page's content."""
        import pypdfium2.raw as pdfium

        page = self._page(number)
        shown = shown_by(page)
        text = page.get_textpage()
        edges = pdfium.FS_RECTF()
        for place in range(text.count_chars()):
            code = pdfium.FPDFText_GetUnicode(text, place)
            if not pdfium.FPDFText_GetLooseCharBox(text, place, byref(edges)):
                continue
            box = box_of(shown(edges.left, edges.top), shown(edges.right, edges.bottom))
            yield chr(code) if code else " ", box
        text.close()


def shown_by(page: "PdfPage") -> Callable[[float, float], tuple[float, float]]:
    """Turns a place in the page's own coordinates into points from the top left as it is shown."""
    import pypdfium2.raw as pdfium

    width, height = page.get_size()
    size = c_int(round(width * _STEPS)), c_int(round(height * _STEPS))
    across, down = c_int(), c_int()

    def shown(x: float, y: float) -> tuple[float, float]:
        pdfium.FPDF_PageToDevice(page, 0, 0, *size, 0, x, y, byref(across), byref(down))
        return across.value / _STEPS, down.value / _STEPS

    return shown


def box_of(corner: tuple[float, float], other: tuple[float, float]) -> Box:
    """The box between two corners."""
    (x0, x1), (y0, y1) = (sorted(values) for values in zip(corner, other, strict=True))
    return x0, y0, x1, y1


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def is_inside(box: Sequence[float], place: Sequence[float]) -> bool:
    """Whether the middle of `box` lies in the box `place`."""
    middle_x, middle_y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return place[0] <= middle_x <= place[2] and place[1] <= middle_y <= place[3]


def _is_apart(box: Box, following: Box) -> bool:
    """Whether `following` is no continuation of the word that ends with `box`."""
    height = box[3] - box[1]
    is_lower = abs((following[1] + following[3]) - (box[1] + box[3])) > height
    return is_lower or not -height < following[0] - box[2] <= WORD_GAP * height


def _joined(letters: list[tuple[str, Box]]) -> Word:
    lefts, tops, rights, bottoms = zip(*(box for _, box in letters), strict=True)
    text = clean("".join(letter for letter, _ in letters))
    return Word(text, (min(lefts), min(tops), max(rights), max(bottoms)))


def figure_of(view: PageView, *, page: int, box: Box, text: str = "") -> Element:
    """A figure with its picture and words; a table or text where nothing is drawn in the box.

    The bundled layout model takes tables without vertical rules and program listings for figures.
    """
    words = view.words_in(page, box)
    text = max(text, " ".join(word.text for word in words), key=len)
    if words and not view.has_drawing(page, box):
        cells, spans = grid_of(words)
        found = table_of(cells, page=page, box=box, spans=spans, text=text)
        return found._replace(problem=None) if found.type == "text" else found
    return Element(type="figure", text=text, page=page, box=box, image=view.picture(page, box))
