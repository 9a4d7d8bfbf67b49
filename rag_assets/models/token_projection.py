"""The layer that a model trained for late interaction puts on its token vectors.

BGE-M3 keeps it in `colbert_linear.pt` beside its weights: its multi-vectors are the last hidden
states of all tokens but the first, through this layer (Chen et al. 2024, arXiv:2402.03216, section
3.2). The special token at the end counts there, as it did in training.
"""

from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError

import numpy as np

from rag_assets.models.weights import WeightsError

FILE = "colbert_linear.pt"
BROKEN = (
    *(UnpicklingError, EOFError, RuntimeError, AttributeError, LookupError),
    *(TypeError, ValueError),
)
"""What reading a file raises that is cut, no file of PyTorch, or one of something else."""


@dataclass(frozen=True, slots=True)
class TokenProjection:
    """A linear layer."""

    matrix: np.ndarray
    """(dimension of multi-vectors, dimension of hidden states) float32."""
    bias: np.ndarray
    """(dimension of multi-vectors,) float32."""

    def __call__(self, tokens: np.ndarray) -> np.ndarray:
        """The multi-vectors of a window's (tokens, d) hidden states; the first token has none."""
        rest = tokens[1:] if len(tokens) > 1 else tokens
        return rest.astype(np.float32) @ self.matrix.T + self.bias


def token_projection(folder: Path) -> TokenProjection | None:
    """The layer in the model's `folder`; None where the model has none.

    Raises:
        WeightsError: The file is broken, or holds something else.
    """
    file = folder / FILE
    if not file.is_file():
        return None
    import torch

    try:
        layer = torch.load(file, map_location="cpu", weights_only=True)
        matrix, bias = (layer[name].float().numpy() for name in ("weight", "bias"))
    except BROKEN as error:
        raise WeightsError(
            f"{file} is not the layer of BGE-M3's multi-vectors ({type(error).__name__}): download "
            "the model again"
        ) from error
    return TokenProjection(matrix, bias)
