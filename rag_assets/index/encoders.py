"""The encoder that an index is built with, known before it is loaded."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from rag_assets import schemas
from rag_assets.config import Config, EmbeddingModel
from rag_assets.models.custom import CustomEncoder, load_without_weights
from rag_assets.models.embedding import part_tokens
from rag_assets.models.hosted import ServerError
from rag_assets.models.hosted_embedding import HostedEncoder, is_introduced
from rag_assets.models.paths import Choice, chosen_path, known_path
from rag_assets.models.replicas import EncoderError
from rag_assets.models.tasks import choice_of, choosing_task, embedding_task
from rag_assets.models.weights import Weights, encoder_id, is_here, is_sparse, weights_of
from rag_assets.store import Store
from rag_assets.workers import Failed, Task
from rag_assets.workers.executors import for_embedding


@dataclass(frozen=True, slots=True)
class IndexEncoder:
    """What a refresh has to know of an encoder that others load."""

    model_id: str
    encoder_id: str
    dimension: int
    max_tokens: int
    part_tokens: int
    """The number of tokens of texts that one task embeds."""
    task: Callable[[str, Sequence[str]], Task]
    """The task, of that key, that embeds these texts; its outcome is for `tasks.part_of`."""
    confirm: Callable[[Callable[[str], None]], None] = lambda _: None
    """Makes sure, before a refresh, that a server still computes this model; gets a log."""

    @property
    def is_sparse(self) -> bool:
        """Whether it gives lexical weights beside the vectors."""
        return is_sparse(self.encoder_id)

    @property
    def units(self) -> pa.Schema:
        """The schema of a table of units with what it gives."""
        return schemas.units(self.dimension, sparse=self.is_sparse)

    @property
    def device(self) -> str:
        """What computes: `cpu`, `cuda` or `server`."""
        return self.encoder_id.split("/")[1]


def encoder_of(store: Store, config: Config, *, model: str) -> IndexEncoder:
    """The encoder for the config's model called `model`, on the path chosen for this state.

    Raises:
        WeightsError: There are no weights, or they lack what is needed.
        EncoderError: The model cannot compute where texts are embedded.
    """
    settings = config.models[model]
    if not settings.has_weights:
        return _without_weights(store, settings)
    elsewhere = partial(_on_ray, store, config) if config.execution.embedding == "ray" else None
    weights = weights_of(settings, home=store.encoders)
    path = chosen_path(
        settings, weights=weights, name=model, home=store.encoders, elsewhere=elsewhere
    )
    return _on_path(store, settings, weights, path)


def known_encoder(store: Store, config: Config, *, model: str) -> IndexEncoder | None:
    """The encoder that `encoder_of` would give, if the state has been built with it before.

    None for a model that this state does not know yet, or that is not on this machine: nothing is
    loaded, downloaded or written. What is kept of hashes of weights goes into a copy.

    Raises:
        WeightsError: The weights lack what is needed.
    """
    settings = config.models[model]
    if not settings.has_weights:
        is_known = is_introduced(settings, home=store.encoders)
        return _without_weights(store, settings) if is_known else None
    if not is_here(settings):
        return None
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        for file in store.encoders.glob("*.json"):
            shutil.copy(file, copy)
        weights = weights_of(settings, home=copy)
        path = known_path(settings, weights=weights, name=model, home=copy)
        return _on_path(store, settings, weights, path) if path else None


def _on_path(store: Store, settings: EmbeddingModel, weights: Weights, path: str) -> IndexEncoder:
    """A model that is computed on `path`."""
    identity = encoder_id(weights.model_id, path, sparse_layer=weights.sparse_layer)
    return IndexEncoder(
        model_id=weights.model_id,
        encoder_id=identity,
        dimension=weights.dimension,
        max_tokens=weights.max_tokens,
        part_tokens=part_tokens(path),
        task=partial(embedding_task, model=settings, encoder_id=identity, home=store.encoders),
    )


def _without_weights(store: Store, settings: EmbeddingModel) -> IndexEncoder:
    encoder = load_without_weights(settings, home=store.encoders)
    return IndexEncoder(
        model_id=encoder.model_id,
        encoder_id=encoder.encoder_id,
        dimension=encoder.dimension,
        max_tokens=encoder.max_tokens,
        part_tokens=encoder.part_tokens,
        task=partial(
            embedding_task, model=settings, encoder_id=encoder.encoder_id, home=store.encoders
        ),
        confirm=partial(_confirm, encoder),
    )


def _confirm(encoder: HostedEncoder | CustomEncoder, log: Callable[[str], None]) -> None:
    """Check the model of a server; a server that is away is missed only if there is work for it."""
    try:
        encoder.confirm()
    except ServerError as error:
        log(f"whether the model is still the same is not known: {error}")


def _on_ray(store: Store, config: Config, model: EmbeddingModel) -> Choice:
    """The path that suits the cluster: this machine may have no GPU."""
    with for_embedding(config.execution, device=None) as executor:
        executor.submit(choosing_task(model, home=store.encoders))
        [(_, outcome)] = executor.finished()
    if isinstance(outcome, Failed):
        raise EncoderError(f"no path was chosen on the Ray cluster: {outcome.reason}")
    return choice_of(outcome.value)
