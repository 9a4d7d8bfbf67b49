"""Recipes: the choices that make a variant."""

from typing import Literal, TypeAlias, get_args

from pydantic import Field

from rag_assets.config.base import Section, Slug

SerializerName: TypeAlias = Literal[
    "json",
    "yaml",
    "html",
    "xml",
    "markdown",
    "transposed_markdown",
    "markdown_key_values",
    "semantic",
    "full_semantic",
]
SERIALIZERS: tuple[SerializerName, ...] = get_args(SerializerName)


class Variant(Section):
    """A recipe: parser + chunking + serializer + embedding model."""

    parser: Slug = "pymupdf"
    chunking: Slug = "fixed_256"
    serializer: SerializerName = "full_semantic"
    model: Slug = "minilm"


class Tables(Section):
    """How rows become text."""

    empty_cells: Literal["drop", "keep"] = Field("drop", description="leave empty cells out or not")
