"""Embedding models of somebody's own, which the config names as `module:NAME`."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rag_assets.api import CustomEmbedder
from rag_assets.config import EmbeddingModel
from rag_assets.config.custom import part_of
from rag_assets.identity import fingerprint
from rag_assets.models.embedding import CPU_PART_TOKENS, Embedded
from rag_assets.models.hosted_embedding import BYTES_PER_TOKEN, HostedEncoder, load_hosted
from rag_assets.models.known_queries import KnownQueries
from rag_assets.models.replicas import EncoderError
from rag_assets.models.weights import ID_LENGTH, encoder_id
from rag_assets.models.windows import bisected, stacked, unit

PATH = "cpu/custom/fp32"


def load_without_weights(model: EmbeddingModel, *, home: Path) -> "HostedEncoder | CustomEncoder":
    """A model that is not computed from files: one behind a server, or of somebody's own.

    Raises:
        EncoderError: A server is not known yet and does not answer, or not as it should.
        ConfigError: There is no such part.
    """
    return CustomEncoder(model) if model.backend == "custom" else load_hosted(model, home=home)


class CustomEncoder:
    """A model of somebody's own: see `embedding.TextEncoder`."""

    part_tokens = CPU_PART_TOKENS

    def __init__(self, model: EmbeddingModel) -> None:
        """Load it.

        Raises:
            ConfigError: There is no such part.
        """
        self._model, self._part = model, part_of(model.path, CustomEmbedder)
        self.dimension, self.max_tokens = self._part.dimension, self._part.max_tokens
        prefixes = (model.query_prefix, model.passage_prefix)
        about = ("custom", model.path, self._part.revision, self.dimension, *prefixes)
        self.model_id = fingerprint(*about)[:ID_LENGTH]
        self.encoder_id = encoder_id(self.model_id, PATH)
        self._known = KnownQueries[np.ndarray]()

    def confirm(self) -> None:
        """It is what it is: its revision says so."""

    def embed_passages(self, texts: Sequence[str], /) -> Embedded:
        """Vectors of texts for the index; one that it refuses fails alone.

        Raises:
            EncoderError: It refuses all of them.
        """
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        failed: dict[int, str] = {}

        def embed(places: Sequence[int]) -> np.ndarray:
            given = [self._model.passage_prefix + texts[place] for place in places]
            return self._asked(self._part.embed_passages, given)

        for places, found in bisected(embed, range(len(texts))):
            if isinstance(found, Exception):
                failed[places[0]] = f"{self._model.path}: {found}"
            else:
                vectors[list(places)] = found
        if failed and len(failed) == len(texts):
            raise EncoderError(failed[0])
        tokens = sum(1 + len(text.encode()) // BYTES_PER_TOKEN for text in texts)
        return Embedded(vectors, np.ones(len(texts), np.int32), failed, tokens)

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        """Vectors of queries, (texts, dimension) float32, L2 norm 1; each is computed once.

        Raises:
            EncoderError: It refuses one.
        """

        def embed(new: Sequence[str]) -> list[np.ndarray]:
            given = [self._model.query_prefix + text for text in new]
            return [*self._asked(self._part.embed_queries, given)]

        try:
            return stacked(self._known.embedded(texts, embed=embed), self.dimension)
        except ValueError as error:
            raise EncoderError(f"{self._model.path}: {error}") from error

    def _asked(
        self, embed: Callable[[Sequence[str]], np.ndarray], texts: Sequence[str]
    ) -> np.ndarray:
        """The vectors that the part gives.

        Raises:
            ValueError: It raises something, or they are not what they have to be.
        """
        try:
            found = np.asarray(embed(texts), np.float32)
        except Exception as error:  # whatever code of others raises
            raise ValueError(f"{type(error).__name__}: {error}") from error
        if found.shape != (asked := (len(texts), self.dimension)):
            raise ValueError(f"vectors of the shape {found.shape}, where {asked} is asked")
        if not (np.isfinite(found).all() and found.any(axis=1).all()):
            raise ValueError("a vector that is zero or not finite")
        return unit(found)
