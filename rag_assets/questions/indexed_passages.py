"""Passages of documents, as the index holds them: what questions are made from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.completing import follows
from rag_assets.columns.sql import quoted
from rag_assets.config import Config, Variant
from rag_assets.documents.step_tables import chunks_of, elements_of
from rag_assets.evaluation.gold import DocumentGold
from rag_assets.index.step_tables import chunk_vectors_of
from rag_assets.index.units import matrix_of
from rag_assets.questions import windows
from rag_assets.questions.sampling import chosen_windows, sampled
from rag_assets.retrieval.versions import IndexedFamilies, indexed_families, stale_documents
from rag_assets.store import ROW_ID, MissingIndexError, Store
from rag_assets.store.ann import vector_query
from rag_assets.store.complete_sets import CompleteSet, as_it_stands, set_of
from rag_assets.store.pins import Pin, opened
from rag_assets.store.serving_pointer import serving_variant
from rag_assets.terms.words import normalized

SHARED_BY = 3
"""Documents that have a text before it counts as one that many share."""
DOCUMENTS_AT_ONCE = 8
"""Documents whose vectors are in memory together, and which are read side by side."""
NEAREST = 20
"""Other chunks that a question is held against."""
COLUMNS = ("source", "uri", "title", "section", "pages", "char_start", "char_end", "text")
OWN_TEXT = "arrow_cast(md5(right(text, cast(char_end - char_start AS int))), 'Utf8')"
"""What tells the text of a chunk, without its header, from others: it is not read into memory."""


@dataclass(frozen=True, slots=True, eq=False)
class PassageChunk:
    """A chunk of a window, with its columns of `schemas.units`."""

    source: str
    uri: str
    title: str
    section: str
    pages: Sequence[int]
    char_start: int
    char_end: int
    text: str
    vector: np.ndarray

    @property
    def own_text(self) -> str:
        """What stands in the document, without the header of the chunk."""
        return schemas.slice_of(self.text, self.char_start, self.char_end)

    def overlaps(self, span: range) -> bool:
        """Whether it holds a character of a `span` of its document."""
        return self.char_start < span.stop and span.start < self.char_end


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """The windows of a document that give questions; none if it says nothing of its own."""

    document_id: str
    language: str
    """ISO 639-1 code of most of its text; the first of `questions.languages` if that is unknown."""
    windows: Sequence[Sequence[PassageChunk]]

    @property
    def source(self) -> str:
        """The name of its source; only of a document with windows."""
        return self.windows[0][0].source


@dataclass(frozen=True)
class IndexedPassages:
    """The chunks of all documents, at one version of the index of the variant that serves."""

    store: Store
    config: Config
    tables: CompleteSet
    pin: Pin
    """The pin of the chunks with their vectors."""

    @classmethod
    def of(cls, store: Store, config: Config) -> Self | None:
        """The tables as a refresh left them; None if no document is indexed yet.

        While the chunks are being written, or were left half written, it is the last complete set.
        """
        variant = serving_variant(store, config)
        is_whole = store.ended(config.tables_of(variant).documents) is not None
        try:
            tables = (as_it_stands if is_whole else set_of)(store, config, variant)
        except MissingIndexError:
            return None
        return cls(store, config, tables, tables.documents) if tables.documents else None

    @property
    def is_behind(self) -> bool:
        """Whether the index may hold other versions of documents than the sources have now."""
        config, recipe = self.config, self._recipe
        elements = elements_of(config, recipe.parser)
        chunks = chunks_of(config, recipe.parser, recipe.chunking)
        steps = (elements, chunks, chunk_vectors_of(config, recipe))
        return not all(follows(self.store, step) for step in steps)

    def sample(self, *, most: int) -> dict[str, tuple[str, str]]:
        """The source and the hash of the file of at most so many documents, by their ids.

        Superseded versions, documents whose present version cannot be read, and copies are left
        out: see `sampling` for the rule.
        """
        stale = stale_documents(self.store, self.tables.elements)
        left_out = {*self._families.left_out("current"), *stale}
        columns = ["document_id", "source", "sha256"]
        name, where = schemas.DOCUMENT_FILES_TABLE, "status = 'ok'"
        files = self.store.read(name, columns=columns, where=where)
        in_order = files.sort_by([("document_id", "descending")]).to_pylist()
        first_of_copies = {
            file["sha256"]: file
            for file in in_order
            if file["document_id"] in self._languages and file["document_id"] not in left_out
        }
        found = {file["document_id"]: file for file in first_of_copies.values()}
        strata = {each: (found[each]["source"], self._languages[each]) for each in found}
        chosen = sampled(strata, most=most)
        return {each: (found[each]["source"], found[each]["sha256"]) for each in chosen}

    def passages(self, documents: Sequence[str], *, most: int) -> Iterator[list[DocumentPassages]]:
        """At most so many windows of each of `documents`, for some of these at a time."""
        heads, otherwise = self._heads(documents), self.config.questions.languages[0]
        numbers = heads["number"].to_numpy()
        for first in range(0, len(documents), DOCUMENTS_AT_ONCE):
            part = documents[first : first + DOCUMENTS_AT_ONCE]
            low, high = numbers.searchsorted([first, first + len(part)])
            found = self._chosen(part, heads.slice(low, high - low), first=first, most=most)
            languages = (self._languages.get(each) or otherwise for each in part)
            yield [*map(DocumentPassages, part, languages, found)]

    def nearest(self, chunk: PassageChunk, span: range, *, document: str) -> list[str]:
        """The texts of the chunks nearest to `chunk` that hold nothing of a `span` of its document.

        They are of documents in their current versions.
        """
        where, ann = self._families.condition("current"), self.config.retrieval.ann
        query = vector_query(opened(self.store, self.pin), chunk.vector, search=ann, where=where)
        columns = ["document_id", "char_start", "char_end", "text", "_distance"]
        found = query.select(columns).limit(2 * NEAREST).to_arrow().to_pylist()
        others = [
            each
            for each in found
            if each["document_id"] != document
            or each["char_end"] <= span.start
            or span.stop <= each["char_start"]
        ]
        return [each["text"] for each in others[:NEAREST]]

    def gold_of(self, quote: str, chunk: PassageChunk, *, document: str) -> DocumentGold:
        """A quote of a chunk as gold; without its page if that is unclear."""
        pages = {*chunk.pages}
        if len(pages) > 1:
            where, wanted = f"document_id = {quoted(document)}", normalized(quote)
            elements = self.store.read(self.tables.elements, columns=["page", "text"], where=where)
            on_page = (each for each in elements.to_pylist() if wanted in normalized(each["text"]))
            pages &= {each["page"] for each in on_page}
        page = pages.pop() if len(pages) == 1 else None
        return DocumentGold(f"{chunk.source}/{chunk.uri}", page, quote)

    @cached_property
    def _recipe(self) -> Variant:
        return self.config.variant(serving_variant(self.store, self.config))

    @cached_property
    def _families(self) -> IndexedFamilies:
        return indexed_families(self.store, families=self.tables.families, units=self.pin)

    @cached_property
    def _languages(self) -> dict[str, str | None]:
        """The language of each document that was read."""
        accounts = self.config.tables_of(serving_variant(self.store, self.config)).accounts
        found = self.store.read(accounts, columns=["document_id", "language"])
        return dict(zip(*found.to_pydict().values(), strict=True))

    def _heads(self, documents: Sequence[str]) -> pa.Table:
        """What is known of each chunk of `documents` without its text and vector, in order.

        `number` is the place of its document in `documents`.
        """
        names = ("document_id", "index", "type", "section")
        columns = {**{name: f"`{name}`" for name in names}, "own": OWN_TEXT}
        table, version = self.pin.table, self.pin.version
        batches = self.store.batches(table, columns=columns, version=version, with_row_ids=True)
        heads = pa.Table.from_batches(batches)
        owners = heads.group_by("own").aggregate([("document_id", "count_distinct")])
        shared = owners.filter(pc.field("document_id_count_distinct") >= SHARED_BY)["own"]
        numbers = pc.index_in(heads["document_id"], pa.array(documents, pa.string()))
        heads = heads.append_column("number", numbers)
        heads = heads.append_column("is_shared", pc.is_in(heads["own"], shared.combine_chunks()))
        order = [("number", "ascending"), ("index", "ascending")]
        return heads.filter(pc.is_valid(heads["number"])).sort_by(order)

    def _chosen(
        self, documents: Sequence[str], heads: pa.Table, *, first: int, most: int
    ) -> Iterator[list[list[PassageChunk]]]:
        """The chosen windows of each of `documents`, of whose chunks `heads` tells.

        `first` is the number of the first document.
        """
        size = windows.window_size(self.config.chunkings[self._recipe.chunking].size)
        names = ("number", "is_shared", ROW_ID)
        numbers, is_shared, row_ids = (heads[name].to_numpy() for name in names)
        vectors = matrix_of(self._take(row_ids, "vector")["vector"].combine_chunks())
        vectors = windows.unit_vectors(vectors)
        kept = np.flatnonzero(windows.telling(vectors, numbers, is_shared, size=size))
        starts, ends = windows.windows_of(numbers[kept], size=size)
        coherence = windows.coherences(vectors[kept], starts, ends)
        kinds, sections = (_codes(heads[name])[kept] for name in ("type", "section"))
        owners = numbers[kept][starts]
        for number, document in enumerate(documents, first):
            own = np.flatnonzero(owners == number)
            marks = (starts[own], ends[own], coherence[own])
            places = chosen_windows(*marks, kinds, sections, document=document, most=most)
            read = [kept[starts[place] : ends[place]] for place in own[places]]
            rows = [self._take(row_ids[each], *COLUMNS).to_pylist() for each in read]
            yield [
                [PassageChunk(**row, vector=vectors[at]) for row, at in zip(*each, strict=True)]
                for each in zip(rows, read, strict=True)
            ]

    def _take(self, row_ids: np.ndarray, *columns: str) -> pa.Table:
        table, version = self.pin.table, self.pin.version
        return self.store.take(table, row_ids, columns=columns, version=version)


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    """A number for each distinct value."""
    return column.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
