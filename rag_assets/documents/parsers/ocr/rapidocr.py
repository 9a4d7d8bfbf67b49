"""Pages as pictures through RapidOCR (Apache): its wheel brings the weights of PP-OCR.

One model reads Latin, Greek and Chinese script, so that it need not be told the language.
"""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from rag_assets.documents.elements.element import Element, to_json
from rag_assets.documents.parsers.description import Parser
from rag_assets.documents.parsers.ocr import scanned_pages
from rag_assets.workers import Json

if TYPE_CHECKING:
    from rapidocr import RapidOCR

PARSER = Parser(
    name="rapidocr",
    module=__name__,
    revision=2,
    distribution="rapidocr",
    install="pip install 'rag-assets[ocr]'",
    minimum_major=3,
    other_packages=("pypdfium2",),
)


def parse(path: str, pages: list[int] | None) -> Json:
    """Elements of the given pages: see the package's docstring."""
    reader = _reader()
    found: list[Element] = []
    for page in scanned_pages.rendered(path, pages):
        found.extend(scanned_pages.elements(list(_lines(reader, page)), page))
    return to_json(found)


@cache
def _reader() -> "RapidOCR":
    """The models, with one thread: a pool of workers shares the cores."""
    from rapidocr import RapidOCR

    one_thread = {"intra_op_num_threads": 1, "inter_op_num_threads": 1}
    engine = {f"EngineConfig.onnxruntime.{name}": count for name, count in one_thread.items()}
    return RapidOCR(params={"Global.log_level": "error", "Global.use_cls": False, **engine})


def _lines(reader: "RapidOCR", page: scanned_pages.Page) -> Iterator[scanned_pages.Line]:
    from rapidocr.utils.output import RapidOCROutput

    read = reader(page.pixels)
    assert isinstance(read, RapidOCROutput), "all of its models were asked"
    if read.boxes is None or read.txts is None or read.scores is None:
        return
    for corners, text, score in zip(read.boxes, read.txts, read.scores, strict=True):
        (x0, y0), (x1, y1) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
        across, down = (corners[1] - corners[0]).tolist()
        slope = down / across if across > abs(down) else 0.0
        yield scanned_pages.Line(text, (x0, y0, x1, y1), float(score), slope)
