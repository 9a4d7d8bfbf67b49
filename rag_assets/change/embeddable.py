"""Whether queries can be embedded for what serves, or served: its model may be another by now.

Vectors are compared with vectors of the same model only. A folder of weights that was trained again
in place, or taken away, leaves tables that are there and that no search by vectors can use. No
model is loaded to tell; one that lies on the hub alone, or behind a server that was never asked who
it is, is taken to be there.
"""

from rag_assets.config import Config, EmbeddingModel, Retriever
from rag_assets.models.custom import load_without_weights
from rag_assets.models.hosted_embedding import is_introduced
from rag_assets.models.weights import WeightsError, is_here, model_id, model_of
from rag_assets.store import Store, serving_pointer
from rag_assets.store.serving_pointer import ServingPointer


def why_not(store: Store, config: Config, pointer: ServingPointer) -> str | None:
    """Why its searches are refused; None if queries can be embedded for it.

    None as well where its retriever needs no vectors.
    """
    retriever = Retriever.from_record({"signals": pointer.query_side.settings["signals"]})
    of_vectors = {model_of(encoder) for encoder in pointer.encoder_ids}
    if not of_vectors or not retriever.needs_vectors:
        return None
    variant = pointer.variant_in(store, config) or pointer.variant
    models = dict(pointer.complete_set.query_models(store, config, variant=variant).values())
    for name, settings in models.items():
        try:
            now = _model_id(store, name, settings)
        except (WeightsError, OSError) as error:
            return f"its model {name} is gone: {error}"
        if now not in of_vectors | {None}:
            return f"the weights of its model {name} were replaced ({settings.path})"
    return None


def can_serve(store: Store, config: Config, pointer: ServingPointer) -> bool:
    """Whether its tables are there, and queries can be embedded for them."""
    return serving_pointer.is_held(store, pointer) and why_not(store, config, pointer) is None


def kept(store: Store, config: Config) -> list[ServingPointer]:
    """The pointers whose tables a clean-up spares: see `serving_pointer.kept`."""
    return serving_pointer.kept(store, can_serve=lambda each: can_serve(store, config, each))


def _model_id(store: Store, name: str, settings: EmbeddingModel) -> str | None:
    """Who a model is; None where only a server can tell, or where it never embedded anything.

    Raises:
        WeightsError: There are no weights, or they lack what is needed.
    """
    home = store.encoders
    if not settings.has_weights:
        is_known = is_introduced(settings, home=home)
        return load_without_weights(settings, home=home).model_id if is_known else None
    is_known = (home / f"{name}.json").exists() and is_here(settings)
    return model_id(settings, home=home) if is_known else None
