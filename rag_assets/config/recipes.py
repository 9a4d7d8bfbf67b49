"""Recipes: the choices that make a variant."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, field_validator

from rag_assets.api import CustomSerializer
from rag_assets.config.base import ALONE, BY_DOMAIN, Section, Slug
from rag_assets.config.custom import OrCustom

SERIALIZERS = (
    "json",
    "yaml",
    "html",
    "xml",
    "markdown",
    "transposed_markdown",
    "markdown_key_values",
    "semantic",
    "full_semantic",
)
SerializerName: TypeAlias = Annotated[str, OrCustom(CustomSerializer, SERIALIZERS)]
"""One of `SERIALIZERS`, or a serializer of somebody's own."""

DEFAULT_CHUNKING = "sentences_256"
"""The chunking of a variant that names none."""
DEFAULT_MODEL = "e5"
"""The embedding model of a variant that names none."""


class DomainModels(Section):
    """An embedding model for each domain."""

    document: Slug = Field(description="embeds chunks; a name under models")
    table: Slug = Field(description="embeds table rows; a name under models")


def _kind_of(value: object) -> str:
    return BY_DOMAIN if isinstance(value, (dict, DomainModels)) else ALONE


class Variant(Section):
    """A recipe: parser + chunking + serializer + embedding model, or one for each domain."""

    parser: Slug = "pymupdf"
    chunking: Slug = DEFAULT_CHUNKING
    serializer: SerializerName = "full_semantic"
    model: Annotated[
        Annotated[Slug, Tag(ALONE)] | Annotated[DomainModels, Tag(BY_DOMAIN)],
        Discriminator(_kind_of),
    ] = DEFAULT_MODEL

    @field_validator("model")
    @classmethod
    def _one_model_is_one(cls, value: str | DomainModels) -> str | DomainModels:
        is_one = isinstance(value, DomainModels) and value.document == value.table
        return value.document if isinstance(value, DomainModels) and is_one else value

    @property
    def document_model(self) -> str:
        """The model that embeds chunks."""
        return self.model.document if isinstance(self.model, DomainModels) else self.model

    @property
    def table_model(self) -> str:
        """The model that embeds table rows."""
        return self.model.table if isinstance(self.model, DomainModels) else self.model

    @property
    def models(self) -> tuple[str, ...]:
        """The embedding models: one, or that of documents and that of table rows."""
        return tuple(dict.fromkeys((self.document_model, self.table_model)))

    @property
    def model_label(self) -> str:
        """The embedding models, as a person reads them."""
        if len(self.models) == 1:
            return self.document_model
        return f"{self.document_model} (documents), {self.table_model} (table rows)"


class Tables(Section):
    """How rows become text."""

    empty_cells: Literal["drop", "keep"] = Field("drop", description="leave empty cells out or not")
