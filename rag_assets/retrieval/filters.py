"""Filters: which units a search may return.

Filters are applied before the search in each arm, so that a filtered search returns the best of
what is allowed and never fewer units than there are. Values are compared exactly, as literals:
no value can be read as a pattern or as SQL.
"""

from dataclasses import dataclass, fields

from rag_assets.schemas import DOMAINS
from rag_assets.store import quoted

SECTION_MARK = " > "
"""What joins the headings of a section path (`schemas.units`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions on units, all of which must hold; None asks for nothing.

    Raises:
        ValueError: A value is blank, or `domain` is not one of `schemas.DOMAINS`.
    """

    domain: str | None = None
    """`document` or `table`."""
    source: str | None = None
    """Name of a source in the config."""
    uri: str | None = None
    """URI of a document below its source root, or source/table."""
    section: str | None = None
    """Head of a section path, headings joined by ' > ': `2 Methods` allows all of its parts."""
    table: str | None = None
    """Name of a table."""
    documents: frozenset[str] | None = None
    """URIs of the only documents that count; table rows are not touched by it."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str) and not value.strip():
                raise ValueError(f"filter {field.name} is blank: name a value or leave it out")
        if self.domain is not None and self.domain not in DOMAINS:
            known = " or ".join(DOMAINS)
            raise ValueError(f"filter domain = {self.domain!r}: there is only {known}")

    def condition(self) -> str | None:
        """The filters as an SQL condition on `schemas.units`; None if everything is allowed."""
        conditions = [
            f"`{column}` = {literal(value)}"
            for column in ("domain", "source", "uri", "table")
            if (value := getattr(self, column)) is not None
        ]
        if self.section is not None:
            inside = f"starts_with(section, {literal(self.section + SECTION_MARK)})"
            conditions.append(f"(section = {literal(self.section)} OR {inside})")
        if self.documents is not None:
            inside = ", ".join(literal(uri) for uri in sorted(self.documents))
            named = f"uri IN ({inside})" if inside else "false"
            conditions.append(f"(domain != 'document' OR {named})")
        return " AND ".join(conditions) or None


def literal(value: str) -> str:
    """`value` as an SQL literal, whatever characters it holds."""
    return quoted(encodable(value))


def encodable(text: str) -> str:
    """`text` with `?` for each lone surrogate: everything else has a UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")
