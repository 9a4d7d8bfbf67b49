"""What the assets of the room and the command train: by name, from the pairs of the state."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pyarrow as pa
from pydantic import JsonValue

from rag_assets import schemas
from rag_assets.change.data_versions import current_version
from rag_assets.config import Config
from rag_assets.config.recipes import DEFAULT_MODEL
from rag_assets.config.training import LEARNED, Kind, newest_weights
from rag_assets.laboratory.training.pairs import PairsError
from rag_assets.laboratory.training.retriever import Recipe, train_retriever
from rag_assets.laboratory.training.running import TrainingRun
from rag_assets.laboratory.training.weights import Trained, trained
from rag_assets.models.weights import weights_of
from rag_assets.store import Store

REVISION = 2
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
    if not (
        store.exists(schemas.TRAINING_PAIRS_TABLE) and store.count(schemas.TRAINING_PAIRS_TABLE)
    ):
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
    model = config.models[settings.model or DEFAULT_MODEL]
    if model.backend not in TRAINABLE:
        raise TrainingError(
            f"training.retrievers.{name} starts from {model.path}, whose backend {model.backend} "
            "has no weights that can be trained here: name a model in PyTorch, such as minilm, "
            f"under training.retrievers.{name}.model"
        )
    start = weights_of(model, home=store.encoders)
    recipe = Recipe.of(
        settings, query_prefix=model.query_prefix, passage_prefix=model.passage_prefix
    )
    train = train_retriever
    if model.backend == "flag_embedding":
        from rag_assets.laboratory.training.m3 import train_m3 as train
    learn = partial(train, start=start.folder, recipe=recipe, log=log)
    made_from = {"recipe": asdict(recipe), "start": start.model_id}
    return _trained(store, "retriever", name, learn, made_from=made_from, log=log)


def reranker_weights(
    store: Store, config: Config, name: str, *, log: Callable[[str], None]
) -> Trained:
    """Train the entry `name` of training.rerankers, unless that was done from the same.

    Raises:
        TrainingError: The retriever that it starts from was not trained yet, or cannot be trained
            as the entry says.
        PairsError: There are no pairs.
    """
    from rag_assets.laboratory.training.reranker import train_reranker

    settings = config.training.rerankers[name]
    start = newest_weights(store.root, "retriever", settings.retriever)
    if start is None:
        raise TrainingError(
            f"training.rerankers.{name} starts from the retriever {settings.retriever}, which was "
            f"not trained yet: run `rag-assets training run {settings.retriever}` first"
        )
    learn = partial(train_reranker, start=start, recipe=settings, log=log)
    made_from = {"recipe": settings.model_dump(exclude={"retriever"}), "start": start.name}
    return _trained(store, "reranker", name, learn, made_from=made_from, log=log)


def _trained(
    store: Store,
    kind: Kind,
    name: str,
    learn: Callable[..., TrainingRun],
    *,
    made_from: Mapping[str, JsonValue],
    log: Callable[[str], None],
) -> Trained:
    """What `learn` makes of the pairs of the state, unless it is there."""

    def run(checkpoints: Path, out: Path) -> TrainingRun:
        pairs = read_pairs(store)
        log(f"{name}: learning from {len(pairs):,} pairs")
        try:
            done = learn(pairs, checkpoints=checkpoints, out=out)
        except ValueError as error:
            raise TrainingError(f"training.{kind}s.{name}: {error}") from error
        (out / LEARNED).write_text(
            json.dumps(sorted(set(pairs["question_id"].to_pylist()))), "utf-8"
        )
        return done

    version = current_version(store, schemas.TRAINING_PAIRS_TABLE, key="pair_id")
    all_of_it = {"revision": REVISION, "pairs": version, **made_from}
    return trained(store, kind, name, made_from=all_of_it, train=run, log=log)


WEIGHTS_OF: Mapping[Kind, Callable[..., Trained]] = {
    "retriever": retriever_weights,
    "reranker": reranker_weights,
}
"""What trains each kind of model: takes store, config, name and `log`."""
