"""The section `links`: which names of units are kept, to lead from one unit to another."""

from typing import Literal, TypeAlias, get_args

from pydantic import Field, field_validator

from rag_assets.config.base import Section, Slug

NameKind: TypeAlias = Literal["name", "identifier", "formula", "foreign_key"]
"""`name`: the words of a title or a key; `foreign_key`: a row of another table."""
NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)


FoundKind: TypeAlias = Literal["entity", "relation"]
"""What a language model finds in a text: a thing that it names, and what it says of one."""
FOUND_KINDS: tuple[FoundKind, ...] = get_args(FoundKind)


class LinkSettings(Section):
    """What the table `unit_links` holds."""

    kinds: list[NameKind] = Field(
        [*NAME_KINDS], description="kinds of names that are kept; [] makes no table of links"
    )
    entities: dict[str, list[str]] = Field(
        {},
        description="for a table (source/table), the columns whose values name what a row is "
        "about: alloys, machines, customers",
    )
    identifiers: dict[Slug, str] = Field(
        {},
        description="regular expressions of your own numbers, by a name of your choice; standards, "
        "declarations, grades and part numbers are known. One that takes more than five seconds in "
        "a text ends the step; `(?i)` holds for its own expression alone",
    )
    language_model: Slug | None = Field(
        None,
        description="entry of language_models that finds entities and relations in the texts of "
        "documents, of the sources that it may see, each with its quotation; nobody unless given",
    )

    @field_validator("identifiers")
    @classmethod
    def _are_expressions(cls, value: dict[str, str]) -> dict[str, str]:
        import regex

        for name, pattern in value.items():
            try:
                is_empty = regex.fullmatch(pattern, "", regex.VERSION1) is not None
            except regex.error as error:
                raise ValueError(f"{name}: {pattern!r} is no regular expression: {error}") from None
            if is_empty:
                raise ValueError(f"{name}: {pattern!r} matches an empty text")
        return value
