"""The export of a model, for a process of its own."""

from pathlib import Path

from rag_assets.models import openvino
from rag_assets.models.weights import Weights


def export(weights: Weights, folder: Path) -> None:
    """What the project itself does."""
    openvino._export(weights, folder)
