"""The encoder that an index is built with, known before it is loaded."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rag_assets.config import Config
from rag_assets.models.embedding import Encoder, load_encoder
from rag_assets.models.paths import chosen_path
from rag_assets.models.weights import encoder_id, weights_of
from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class IndexEncoder:
    """What a refresh has to know of an encoder when there is nothing to embed."""

    model_id: str
    encoder_id: str
    dimension: int
    max_tokens: int
    load: Callable[[], Encoder]
    """Loads the weights: called only when there is something to embed."""


def encoder_of(store: Store, config: Config, *, model: str) -> IndexEncoder:
    """The encoder for the config's model called `model`, on the path chosen for this state.

    Raises:
        WeightsError: There are no weights, or they lack what is needed.
        EncoderError: The model cannot compute here.
    """
    settings = config.models[model]
    weights = weights_of(settings, home=store.encoders)
    path = chosen_path(settings, name=model, home=store.encoders)
    return IndexEncoder(
        model_id=weights.model_id,
        encoder_id=encoder_id(weights.model_id, path),
        dimension=weights.dimension,
        max_tokens=weights.max_tokens,
        load=partial(load_encoder, settings, path=path, home=store.encoders),
    )
