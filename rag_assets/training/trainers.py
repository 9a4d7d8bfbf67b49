"""What the assets of the room and the command train: by name, from the pairs of the state."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change.data_versions import current_version
from rag_assets.config import Config
from rag_assets.models.weights import weights_of
from rag_assets.store import Store
from rag_assets.training.pairs import PairsError
from rag_assets.training.retriever import Recipe, train_retriever
from rag_assets.training.running import Progress
from rag_assets.training.weights import Trained, trained

REVISION = 1
"""Raise it when the same pairs, recipe and start should give other weights."""
TRAINABLE = ("sentence_transformers", "flag_embedding")
"""Backends whose weights are here, and learn."""


class TrainingError(Exception):
    """A model cannot be trained; the message says why and what to do."""


def read_pairs(store: Store) -> pa.Table:
    """The pairs of the state, always in the same order.

    Raises:
        PairsError: There are none.
    """
    if not store.exists(schemas.TRAINING_PAIRS_TABLE):
        raise PairsError("there are no training pairs yet: run `rag-assets training run`")
    columns = [name for name in schemas.TRAINING_PAIRS.names if name not in schemas.SYSTEM_COLUMNS]
    return store.read(schemas.TRAINING_PAIRS_TABLE, columns=columns).sort_by("pair_id")


def retriever_weights(
    store: Store, config: Config, name: str, *, log: Callable[[str], None]
) -> Trained:
    """Train the entry `name` of training.retrievers, unless that was done from the same.

    Raises:
        TrainingError: The model that it starts from cannot be trained.
        PairsError: There are no pairs.
        WeightsError: The model that it starts from is not here.
    """
    settings = config.training.retrievers[name]
    model = config.models[settings.model or config.default_model]
    if model.backend not in TRAINABLE:
        raise TrainingError(
            f"training.retrievers.{name} starts from {model.path}, whose backend {model.backend} "
            "has no weights that can be trained here: name a model in PyTorch, such as minilm, "
            f"under training.retrievers.{name}.model"
        )
    start = weights_of(model, home=store.encoders)
    recipe = Recipe(
        **settings.model_dump(exclude={"model"}),
        query_prefix=model.query_prefix,
        passage_prefix=model.passage_prefix,
    )
    pairs = read_pairs(store)

    def train(checkpoints: Path, out: Path) -> Progress:
        log(f"{name}: learning from {len(pairs):,} pairs, starting from {model.path}")
        return train_retriever(
            pairs, start=start.folder, recipe=recipe, checkpoints=checkpoints, out=out, log=log
        )

    made_from = {
        "revision": REVISION,
        "recipe": asdict(recipe),
        "pairs": current_version(store, schemas.TRAINING_PAIRS_TABLE, key="pair_id"),
        "start": start.model_id,
    }
    return trained(store, "retriever", name, made_from=made_from, train=train, log=log)
