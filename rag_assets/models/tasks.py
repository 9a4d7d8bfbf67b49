"""Embedding as tasks for an executor: settings of a model and texts in, vectors as bytes out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa

from rag_assets.config import EmbeddingModel
from rag_assets.models.custom import load_without_weights
from rag_assets.models.embedding import Embedded, TextEncoder, load_encoder
from rag_assets.models.lexical_weights import column_of, weights_in
from rag_assets.models.paths import Choice, choose
from rag_assets.models.replicas import EncoderError
from rag_assets.models.weights import path_in
from rag_assets.process.user_cache import shared_folder
from rag_assets.schemas import SPARSE
from rag_assets.workers import Json, Task

PART_SECONDS = 3_600.0
"""A part takes seconds; one that takes this long hangs."""

_loading = Lock()


@dataclass(frozen=True, slots=True)
class EmbeddedPart:
    """The vectors of the texts of one task."""

    embedded: Embedded
    seconds: float
    """Time that embedding took, loading the model excluded."""


def embedding_task(
    key: str, texts: Sequence[str], /, *, model: EmbeddingModel, encoder_id: str, home: Path
) -> Task:
    """Embed `texts` on the path that `encoder_id` names; the outcome is for `part_of`."""
    arguments = {
        "texts": texts,
        "model": model.model_dump(mode="json"),
        "encoder_id": encoder_id,
        "home": str(home),
    }
    return Task(key, f"{__name__}:embed", arguments, PART_SECONDS)


def choosing_task(model: EmbeddingModel, *, home: Path) -> Task:
    """Choose the path of `model` where the task runs; the outcome is for `choice_of`."""
    arguments = {"model": model.model_dump(mode="json"), "home": str(home)}
    return Task("choice", f"{__name__}:choose_path", arguments, PART_SECONDS)


def embed(texts: Sequence[str], model: Mapping[str, Json], encoder_id: str, home: str) -> bytes:
    """The function of `embedding_task`; two calls in one process overlap, see `embed_with`.

    Raises:
        EncoderError: The weights here are not those of the index, or cannot be computed.
        WeightsError: There are no weights, or they are broken.
    """
    settings, folder = EmbeddingModel.model_validate(model), _home(home)
    path = path_in(encoder_id)
    with _loading:
        if settings.has_weights:
            encoder: TextEncoder = load_encoder(settings, path=path, home=folder)
        else:
            encoder = load_without_weights(settings, home=folder)
    if encoder.encoder_id != encoder_id:
        raise EncoderError(
            f"the machines have different weights of {model['path']}: those of {encoder_id} are "
            f"needed, and those here are of {encoder.encoder_id}"
        )
    return embed_with(encoder, texts)


def embed_with(encoder: TextEncoder, texts: Sequence[str]) -> bytes:
    """Embed `texts`, and pack the vectors for `part_of`."""
    started = time.monotonic()
    embedded = encoder.embed_passages(texts)
    return _packed(embedded, seconds=time.monotonic() - started)


def choose_path(model: Mapping[str, Json], home: str) -> Json:
    """The function of `choosing_task`."""
    choice = choose(EmbeddingModel.model_validate(model), home=_home(home))
    return [choice.model_id, choice.path, choice.cosine]


def choice_of(value: Json | bytes) -> Choice:
    """The outcome of `choosing_task`."""
    assert isinstance(value, list)
    model_id, path, cosine = value
    return Choice(str(model_id), str(path), None if cosine is None else float(str(cosine)))


def part_of(value: Json | bytes) -> EmbeddedPart:
    """The outcome of `embedding_task`."""
    assert isinstance(value, bytes)
    rows = pa.ipc.open_stream(value).read_all().combine_chunks()
    marks = rows.schema.metadata or {}
    vectors = rows["vector"].combine_chunks().flatten().to_numpy()
    reasons = enumerate(rows["failed"].to_pylist())
    embedded = Embedded(
        vectors=vectors.reshape(rows.num_rows, int(marks[b"dimension"])),
        windows=rows["windows"].to_numpy(),
        failed={place: reason for place, reason in reasons if reason is not None},
        tokens=int(marks[b"tokens"]),
        sparse=weights_in(rows[SPARSE].chunk(0)) if SPARSE in rows.column_names else None,
    )
    return EmbeddedPart(embedded, seconds=float(marks[b"seconds"]))


def _packed(embedded: Embedded, *, seconds: float) -> bytes:
    texts, dimension = embedded.vectors.shape
    vectors = pa.array(np.ascontiguousarray(embedded.vectors).ravel(), pa.float32())
    failed = [embedded.failed.get(place) for place in range(texts)]
    marks = {"dimension": str(dimension), "tokens": str(embedded.tokens), "seconds": str(seconds)}
    weights = {} if embedded.sparse is None else {SPARSE: column_of(embedded.sparse)}
    rows = pa.table(
        {
            "vector": pa.FixedSizeListArray.from_arrays(vectors, dimension),
            "windows": pa.array(embedded.windows, pa.int32()),
            "failed": pa.array(failed, pa.string()),
            **weights,
        }
    ).replace_schema_metadata(marks)
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, rows.schema) as stream:
        stream.write_table(rows)
    return buffer.getvalue().to_pybytes()


def _home(home: str) -> Path:
    """The folder of the state; on a machine without it, one in the user's cache."""
    given = Path(home)
    return given if given.is_dir() else shared_folder(given) / "encoders"
