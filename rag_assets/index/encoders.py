"""Which encoder an index is built with: chosen once for each state, then kept.

Vectors of one table must come from one path, so the path that was picked when a model was first
used is recorded under `encoders/` of the state. A machine never switches by itself: later runs take
the recorded path for as long as the model is the same and the config asks for no other precision.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

from rag_assets.config import Config, EmbeddingModel
from rag_assets.models.embedding import Encoder, load_encoder, pick_path
from rag_assets.models.weights import Weights, encoder_id, weights_of
from rag_assets.store import Store, write_atomically


@dataclass(frozen=True, slots=True)
class Record:
    """The file `encoders/<model>.json`."""

    model_id: str
    encoder_id: str
    path: str


@dataclass(frozen=True, slots=True)
class IndexEncoder:
    """The encoder of an index, known before it is loaded."""

    model_id: str
    encoder_id: str
    dimension: int
    max_tokens: int
    load: Callable[[], Encoder]
    """Loads the weights: called only when there is something to embed."""


def encoder_of(store: Store, config: Config, *, model: str) -> IndexEncoder:
    """The encoder for the config's model called `model`, on the path recorded for this state.

    Raises:
        WeightsError: There are no weights, or they lack what is needed.
    """
    settings = config.models[model]
    weights = weights_of(settings, cache=store.weight_hashes)
    record = _record(store, settings, name=model, weights=weights)
    return IndexEncoder(
        model_id=weights.model_id,
        encoder_id=record.encoder_id,
        dimension=weights.dimension,
        max_tokens=weights.max_tokens,
        load=partial(load_encoder, settings, path=record.path, cache=store.weight_hashes),
    )


def _record(store: Store, model: EmbeddingModel, *, name: str, weights: Weights) -> Record:
    file = store.root / "encoders" / f"{name}.json"
    try:
        known = Record(**json.loads(file.read_text("utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        known = None
    if known and known.model_id == weights.model_id and _agrees(known, model):
        return known
    path = pick_path(model)
    record = Record(weights.model_id, encoder_id(weights.model_id, path), path)
    write_atomically(file, json.dumps(asdict(record), indent=1))
    return record


def _agrees(record: Record, model: EmbeddingModel) -> bool:
    return model.precision in ("auto", record.path.rpartition("/")[2])
