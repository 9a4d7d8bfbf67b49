"""Elements become chunks: documents whose elements have changed are cut again.

The fingerprint of a document's chunks covers the content of its elements, the chunking (strategy,
sizes, header and the tokenizer's file) and the rules of the header fields. If a newer parser finds
the same elements, the chunks stay.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.change.steps import made_from
from rag_assets.columns.gathered import gathered
from rag_assets.columns.id_columns import OCTETS, chunk_ids, octets
from rag_assets.columns.keys import ABSENT, KeyIndex, begins_run
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.config import Config, addresses
from rag_assets.config.documents import DEFAULT_CHUNKINGS
from rag_assets.documents.chunks.chunking import ChunkerError, CountedText, chunks_of, counted
from rag_assets.documents.chunks.document_texts import (
    BLOCK_COLUMNS,
    blocks_of,
    described_pictures,
)
from rag_assets.documents.chunks.regions import Block, Chunk
from rag_assets.documents.chunks.tokens import TokenCounter, tokenizer_file
from rag_assets.documents.elements.site_furniture import repeated_texts, set_aside
from rag_assets.documents.head.header_fields import fields_of, rules_of
from rag_assets.documents.step_tables import CUTTING
from rag_assets.documents.step_tables import chunks_of as chunks_table
from rag_assets.identity import fingerprint, occurrences, text_hash
from rag_assets.process.overlap import read_ahead
from rag_assets.store import ROW_ID, Store

REVISION = CUTTING
DOCUMENTS_A_BATCH = 512
ELEMENTS_A_BATCH = 65_536
BYTES_A_BATCH = 128 * 2**20
"""Bytes of files in a batch, about as much as their texts. Three batches are in memory: one is
being read, one cut and one committed. A run that is stopped waits for the first. An Arrow column
holds 2 GiB."""
ELEMENTS_AT_ONCE = 65_536
HASH_SHOWN = 12
"""A person sees so many digits of a hash."""

CONTENT = pa.schema([item for item in schemas.CHUNKS if item.name not in schemas.SYSTEM_COLUMNS])
_FILE_COLUMNS = ["document_id", "source", "uri", "size", "media_type"]


@dataclass(frozen=True, slots=True)
class ChunkReport(sync.Report):
    """What one pass did, and how many texts of the documents that it cut again must be embedded."""

    texts_kept: int = 0
    """Texts that a document had before it was cut again: their vectors stay."""
    texts_new: int = 0
    """Texts that are new to a document that was cut again."""

    @property
    def share_new(self) -> float | None:
        """Share of these texts that are new; None if no document was cut again."""
        texts = self.texts_kept + self.texts_new
        return self.texts_new / texts if texts else None


def refresh_chunks(
    store: Store,
    config: Config,
    *,
    parser: str,
    chunking: str,
    log: Callable[[str], None],
    retry: bool = False,
) -> ChunkReport:
    """Cut documents whose elements are new or changed, and drop the chunks of those that are gone.

    Args:
        store: Holds the elements, the manifest `document_files` and the chunks.
        config: Names the settings of the chunking.
        parser: Name of the parser in the config.
        chunking: Name of the chunking in the config.
        log: Receives progress, one line at a time.
        retry: Also try again the documents that gave no chunk.

    Raises:
        ConfigError: The tokenizer of the chunking cannot be found.
    """
    work = _ChunkingPass(store, config, parser=parser, chunking=chunking)

    def transform(changed: pa.Table) -> Iterator[sync.Batch]:
        tokenizer = tokenizer_file(config.chunkings[chunking].tokenizer)
        yield from work.transform(changed["key"], TokenCounter.from_file(tokenizer))

    report = sync.refresh(sync.Work.of(work.derivation, transform), log=log, retry=retry)
    counted = {item.name: getattr(report, item.name) for item in fields(report)}
    return ChunkReport(**counted, texts_kept=work.texts_kept, texts_new=work.texts_new)


def derivation(store: Store, config: Config, *, parser: str, chunking: str) -> sync.Derivation:
    """The chunks, made from the elements of `parser`.

    Raises:
        ConfigError: The tokenizer of the chunking cannot be found.
    """
    return _ChunkingPass(store, config, parser=parser, chunking=chunking).derivation


@dataclass(frozen=True, slots=True)
class _Place:
    """The source and URI of a document."""

    source: str
    uri: str

    @property
    def name(self) -> str:
        """The file's name in plain words."""
        return " ".join(PurePosixPath(self.uri).stem.replace("_", " ").split())


class _Documents(NamedTuple):
    """Some documents, ready to be cut."""

    ids: Sequence[str]
    places: Mapping[str, _Place]
    blocks: Sequence[Sequence[Block]]
    texts: Sequence[CountedText]


class _ChunkingPass:
    """One pass over the documents that have elements."""

    def __init__(self, store: Store, config: Config, *, parser: str, chunking: str) -> None:
        self._settings = settings = config.chunkings[chunking]
        self._counted_by = hashlib.sha256(
            tokenizer_file(settings.tokenizer).read_bytes()
        ).hexdigest()
        """Hash of the tokenizer's file."""
        self._seed = addresses.seed_of(
            settings, tokenizer=self._counted_by, shipped=DEFAULT_CHUNKINGS
        )
        self.store = store
        self.texts_kept = 0
        self.texts_new = 0
        self._step = chunks_table(config, parser, chunking)
        self.target = self._step.target()
        self._elements = addresses.elements_table(config, parser)
        has_words = config.describing_model is not None
        self._described = addresses.descriptions_table(config, parser) if has_words else None
        """The table of descriptions, if figures have any."""
        rules = config.documents.header_fields
        self._rules = rules_of(rules)
        self._elements_looked_at = rules.elements
        self._repeated: dict[str, frozenset[str]] = {}
        """By web page what its site repeats."""
        self._descriptions: Mapping[str, str] = {}
        """By picture."""
        self._generation = ""
        """Generation of the elements that are read."""
        self._version = 0
        self._files = pa.table([[]] * len(_FILE_COLUMNS), names=_FILE_COLUMNS)
        """Documents of the manifest."""
        self._index = KeyIndex(pa.array([], pa.string()))
        self._owners = np.empty(0, np.int32)
        """For each element its document's position in the manifest."""
        self._row_ids = np.empty(0, np.uint64)

    @property
    def derivation(self) -> sync.Derivation:
        """The chunks, made from the elements."""
        return sync.Derivation(
            store=self.store,
            target=self.target,
            made_from=made_from(self.store, self._step.inputs, recipe=self.recipe),
            recipe=self.recipe_in_words,
            inputs=self.inputs,
        )

    @property
    def recipe(self) -> str:
        """Fingerprint of all settings of chunks."""
        settings = self._settings.model_dump(mode="json", exclude={"tokenizer"})
        rules = json.dumps([self._rules, self._elements_looked_at])
        return fingerprint("chunks", REVISION, self._seed, settings, self._counted_by, rules)

    @property
    def recipe_in_words(self) -> dict[str, str]:
        """What the recipe consists of, by name."""
        settings = self._settings.model_dump(mode="json")
        rules = fingerprint(self._rules, self._elements_looked_at)[:HASH_SHOWN]
        return {
            **{f"chunk {name}": str(value) for name, value in settings.items()},
            "tokenizer's file": self._counted_by[:HASH_SHOWN],
            "header fields": rules if self._rules else "none",
            "rules of cutting": str(REVISION),
        }

    def inputs(self) -> pa.Table:
        """One input for each document of the manifest that has elements: their content."""
        self._files = self.store.read(schemas.DOCUMENT_FILES_TABLE, columns=_FILE_COLUMNS)
        self._generation = self.store.generation(self._elements)
        self._version = self.store.version(self._generation)
        self._descriptions = described_pictures(self.store, self._described)
        self._repeated = repeated_texts(
            self.store, self._generation, self._files, version=self._version
        )
        self._index = KeyIndex(self._files["document_id"])
        contents = self._contents(self._files["document_id"])
        return sync.with_recipe(contents, key="document_id", content="content", recipe=self.recipe)

    def transform(self, documents: pa.ChunkedArray, counter: TokenCounter) -> Iterator[sync.Batch]:
        """Chunks of the changed documents, in batches."""
        order = np.argsort(self._owners, kind="stable")
        owners, wanted = self._owners[order], self._index.places(documents)
        firsts, ends = owners.searchsorted(wanted), owners.searchsorted(wanted, side="right")
        row_ids = self._row_ids[order]
        spans = [row_ids[first:end] for first, end in zip(firsts, ends, strict=True)]
        parts = (
            self._read(
                documents[part].to_pylist(),
                self._places(wanted[part]),
                np.concatenate(spans[part]),
                counter,
            )
            for part in _batches(ends - firsts, self._files["size"].to_numpy()[wanted])
        )
        has_chunks = self.store.count(self.target.name) > 0
        for part in read_ahead(parts):
            batch = self._cut(part, counter)
            if has_chunks:
                self._count(batch.rows, documents=batch.done)
            yield batch

    def _read(
        self,
        documents: Sequence[str],
        places: Mapping[str, _Place],
        row_ids: np.ndarray,
        counter: TokenCounter,
    ) -> _Documents:
        """Documents whose elements have these row ids."""
        by_document = self._blocks(row_ids)
        blocks = [by_document.get(document, []) for document in documents]
        return _Documents(documents, places, blocks, counted(blocks, counter))

    def _cut(self, part: _Documents, counter: TokenCounter) -> sync.Batch:
        """The chunks of some documents."""
        of_fields = [
            fields_of(blocks, self._rules, elements=self._elements_looked_at)
            for blocks in part.blocks
        ]
        chunks: dict[str, Sequence[Chunk]] = {}
        failed: list[sync.Failure] = []
        for document, found in zip(part.ids, self._pieces(part, of_fields, counter), strict=True):
            if isinstance(found, ChunkerError):
                uri = part.places[document].uri
                failed.append(sync.Failure(document, f"{uri}: {found}", uri))
            elif found:
                chunks[document] = found
            else:
                failed.append(_empty(document, part.places[document]))
        rows = self._rows(chunks, part.places, dict(zip(part.ids, of_fields, strict=True)))
        return sync.Batch(rows, done=[*chunks], failed=failed)

    def _pieces(
        self, part: _Documents, of_fields: Sequence[tuple[str, ...]], counter: TokenCounter
    ) -> Sequence[Sequence[Chunk] | ChunkerError]:
        """The chunks of each document; one that the chunker fails on fails alone."""
        try:
            return chunks_of(
                part.texts,
                strategy=self._settings.strategy,
                size=self._settings.size,
                overlap=self._settings.overlap,
                counter=counter,
                header=self._settings.header,
                names=[part.places[document].name for document in part.ids],
                fields=of_fields,
            )
        except ChunkerError as error:
            if len(part.ids) == 1:
                return [error]
        alone = (
            _Documents([document], part.places, [blocks], [text])
            for document, blocks, text in zip(part.ids, part.blocks, part.texts, strict=True)
        )
        return [
            found
            for one, fields in zip(alone, of_fields, strict=True)
            for found in self._pieces(one, [fields], counter)
        ]

    def _count(self, rows: pa.Table, *, documents: Sequence[str]) -> None:
        """Count the texts of these `documents` that are kept and new, if they were cut before."""
        texts_before: dict[str, set[str]] = {}
        columns = ["document_id", "text_hash"]
        for part in parts_of(documents):
            before = self.store.read(
                self.target.name, columns=columns, where=is_one_of("document_id", part)
            )
            for document, text in zip(*(before[name].to_pylist() for name in columns), strict=True):
                texts_before.setdefault(document, set()).add(text)
        for document, text in zip(*(rows[name].to_pylist() for name in columns), strict=True):
            if document in texts_before:
                is_kept = text in texts_before[document]
                self.texts_kept += is_kept
                self.texts_new += not is_kept

    def _contents(self, documents: pa.ChunkedArray) -> pa.Table:
        """For each document with elements, their number and the sum of their fingerprints."""
        counts = np.zeros(len(documents), np.int64)
        sums = np.zeros((len(documents), OCTETS // 8), "<u8")
        owners, row_ids = [self._owners[:0]], [self._row_ids[:0]]
        batches = self.store.batches(
            self._generation,
            columns=["document_id", "row_fingerprint", *(["image"] if self._descriptions else [])],
            version=self._version,
            rows=ELEMENTS_AT_ONCE,
            with_row_ids=True,
        )
        for part in gathered(batches):
            starts = np.flatnonzero(begins_run(part["document_id"]))
            lengths = np.diff(starts, append=part.num_rows)
            owner = self._index.places(part["document_id"].take(pa.array(starts)))
            owners.append(np.repeat(owner, lengths).astype(np.int32))
            row_ids.append(part[ROW_ID].to_numpy())
            is_known = owner != ABSENT
            contents_of = octets(part["row_fingerprint"]).view("<u8")
            if self._descriptions:
                self._add_descriptions(contents_of, part["image"])
            # A sum, as Lance returns rows in no fixed order: equal elements have an equal one.
            of_runs = np.add.reduceat(contents_of, starts)
            np.add.at(sums, owner[is_known], of_runs[is_known])
            np.add.at(counts, owner[is_known], lengths[is_known])
        self._owners, self._row_ids = np.concatenate(owners), np.concatenate(row_ids)
        found = np.flatnonzero(counts)
        kept = documents.take(found)
        contents = [
            f"{counts[place]}:{sums[place].tobytes().hex()}{self._furniture_of(document)}"
            for place, document in zip(found, kept.to_pylist(), strict=True)
        ]
        return pa.table({"document_id": kept, "content": contents})

    def _furniture_of(self, document: str) -> str:
        """What the chunks of a web page depend on beside its elements."""
        repeated = self._repeated.get(document)
        return f":{fingerprint(*sorted(repeated))}" if repeated else ""

    def _add_descriptions(self, contents: np.ndarray, pictures: pa.ChunkedArray) -> None:
        """Add the description of an element's picture to the content of the element."""
        for place, picture in enumerate(pictures.to_pylist()):
            if description := self._descriptions.get(picture):
                digest = hashlib.sha256(description.encode()).digest()
                contents[place] += np.frombuffer(digest, "<u8")

    def _blocks(self, row_ids: np.ndarray) -> dict[str, list[Block]]:
        table = self.store.take(
            self._generation,
            row_ids,
            columns=["document_id", *BLOCK_COLUMNS],
            version=self._version,
        )
        found = blocks_of(table, self._descriptions)
        for document in found.keys() & self._repeated.keys():
            found[document] = set_aside(found[document], self._repeated[document])
        return found

    def _places(self, positions: np.ndarray) -> dict[str, _Place]:
        """The places that the documents at these positions of the manifest come from."""
        return _places_of(self._files.take(pa.array(positions)))

    def _rows(
        self,
        documents: Mapping[str, Sequence[Chunk]],
        of_documents: Mapping[str, _Place],
        found: Mapping[str, tuple[str, ...]],
    ) -> pa.Table:
        owners = [document for document, of_document in documents.items() for _ in of_document]
        places = [of_documents[document] for document in owners]
        chunks = [chunk for of_document in documents.values() for chunk in of_document]
        values = dict(zip(Chunk._fields, zip(*chunks, strict=True), strict=True)) if chunks else {}
        hashes = [text_hash(text) for text in values.get("text", ())]
        repeats = occurrences(zip(owners, hashes, strict=True))
        columns = {
            **{name: values.get(name, ()) for name in Chunk._fields},
            "chunk_id": chunk_ids(owners, self._seed, hashes, repeats),
            "document_id": owners,
            "source": [place.source for place in places],
            "uri": [place.uri for place in places],
            "index": [
                index for of_document in documents.values() for index in range(len(of_document))
            ],
            "text_hash": hashes,
            "fields": [found[document] or None for document in owners],
        }
        return pa.table(columns, schema=CONTENT)


def _places_of(files: pa.Table) -> dict[str, _Place]:
    rows = files.select(["document_id", "source", "uri"]).to_pylist()
    return {row["document_id"]: _Place(row["source"], row["uri"]) for row in rows}


def _batches(elements: np.ndarray, sizes: np.ndarray) -> Iterator[slice]:
    """Documents that are cut and committed together, given the elements and bytes of each."""
    start = element_count = byte_count = 0
    for place, (count, size) in enumerate(zip(elements.tolist(), sizes.tolist(), strict=True)):
        is_full = (
            place - start == DOCUMENTS_A_BATCH
            or element_count + count > ELEMENTS_A_BATCH
            or byte_count + size > BYTES_A_BATCH
        )
        if is_full and place > start:
            yield slice(start, place)
            start, element_count, byte_count = place, 0, 0
        element_count += count
        byte_count += size
    if len(elements):
        yield slice(start, len(elements))


def _empty(document: str, place: _Place) -> sync.Failure:
    reason = f"{place.uri} holds no text to cut: see rag-assets status --documents for its parser"
    return sync.Failure(document, reason, place.uri)
