"""An encoder without weights, so that a process that dies costs no loading of a model.

It stands in for a model in tests of faults only: everything around it, tables, parts, commits and
reuse of vectors, is the real thing. It writes each text that it embeds into a ledger, as it does.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import numpy as np

from rag_assets.index import encoders, joint
from rag_assets.index.encoders import IndexEncoder
from rag_assets.models.embedding import Embedded
from rag_assets.models.tasks import embed_with
from rag_assets.models.windows import Tokenized, Window
from rag_assets.operations.model_preview import previewing as preview
from rag_assets.retrieval import opening
from rag_assets.workers import Task
from rag_assets_testing import embedding

DIMENSION = 32
MODEL_ID = "hashing"
ENCODER_ID = f"{MODEL_ID}/cpu/sha256/fp32"


class HashEncoder:
    """The bytes of a text's SHA-256 as its vector."""

    model_id = MODEL_ID
    max_tokens = 256
    part_tokens = 32_768

    def __init__(
        self, ledger: Path | None, *, encoder_id: str = ENCODER_ID, dimension: int = DIMENSION
    ) -> None:
        """Write what is embedded into `ledger`; `dimension` is a multiple of 32."""
        self._ledger = ledger
        self.encoder_id = encoder_id
        self.dimension = dimension

    def tokenize(self, texts: Sequence[str], /) -> Tokenized:
        digests = b"".join(sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts)
        ids = np.frombuffer(digests, np.uint8).reshape(-1, DIMENSION).astype(np.int64)
        windows = [Window(place, of_text, 1) for place, of_text in enumerate(ids)]
        return Tokenized(texts=len(texts), windows=windows)

    def embed(self, tokenized: Tokenized, /) -> Embedded:
        ids = np.array([window.ids for window in tokenized.windows]).reshape(-1, DIMENSION)
        self._write_down(ids)
        vectors = ids.astype(np.float32) - 127.5
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) * np.sqrt(
            self.dimension // DIMENSION, dtype=np.float32
        )
        vectors = np.tile(vectors, self.dimension // DIMENSION)
        return Embedded(vectors, np.ones(len(ids), np.int32), {}, tokens=len(ids))

    def embed_passages(self, texts: Sequence[str], /) -> Embedded:
        return self.embed(self.tokenize(texts))

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        return self.embed(self.tokenize(texts)).vectors

    def _write_down(self, ids: np.ndarray) -> None:
        if self._ledger is None:
            return
        lines = "".join(f"{bytes(row.astype(np.uint8)).hex()}\n" for row in ids)
        ledger = os.open(self._ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(ledger, lines.encode())
        os.close(ledger)


def index_encoder(
    ledger: Path | None,
    *,
    model_id: str = MODEL_ID,
    encoder_id: str = ENCODER_ID,
    dimension: int = DIMENSION,
) -> IndexEncoder:
    """A `HashEncoder` under any name, for the index."""

    def task(key: str, texts: Sequence[str], /) -> Task:
        arguments = {
            "texts": texts,
            "ledger": str(ledger) if ledger else None,
            "encoder_id": encoder_id,
            "dimension": dimension,
        }
        return Task(key, f"{__name__}:embed_texts", arguments, 60.0)

    return IndexEncoder(
        model_id=model_id,
        encoder_id=encoder_id,
        dimension=dimension,
        max_tokens=HashEncoder.max_tokens,
        part_tokens=HashEncoder.part_tokens,
        task=task,
    )


def embed_texts(texts: Sequence[str], ledger: str | None, encoder_id: str, dimension: int) -> bytes:
    """The work of a task of `index_encoder`."""
    encoder = HashEncoder(
        Path(ledger) if ledger else None, encoder_id=encoder_id, dimension=dimension
    )
    return embed_with(encoder, texts)


def hashing(ledger: Path | None = None) -> AbstractContextManager[None]:
    """Let every stage of this process embed with a `HashEncoder`."""
    return embedding_with(index_encoder(ledger))


@contextmanager
def embedding_with(encoder: IndexEncoder) -> Iterator[None]:
    """Let every stage of this process embed with `encoder`."""

    def queries(*_: object, **__: object) -> HashEncoder:
        return _of_queries(encoder)

    with ExitStack() as patches:
        for module in (encoders, embedding, joint, preview):
            patches.enter_context(patch.object(module, "encoder_of", lambda *_, **__: encoder))
        patches.enter_context(patch.object(encoders, "known_encoder", lambda *_, **__: encoder))
        for module in (opening, preview):
            patches.enter_context(patch.object(module, "load_for_queries", queries))
        yield


def _of_queries(encoder: IndexEncoder) -> HashEncoder:
    """What embeds queries for an index of `encoder`."""
    found = HashEncoder(None, encoder_id=encoder.encoder_id, dimension=encoder.dimension)
    found.model_id = encoder.model_id
    return found
