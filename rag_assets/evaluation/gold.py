"""Gold evidence: what must be found for a question, anchored to the source.

Gold names a document (with page and quoted text where they are known) or a row of a table, never
a chunk, so that it outlives every change of parser, chunking and model. `projection` says which
units of an index it stands for.
"""

import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.retrieval.versions import DocumentKey


@dataclass(frozen=True, slots=True)
class DocumentGold:
    """A document, or a page of it, or a text on it."""

    uri: str
    """The URI as the questions name it; `DocumentFinder` finds the document of a source."""
    page: int | None = None
    """Physical page or slide, from 1."""
    quote: str | None = None
    """The text that answers the question."""

    @property
    def label(self) -> str:
        """A name for people."""
        return self.uri if self.page is None else f"{self.uri} p. {self.page}"

    @property
    def holder(self) -> str:
        """The document that it lies in."""
        return self.uri


@dataclass(frozen=True, slots=True)
class RowGold:
    """A row of a table."""

    table: str
    """Name of the table; `source/table` where two sources hold a table of that name."""
    row_key: str
    """The key of the row at the source."""

    @property
    def label(self) -> str:
        """A name for people."""
        return f"{self.table} row {self.row_key}"

    @property
    def holder(self) -> str:
        """The table that it lies in."""
        return f"table {self.table}"


Gold: TypeAlias = DocumentGold | RowGold


def to_json(gold: Sequence[Gold]) -> str:
    """`gold` as the JSON list of the column `gold` of `schemas.QUESTIONS`."""
    return json.dumps([_entry(item) for item in gold], ensure_ascii=False)


def from_json(text: str) -> tuple[Gold, ...]:
    """The gold that `to_json` wrote."""
    return tuple(
        RowGold(entry["table"], entry["row_key"])
        if entry["kind"] == "row"
        else DocumentGold(entry["uri"], entry.get("page"), entry.get("quote"))
        for entry in json.loads(text)
    )


def domain_of(gold: Sequence[Gold]) -> Literal["document", "table", "combined"]:
    """The domain of the gold; `combined` if it lies in documents and in tables."""
    kinds = {type(item) for item in gold}
    if len(kinds) > 1:
        return "combined"
    return "table" if RowGold in kinds else "document"


def _entry(gold: Gold) -> dict[str, str | int]:
    if isinstance(gold, RowGold):
        return {"kind": "row", "table": gold.table, "row_key": gold.row_key}
    entry: dict[str, str | int] = {"kind": "document", "uri": gold.uri}
    if gold.page is not None:
        entry["page"] = gold.page
    if gold.quote is not None:
        entry["quote"] = gold.quote
    return entry


class DocumentFinder:
    """Finds the document of a source that gold names by a path or an id."""

    def __init__(self, documents: Iterable[DocumentKey], *, roots: Mapping[str, str]) -> None:
        """Look among `documents`; `roots` gives the folder or URL of each source."""
        self._roots = {source: root.rstrip("/").split("/") for source, root in roots.items()}
        self._named: defaultdict[str, list[DocumentKey]] = defaultdict(list)
        self._documents: dict[DocumentKey, DocumentKey] = {}
        for source, uri in documents:
            normal = unicodedata.normalize("NFC", uri)
            self._documents[source, normal] = (source, uri)
            for name in (normal, f"{source}/{normal}"):
                self._named[name].append((source, uri))

    def find(self, uri: str) -> list[DocumentKey]:
        """The documents that `uri` names: mostly one, none if nothing fits or too much does.

        In this order: the URI of a document, alone or after the name of its source; a path that
        begins with the last folders of a source's root (`docs/a.pdf` where the root is `.../docs`);
        the end of exactly one document's URI.
        """
        wanted = unicodedata.normalize("NFC", uri.replace("\\", "/")).removeprefix("./")
        if wanted in self._named:
            return self._named[wanted]
        below = [
            self._documents[source, rest]
            for source in self._roots
            for rest in self._below_root(wanted, source)
            if (source, rest) in self._documents
        ]
        if below:
            return below
        ending = [
            document
            for (_, known), document in self._documents.items()
            if known.endswith(f"/{wanted}")
        ]
        return ending if len(ending) == 1 else []

    def _below_root(self, path: str, source: str) -> Iterable[str]:
        """What is left of `path` after the folders that end the root of `source`."""
        parts = path.split("/")
        root = self._roots[source]
        for count in range(1, len(parts)):
            if parts[:count] == root[-count:]:
                yield "/".join(parts[count:])
