"""The section `glossary`: words of the trade that mean the same."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, StringConstraints

from rag_assets.config.base import Section

Words: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""An expression of one or more words, as they stand in texts and queries."""


class GlossaryEntry(Section):
    """Expressions that mean the same."""

    term: Words = Field(description="the usual expression")
    synonyms: list[Words] = Field([], description="others, in any language")
    abbreviations: list[Words] = Field(
        [], description="short forms and symbols; of up to three characters, case counts"
    )
    language: Literal["en", "sv"] | None = Field(
        None, description="whose endings the term may have in a query; those of both if empty"
    )


class GlossarySettings(Section):
    """Where the glossary comes from, and how much it counts."""

    entries: list[GlossaryEntry] = Field([], description="entries in this file")
    files: list[Path] = Field(
        [], description="CSV files with the columns term, synonyms, abbreviations and language"
    )
    headings: bool = Field(
        True, description="take the names of columns and their headings in plain words as entries"
    )
    weight: float = Field(
        0.3, gt=0, le=1, description="what a match of another expression counts beside the query"
    )


def _file_alone(value: object) -> object:
    return {"files": [value]} if isinstance(value, str) else value


GlossarySection: TypeAlias = Annotated[
    GlossarySettings | None,
    BeforeValidator(_file_alone, json_schema_input_type=GlossarySettings | str | None),
]
"""A path alone names a CSV file."""
