"""Marker with a vision model that always reads the same: run by Marker's own interpreter.

    python marker_with_vision.py FILE [--blocks]

Prints the elements of the file, or the raw blocks that they come from, as JSON.
"""

import json
import sys

from rag_assets.documents.parsers.engines import marker

SETTINGS = {"inference_url": "http://127.0.0.1:1", "ocr_inline_math": True}


class Layout:
    """A title, a paragraph and a formula, one below the other."""

    disable_tqdm = True

    def __call__(self, images, **_):
        from surya.layout.schema import LayoutBox, LayoutResult

        return [
            LayoutResult(
                image_bbox=[0, 0, *image.size],
                bboxes=[
                    LayoutBox(
                        polygon=corners(image, top, bottom),
                        label=label,
                        raw_label=label,
                        position=place,
                        confidence=1.0,
                    )
                    for place, (label, top, bottom) in enumerate(
                        (
                            ("SectionHeader", 0.05, 0.13),
                            ("Text", 0.14, 0.3),
                            ("Equation", 0.35, 0.45),
                        )
                    )
                ],
            )
            for image in images
        ]


class Vision:
    """Reads a formula in every line and every block."""

    disable_tqdm = True

    def __call__(self, images, layout_results=None, full_page=False, **_):
        from surya.recognition.schema import BlockOCRResult, PageOCRResult

        found = []
        for image, layout in zip(images, layout_results or [None] * len(images), strict=True):
            blocks = [
                BlockOCRResult(
                    polygon=box.polygon,
                    label=box.label,
                    reading_order=place,
                    confidence=1.0,
                    html='<math display="block">\\frac{a}{b}</math>'
                    if box.label == "Equation"
                    else "<p>with <math>\\alpha_i</math> inline</p>",
                )
                for place, box in enumerate(layout.bboxes if layout else [])
            ]
            found.append(PageOCRResult(blocks=blocks, image_bbox=[0, 0, *image.size]))
        return found


def corners(image, top, bottom):
    width, height = image.size
    y0, y1 = top * height, bottom * height
    return [[0, y0], [width, y0], [width, y1], [0, y1]]


def models(_):
    return {
        "inference_manager": None,
        "layout_model": Layout(),
        "fast_layout_model": Layout(),
        "recognition_model": Vision(),
        "ocr_error_model": marker._AllSound(),
    }


def raw(block):
    fields = {name: getattr(block, name) for name in ("id", "block_type", "html")}
    children = [raw(child) for child in block.children or ()]
    return {**fields, "bbox": [round(edge, 1) for edge in block.bbox], "children": children}


def main():
    path, *flags = sys.argv[1:]
    if "--bundled" not in flags:
        marker._models = models
        marker._check_answers = lambda *_, **__: None
    settings = {} if "--bundled" in flags else SETTINGS
    if "--blocks" in flags:
        blocks = marker._blocks(marker._converter(json.dumps(settings)), path)
        found = [raw(block) for block in blocks]
    else:
        found = marker.parse(path, None, settings=settings)
    json.dump(found, sys.stdout, indent=1)


main()
