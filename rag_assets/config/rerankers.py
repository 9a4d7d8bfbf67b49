"""The entries of `retrieval.rerankers`: models that score how well a text answers a query.

A new backend is a name here, and its case in `models.rerankers`.
"""

from typing import ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_assets.api import CustomReranker
from rag_assets.config.base import ExtendedSection
from rag_assets.config.custom import check_custom
from rag_assets.config.models import Endpoint, check_endpoint


class RerankerSettings(ExtendedSection):
    """A model that scores how well a text answers a query."""

    added_keys: ClassVar[frozenset[str]] = frozenset({"endpoint"})

    backend: Literal[
        "late_interaction",
        "sentence_transformers",
        "flag_embedding",
        "flashrank",
        "rerank_api",
        "custom",
    ] = Field(
        "sentence_transformers",
        description="late_interaction takes an embedding model; rerank_api a server, see "
        "endpoint; custom a reranker of your own",
    )
    path: str = Field(
        "",
        description="folder, hub id, or package:NAME/PATH; a name for flashrank and rerank_api; "
        "module:NAME for custom; "
        "late_interaction without one reads with the embedding model of the index",
    )
    revision: str | None = Field(
        None,
        description="hub revision (commit); pin it in production. For rerank_api any word: "
        "another one scores everything anew",
    )
    precision: Literal["auto", "fp32", "fp16", "bf16"] = Field(
        "auto", description="auto: fp16 on CUDA, bf16 on a CPU that multiplies in it, else fp32"
    )
    max_tokens: int | None = Field(None, gt=8, description="of query and text; the model's own")
    batch_size: int = Field(32, gt=0, description="pairs in a batch of a cross-encoder")
    trust_remote_code: bool = Field(
        False, description="run Python code that comes with a model; of the hub, at a revision"
    )
    endpoint: Endpoint | None = Field(
        None, description="rerank_api: the server that computes the scores"
    )

    @model_validator(mode="after")
    def _path_fits_the_backend(self) -> Self:
        if not self.path and self.backend != "late_interaction":
            raise ValueError(f"backend: {self.backend} needs a path: which model scores?")
        if not self.path and (self.revision or self.precision != "auto"):
            raise ValueError("revision and precision of the model of the index stand under models")
        return self

    @model_validator(mode="after")
    def _custom_reranker_is_there(self, info: ValidationInfo) -> Self:
        if self.backend == "custom":
            check_custom(self.path, CustomReranker, info)
        return self

    @model_validator(mode="after")
    def _endpoint_fits_the_backend(self) -> Self:
        is_hosted = self.backend == "rerank_api"
        check_endpoint(self.endpoint, is_hosted=is_hosted, backend="rerank_api")
        if is_hosted and self.precision != "auto":
            raise ValueError("the precision of a reranker behind a server is the server's")
        return self
