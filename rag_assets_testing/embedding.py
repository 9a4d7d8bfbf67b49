"""The vectors of one domain of a variant, brought up to date apart from the other steps."""

from collections.abc import Callable
from functools import partial

from rag_assets.config import Config
from rag_assets.index.embed import EmbeddingReport, refresh_units
from rag_assets.index.encoders import encoder_of
from rag_assets.index.steps import CHUNK_VECTORS, ROW_VECTORS, UnitVectors
from rag_assets.store import Store


def _refreshed(
    kind: UnitVectors,
    store: Store,
    config: Config,
    *,
    variant: str,
    log: Callable[[str], None],
    retry: bool = False,
) -> EmbeddingReport:
    recipe = config.variant(variant)
    return refresh_units(
        store,
        source=kind.texts_of(config, recipe),
        target=kind.table(config, recipe).table,
        encoder=encoder_of(store, config, model=kind.model_of(recipe)),
        execution=config.execution,
        log=log,
        retry=retry,
    )


refresh_documents = partial(_refreshed, CHUNK_VECTORS)
refresh_rows = partial(_refreshed, ROW_VECTORS)
