"""What must hold of parsed documents and chunks before they are embedded."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import asset_checks, quality
from rag_assets.change import sync
from rag_assets.change.steps import Step
from rag_assets.config import Config
from rag_assets.documents.elements import completeness
from rag_assets.documents.elements.parse_report_rows import Accounts
from rag_assets.documents.files import names_of
from rag_assets.documents.steps import CHUNKS, PARSED_DOCUMENTS
from rag_assets.media.encodings import WITHOUT_BLANKS
from rag_assets.quality import Example, Profiler, Subject, TableMeasures, Tally
from rag_assets.schemas import DOCUMENT_FILES_TABLE, ELEMENT_TYPES
from rag_assets.store import Store

IS_PARSED = "status = 'ok'"
NULLABLE_OF_ELEMENTS = ("page", "level", "box", "cells", "language", "confidence")


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    return asset_checks.definitions(config, *subjects(config))


def subjects(config: Config) -> list[Subject]:
    """The tables of this room and what must hold of them."""
    return [_parsed_documents(config), _chunks(config)]


def _parsed_documents(config: Config) -> Subject:
    is_cut = config.index.text.tokenizer == "icu"  # text without blanks, into words

    def measure(store: Store, step: Step, variant: str | None) -> TableMeasures:
        accounts = Accounts(store, config.tables_of(str(variant)).accounts)
        return _measured_elements(store, step.table, accounts=accounts)

    every = quality.expectations_of("elements")
    return quality.of_step(
        config,
        PARSED_DOCUMENTS,
        stage="elements",
        measure=measure,
        expectations=[one for one in every if not is_cut or one.name != "words_searchable"],
    )


def _chunks(config: Config) -> Subject:
    def measure(store: Store, step: Step, variant: str | None) -> TableMeasures:
        elements = config.tables_of(str(variant)).elements
        size = config.chunkings[config.variant(str(variant)).chunking].size
        return _measured_chunks(store, step.table, elements=elements, size=size)

    return quality.of_step(
        config,
        CHUNKS,
        stage="chunks",
        against=[PARSED_DOCUMENTS.name],
        measure=measure,
    )


def _measured_elements(store: Store, name: str, *, accounts: Accounts) -> TableMeasures:
    tally = Tally("duplicate_ids", "unknown_types", "words_without_blanks")
    profiler = Profiler(expected_rows=store.count(name))
    with_elements: set[str] = set()
    columns = ["element_id", "document_id", "type", "text", *NULLABLE_OF_ELEMENTS]
    for batch in store.batches(name, columns=columns):
        profiler.rows(batch, nullable=NULLABLE_OF_ELEMENTS)
        lengths = quality.lengths_of(batch["text"])
        profiler.texts(batch["text"], keys=batch["element_id"], lengths=lengths)
        tally.keys(batch["element_id"])
        is_unknown = pc.invert(pc.is_in(batch["type"], pa.array(ELEMENT_TYPES)))
        shown = batch.select(["document_id", "type", "element_id"])
        tally.count("unknown_types", is_unknown, shown=shown)
        found = pc.match_substring_regex(batch["text"], WITHOUT_BLANKS)
        tally.count("words_without_blanks", found, shown=shown)
        with_elements.update(pc.unique(batch["document_id"]).to_pylist())
    files = _documents(store, DOCUMENT_FILES_TABLE, where=IS_PARSED)
    failed = sync.quarantined(store, name)
    known = with_elements | {failure.key for failure in failed}
    _put_lost(tally, store, name, known=known, wanted=lambda: files)
    failures = [failure for failure in failed if failure.key in files]
    _put_failed(tally, failures)
    tally.share("failed_share", of="failed_documents", among=len(files))
    names = names_of(store)
    for measured in ("unknown_types", "words_without_blanks"):
        _name_documents(tally.examples.get(measured, []), names)
    completeness.measure(accounts.rows(), into=tally, names=names)
    return tally.measures(profiler.profile())


def _measured_chunks(store: Store, name: str, *, elements: str, size: int) -> TableMeasures:
    tally = Tally("duplicate_ids", "blank_texts", "oversized_chunks", "inverted_spans")
    profiler = Profiler(expected_rows=store.count(name))
    with_chunks: set[str] = set()
    spans = ["char_start", "char_end", "element_start", "element_end"]
    columns = ["chunk_id", "document_id", "uri", "index", "tokens", "text", *spans]
    for batch in store.batches(name, columns=columns):
        profiler.rows(batch)
        profiler.texts(batch["text"], keys=batch["chunk_id"], lengths=batch["tokens"])
        tally.keys(batch["chunk_id"])
        shown = batch.select(["uri", "index", "tokens", "chunk_id"])
        tally.count("blank_texts", pc.equal(quality.lengths_of(batch["text"]), 0), shown=shown)
        tally.count("oversized_chunks", pc.greater(batch["tokens"], size), shown=shown)
        is_inverted = pc.or_(
            pc.less_equal(batch["char_end"], batch["char_start"]),
            pc.less(batch["element_end"], batch["element_start"]),
        )
        tally.count("inverted_spans", is_inverted, shown=batch.select(["uri", "index", *spans]))
        with_chunks.update(pc.unique(batch["document_id"]).to_pylist())
    failed = sync.quarantined(store, name)
    _put_failed(tally, failed)
    known = with_chunks | {failure.key for failure in failed}
    _put_lost(tally, store, name, known=known, wanted=lambda: _documents(store, elements))
    return tally.measures(profiler.profile())


def _put_failed(tally: Tally, failures: Sequence[sync.Failure]) -> None:
    """Count the documents that failed; one is enough for a warning."""
    examples = (
        {"document": item.label, "reason": item.reason.removeprefix(f"{item.label}: ")}
        for item in failures
    )
    tally.put("failed_documents", len(failures), examples=examples)


def _put_lost(
    tally: Tally, store: Store, name: str, *, known: set[str], wanted: Callable[[], set[str]]
) -> None:
    """Count the inputs of a table that are not `known`: it holds nothing of them, and no reason.

    Those `wanted` now are read only where some are lost, or no pass has counted them.
    """
    inputs = quality.inputs_of(store, name, wanted=lambda: len(wanted() | known))
    lost = max(inputs - len(known), 0)
    tally.put("lost_documents", lost, examples=_named(store, wanted() - known) if lost else ())


def _documents(store: Store, name: str, *, where: str | None = None) -> set[str]:
    column = store.read(name, columns=["document_id"], where=where)["document_id"]
    return set(pc.unique(column).to_pylist())


def _name_documents(examples: list[Example], names: Mapping[str, str]) -> None:
    """Put what a person calls each document in place of its id."""
    for place, shown in enumerate(examples):
        name = names.get(str(shown["document_id"]), str(shown["document_id"]))
        examples[place] = {"document": name, "type": shown["type"], "element": shown["element_id"]}


def _named(store: Store, documents: set[str]) -> Iterator[Example]:
    """Documents as a person knows them; nothing is read where there are none."""
    known = names_of(store) if documents else {}
    for key in sorted(documents)[: quality.EXAMPLES_SHOWN]:
        yield {"document": known.get(key, key)}
