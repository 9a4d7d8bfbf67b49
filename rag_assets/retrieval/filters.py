"""Filters: which units a search may return.

Filters are applied before each search, so that a filtered search returns the best of the allowed
units, and as many as there are. Values are compared exactly, as literals: no value can be read as a
pattern or as SQL.
"""

from dataclasses import dataclass, fields
from datetime import date
from typing import get_args

from rag_assets.columns.sql import quoted
from rag_assets.config import Versions
from rag_assets.process.errors import RequestError
from rag_assets.schemas import DOMAINS, UNIT_TYPES

SECTION_MARK = " > "
"""Joins the headings of a section path (`schemas.units`)."""

FIELD_MARK = ": "
"""Separates the name of a header field from its value (`schemas.units`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions on units, all of which must hold; None means no condition.

    Raises:
        RequestError: A value is blank, `domain` or `type` is none of those in `schemas`, a field is
            not written as `name: value`, or a place of `within` not as `source/name`.
    """

    domain: str | None = None
    """The domain, `document` or `table`."""
    source: str | None = None
    """Name of a source in the config."""
    uri: str | None = None
    """URI of a document below its source root, or source/table."""
    section: str | None = None
    """Head of a section path, headings joined by ' > ': `2 Methods` allows all of its parts."""
    table: str | None = None
    """Name of a table."""
    type: str | None = None
    """`text`, `table`, `figure` or `formula`: what a chunk shows; rows have none."""
    language: str | None = None
    """ISO 639-1 code of a chunk's language; rows have none."""
    fields: tuple[str, ...] = ()
    """`name: value` of header fields of a chunk's document, exactly as they were found."""
    within: tuple[str, ...] = ()
    """The only documents and tables, as `source/uri` and `source/table`; a place that ends with `/`
    holds all that stands below it: `papers/old/`, or a whole source, `papers/`."""
    documents: frozenset[str] | None = None
    """URIs of the only documents to search; table rows are not affected."""
    without: frozenset[str] | None = None
    """Ids of units to leave out."""
    versions: Versions | None = None
    """`current` or `all` versions of documents; that of the config unless given. What it leaves out
    depends on the index: see `versions.IndexedFamilies`."""
    as_of: date | None = None
    """Day on which the versions of documents were valid, in the place of `versions`."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str) and not value.strip():
                raise RequestError(f"filter {field.name} is blank: name a value or leave it out")
        for name, known in (("domain", DOMAINS), ("type", UNIT_TYPES)):
            value = getattr(self, name)
            if value is not None and value not in known:
                allowed = " or ".join(known)
                raise RequestError(f"filter {name} = {value!r}: there is only {allowed}")
        if self.versions not in (None, *get_args(Versions)):
            allowed = " or ".join(get_args(Versions))
            raise RequestError(f"filter versions = {self.versions!r}: there is only {allowed}")
        if self.versions and self.as_of:
            raise RequestError("filters versions and as_of exclude each other: give one of them")
        for entry in self.fields:
            name, mark, value = entry.partition(FIELD_MARK)
            if not (name.strip() and mark and value.strip()):
                raise RequestError(f"filter field {entry!r} is not written as 'name: value'")
        for place in self.within:
            if "/" not in place or not place.partition("/")[0].strip():
                raise RequestError(f"filter within {place!r} is not written as 'source/document'")

    def covers(self, source: str, name: str) -> bool:
        """Whether `within` holds the document with the URI `name`, or the table called so."""
        place = f"{source}/{name}"
        folders = tuple(each for each in self.within if each.endswith("/"))
        return not self.within or place in self.within or place.startswith(folders)

    def condition(self) -> str | None:
        """All but versions as an SQL condition on `schemas.units`; None if nothing is asked."""
        conditions = [
            f"`{column}` = {literal(value)}"
            for column in ("domain", "source", "uri", "table", "type", "language")
            if (value := getattr(self, column)) is not None
        ]
        conditions += [f"array_has(fields, {literal(entry)})" for entry in self.fields]
        if self.section is not None:
            inside = f"starts_with(section, {literal(self.section + SECTION_MARK)})"
            conditions.append(f"(section = {literal(self.section)} OR {inside})")
        if self.within:
            place = "concat(source, '/', coalesce(`table`, uri))"
            named = [f"{place} IN ({', '.join(map(literal, self.within))})"]
            named += [
                f"starts_with({place}, {literal(each)})" for each in self.within if each[-1] == "/"
            ]
            conditions.append(f"({' OR '.join(named)})")
        if self.documents is not None:
            inside = ", ".join(literal(uri) for uri in sorted(self.documents))
            named = f"uri IN ({inside})" if inside else "false"
            conditions.append(f"(domain != 'document' OR {named})")
        if self.without:
            left_out = ", ".join(literal(unit) for unit in sorted(self.without))
            conditions.append(f"unit_id NOT IN ({left_out})")
        return " AND ".join(conditions) or None


def literal(value: str) -> str:
    """`value` as an SQL literal, whatever characters it holds."""
    return quoted(encodable(value))


def encodable(text: str) -> str:
    """`text` with `?` for each lone surrogate: everything else has a UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")
