"""Encoders of queries: a query is compared only with vectors of its own model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from rag_assets.models.lexical_weights import LexicalWeights
from rag_assets.models.weights import check_same_model
from rag_assets.process.errors import UnanswerableError
from rag_assets.retrieval.sparse import MissingWeightsError

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

    from rag_assets.models.embedding import Embedded


class QueryEncoder(Protocol):
    """An embedding model, as far as queries need it (`models.embedding.Encoder` is one)."""

    @property
    def model_id(self) -> str:
        """Weights, revision, prefixes, pooling, normalisation and dimension."""
        ...

    @property
    def encoder_id(self) -> str:
        """The `model_id` with the path that computes: device, engine, precision."""
        ...

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        """(n, d) float32 unit vectors of `texts`; implementations should cache them."""
        ...

    def embed_passages(self, texts: Sequence[str], /) -> "Embedded":
        """Vectors of texts, as those of the index."""
        ...


@runtime_checkable
class WeighingEncoder(Protocol):
    """A model that gives lexical weights of queries (`models.embedding.ModelEncoder` may)."""

    def weigh_queries(self, texts: Sequence[str], /) -> Sequence[LexicalWeights]:
        """The lexical weights of `texts`."""
        ...


def require_weighing(encoder: QueryEncoder) -> WeighingEncoder:
    """`encoder`, if it gives lexical weights.

    Raises:
        MissingWeightsError: It does not.
    """
    if not isinstance(encoder, WeighingEncoder):
        raise MissingWeightsError(f"the model {encoder.model_id}")
    return encoder


class TwoModelsError(UnanswerableError, ValueError):
    """A retriever compares vectors of two models."""

    def __init__(self, variant: str, *, models: str, usable: Sequence[str]) -> None:
        super().__init__(
            f"variant {variant} embeds with {models}: their vectors cannot be compared, so there "
            "is no joint list to search by vectors, and near duplicates cannot be told. Use a "
            f"retriever that fuses the domains: {', '.join(usable)}"
        )


@runtime_checkable
class Remembering(Protocol):
    """A model that keeps what it computed of queries or texts in memory."""

    def forget(self) -> None:
        """Forget it, so that everything is computed anew."""
        ...


def require_same_model(table: "LanceTable", *, encoder: QueryEncoder, variant: str) -> None:
    """Refuse `encoder` unless all vectors of `table` are of its model.

    The path that computes (device, engine, precision) may be another than that of the index.

    Raises:
        ModelMismatchError: Some vectors are of another model.
    """
    encoder_ids = table.to_lance().to_table(columns=["encoder_id"])["encoder_id"].unique()
    for encoder_id in sorted(encoder_ids.to_pylist()):
        check_same_model(
            index=encoder_id, query=encoder.model_id, what=f"the index of variant {variant}"
        )
