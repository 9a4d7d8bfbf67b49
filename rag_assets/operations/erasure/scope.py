"""The plan of a purge: everything that has traces of a document, found before it is erased."""

import re
import unicodedata
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets import schemas
from rag_assets.columns.sql import quoted
from rag_assets.config import Config
from rag_assets.config.training import WEIGHTS
from rag_assets.identity import SHORTEST_START, document_id, id_that_begins
from rag_assets.operations.erasure import erased_rows as erasure
from rag_assets.operations.erasure import (
    kept_answers,
    model_calls,
    run_records,
    state_files,
)
from rag_assets.operations.erasure.erased_rows import DOCUMENT, UNIT, AffectedTable, generations_of
from rag_assets.operations.erasure.kept_answers import AffectedAnswers
from rag_assets.operations.erasure.model_calls import AffectedCalls
from rag_assets.operations.erasure.proof import trace_in_file
from rag_assets.operations.erasure.run_records import AffectedRecords
from rag_assets.operations.erasure.state_files import FileGroup
from rag_assets.operations.erasure.traces import (
    BETWEEN,
    Traces,
    ngrams_of,
    plain,
    traces_of,
    words_of,
)
from rag_assets.process.errors import ExplainedError
from rag_assets.sources.files.listing import look
from rag_assets.sources.source_locations import SourceError
from rag_assets.store import Store, images
from rag_assets.store.catalog import folder_of, name_of
from rag_assets.store.exports import PREFIX

if TYPE_CHECKING:
    import dagster as dg

MANIFEST = schemas.DOCUMENT_FILES_TABLE
IMAGE = images.KEY
TEXTS = (DOCUMENT, "text", "cells", "section_path")
"""Columns with what a document says, after the one that names it."""
MUCH = 0.1
"""A former document is a copy from this share of the n-grams of the shorter one on: a phrase that
two documents have by chance is less."""
_START = re.compile(rf"[0-9a-f-]{{{SHORTEST_START},}}", re.IGNORECASE)
"""What may be the start of an id."""

Log = Callable[[str], None]


class PurgeError(ExplainedError):
    """A document cannot be purged; the message says why, and what to do first."""


@dataclass(frozen=True, slots=True)
class Document:
    """The document to erase."""

    document_id: str
    source: str
    uri: str
    """The URI of the document; empty if only its id is still known."""

    @property
    def name(self) -> str:
        """A name for people."""
        return self.uri or self.document_id


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """Everything that a purge would erase."""

    document: Document
    copies: Sequence[Document]
    """Documents that no source has any more, with its bytes or much of its text: what it was called
    before it was renamed or moved, and copies. They are erased with it."""
    traces: Traces = field(repr=False)
    """Texts of these documents alone; none may be left afterwards."""
    tables: Sequence[AffectedTable]
    units: int
    """Number of units, in all versions and chunkings."""
    pictures: int
    """Pictures that no other document shows."""
    files: Sequence[FileGroup]
    """Reports, evaluations, experiments and other files with traces."""
    records: AffectedRecords
    answers: AffectedAnswers
    """The kept answers that cite, show or quote it."""
    calls: AffectedCalls
    """The kept calls of language models that quote or name it."""
    kept_now: Callable[[], tuple[AffectedAnswers, AffectedCalls]] = field(repr=False)
    """Looks for both again: some are kept while the purge goes on."""
    questions: Mapping[str, Sequence[str]]
    """Ids of the questions that name or quote it, by question set."""
    files_of_user: Sequence[Path]
    """The user's files of questions and rewrites that name or quote it; they are not erased."""
    weights: Sequence[Path]
    """Trained weights, which may have learned from it; they are not erased."""

    @property
    def document_ids(self) -> list[str]:
        """The ids of all documents that are erased."""
        return [each.document_id for each in (self.document, *self.copies)]

    @property
    def is_name_shared(self) -> bool:
        """Whether others contain the document's name too, so that it is no trace."""
        return (
            bool(self.document.uri) and plain(self.document.uri.encode()) not in self.traces.names
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the document was found."""
        return not (
            self.tables
            or self.files
            or self.records.runs
            or self.records.assets
            or self.answers.answer_ids
            or self.calls.call_ids
        )


@dataclass(frozen=True, slots=True)
class PurgeContext:
    """Everything that a purge searches."""

    store: Store
    config: Config
    instance: "dg.DagsterInstance"
    home: Path
    """The folder of the instance."""
    log: Log

    @property
    def root(self) -> Path:
        """The state folder."""
        return self.store.root


def find_document(store: Store, config: Config, name: str, *, source: str | None) -> Document:
    """The document called `name`: its URI below the source root, or its id or the start of it.

    Raises:
        PurgeError: It is not clear which source is meant.
        UnknownIdError: It is the start of no id, or of more than one.
    """
    if _is_id(name):
        return _by_id(store, name.lower())
    uri = unicodedata.normalize("NFC", name)
    known = {row["source"] for row in _rows(store, ["source"], where=f"uri = {quoted(uri)}")}
    if not (known or source) and _START.fullmatch(name):
        see = "name it by its path below the source root"
        return _by_id(store, id_that_begins(name, partial(_ids, store), what="document", see=see))
    configured = [each.name for each in config.sources.documents]
    sources = [source] if source else sorted(known) or configured
    if len(sources) != 1:
        raise PurgeError(
            f"it is not clear which source has {name} ({', '.join(sources) or 'none is known'}): "
            "name it with --source"
        )
    return Document(document_id(sources[0], uri), sources[0], uri)


def require_gone_from_source(store: Store, config: Config, document: Document) -> None:
    """Make sure that a refresh would not bring the document back.

    Raises:
        PurgeError: Its source still has it, or cannot be read.
    """
    for source in config.sources.documents:
        if source.name != document.source:
            continue
        try:
            listing = look(source, without=store.root)
        except SourceError as error:
            raise PurgeError(f"it is not clear whether {document.name} is gone: {error}") from error
        unread = [folder for folder in listing.unread if document.uri.startswith(f"{folder}/")]
        if unread:
            raise PurgeError(
                f"it is not clear whether {document.name} is gone: the folder {unread[0]} of the "
                f"source {source.name} cannot be read"
            )
        if any(entry.uri == document.uri for entry in listing.entries):
            raise PurgeError(
                f"the source {source.name} still has {document.uri}: remove it from the source "
                f"first ({source.url.rstrip('/')}/{document.uri}), or exclude it in the config; "
                "a refresh would bring it back"
            )


def plan_purge(state: PurgeContext, document: Document, *, begun: Collection[str]) -> PurgePlan:
    """Find everything that has traces of the document.

    Args:
        state: What is searched.
        document: The document.
        begun: Ids of the copies that a purge which was cut off had found.

    Raises:
        PurgeError: A Lance tag keeps a version with the document, or a run is writing records.
    """
    store = state.store
    if runs := run_records.running_runs(state.instance):
        raise PurgeError(
            f"run {runs[0]} of the Dagster UI is running: wait for it to finish, or stop it"
        )
    erased, traces = _with_copies(state, document, begun=begun)
    copies = erased[1:]
    ids = {each.document_id for each in erased}
    tables = erasure.affected_tables(store, ids)
    for each in tables:
        if each.tags:
            folder = folder_of(each.generation)
            raise PurgeError(
                f"the tag {each.tags[0]} keeps a version of the table {folder}, which contains "
                f'{document.name}: remove it first (in Python: lance.dataset("{folder}.lance" '
                f'below lance/).tags.delete("{each.tags[0]}"))'
            )
    pictures = _own_pictures(store, ids)
    traces = replace(traces, names=traces.names | {plain(each.encode()) for each in pictures})
    named = {plain(each.uri.encode()) for each in erased if each.uri}
    searched = replace(traces, names=traces.names | named)
    units = {row[UNIT] for each in tables for row in _rows_of(store, each, [UNIT], ids)}
    names: dict[str, set[str]] = {}
    for each in erased if document.uri else copies:
        names.setdefault(each.uri, set()).add(each.source)

    def kept_now() -> tuple[AffectedAnswers, AffectedCalls]:
        answers = kept_answers.affected_answers(store, searched, units=units, names=names)
        return answers, model_calls.affected_calls(store, searched)

    answers, calls = kept_now()
    return PurgePlan(
        document,
        copies,
        traces,
        tables,
        units=len(units),
        pictures=len(pictures),
        files=state_files.groups_with_traces(state.root, searched),
        records=run_records.affected_records(state.instance, state.config, state.home, searched),
        answers=answers,
        calls=calls,
        kept_now=kept_now,
        questions=_questions(store, searched),
        files_of_user=[
            file for file in _files_of_user(state.config) if trace_in_file(file, searched)
        ],
        weights=sorted(file.parent for file in (state.root / WEIGHTS).glob("*/*/*/training.json")),
    )


def _with_copies(
    state: PurgeContext, document: Document, *, begun: Collection[str]
) -> tuple[list[Document], Traces]:
    """`document` and its copies, and what these say that nobody else says.

    Copies are former documents with much of its text, and all that ever had the same bytes as one
    of these: so what was renamed and edited by turns is found. Empty files are copies of nothing.
    """
    store = state.store
    files = list(_rows(store, [DOCUMENT, "source", "uri", "sha256"], where="size > 0"))
    known = {row[DOCUMENT]: Document(row[DOCUMENT], row["source"], row["uri"]) for row in files}
    gone = known.keys() - _in_sources(state) - {document.document_id}
    alike, is_last = gone & {*begun}, False
    while True:
        ids = _with_same_bytes({document.document_id} | alike, files, gone)
        erased = [document, *(known[each] for each in sorted(ids & gone))]
        others = gone - ids
        traces = _traces(state, erased, others)
        if is_last or not (more := _alike(store, others, traces)):
            break
        alike, is_last = alike | more, True  # a text that is like a copy's is not yet like this
    # What the others say is in the tables until a refresh.
    return erased, traces.without_texts(_newest_texts(store, erasure.is_of(others)))


def _with_same_bytes(
    ids: set[str], files: Sequence[Mapping[str, str]], gone: Collection[str]
) -> set[str]:
    """`ids`, and those of `gone` that ever had the bytes of one of all these."""
    while True:
        own = {row["sha256"] for row in files if row[DOCUMENT] in ids} - {None}
        same = {row[DOCUMENT] for row in files if row["sha256"] in own}.intersection(gone)
        if same <= ids:
            return ids
        ids = ids | same


def _alike(store: Store, gone: Collection[str], traces: Traces) -> set[str]:
    """The documents that say much of what has `traces`."""
    shared: dict[str, int] = {}
    said: dict[str, int] = {}
    for generation in erasure.document_tables(store) if gone and traces.ngrams else ():
        if generation.startswith(schemas.ELEMENTS_PREFIX):
            for batch in erasure.rows_of(store, generation, gone, columns=TEXTS):
                texts = batch.select([name for name in TEXTS[1:] if name in batch.schema.names])
                for place, owner in enumerate(batch[DOCUMENT].to_pylist()):
                    found = set(ngrams_of(words_of(_joined(texts.slice(place, 1)))))
                    said[owner] = said.get(owner, 0) + len(found)
                    shared[owner] = shared.get(owner, 0) + len(found & traces.ngrams)
    return {
        owner
        for owner, count in shared.items()
        if count and count >= MUCH * min(said[owner], len(traces.ngrams))
    }


def _in_sources(state: PurgeContext) -> set[str]:
    """Ids of the documents that the sources have now; where one cannot tell, had last."""
    found: set[str] = set()
    columns = [DOCUMENT, "source", "uri"]
    is_known = state.store.exists(MANIFEST)
    had = state.store.read(MANIFEST, columns=columns).to_pylist() if is_known else []
    for source in state.config.sources.documents:
        unread = ("",)  # all of it
        with suppress(SourceError):
            listing = look(source, without=state.root)
            unread = tuple(f"{folder}/" for folder in listing.unread)
            found.update(document_id(source.name, entry.uri) for entry in listing.entries)
        own = (row for row in had if row["source"] == source.name)
        found.update(row[DOCUMENT] for row in own if row["uri"].startswith(unread))
    return found


def _traces(state: PurgeContext, erased: Sequence[Document], gone: Collection[str]) -> Traces:
    """What they alone say; what the documents that are `gone` say too counts."""
    store = state.store
    ids = {each.document_id for each in erased}
    own = list(_rows(store, ["sha256"], where=erasure.is_of(ids)))
    others = list(_rows(store, ["uri", "sha256"], where=f"NOT ({erasure.is_of(ids)})"))
    uris = {each.uri for each in erased}
    file_names = {uri.rpartition("/")[2] for uri in uris}
    names = {*ids, *uris, *file_names}
    names.update(row["sha256"] for row in own if row["sha256"])
    elsewhere = {row["uri"] for row in others}
    elsewhere |= {uri.rpartition("/")[2] for uri in elsewhere}
    elsewhere |= {row["sha256"] for row in others if row["sha256"]}
    # What the state has files of proves nothing.
    elsewhere |= file_names & {path.name for path in state.root.rglob("*")}
    found = traces_of(_texts(store, ids), names=names, other_names=elsewhere - uris)
    return found.without_texts(_texts_of_others(store, ids.union(gone)))


def _texts(store: Store, documents: Collection[str]) -> Iterator[bytes]:
    """All texts of documents that the state still has."""
    for generation in erasure.document_tables(store):
        if name_of(generation) != MANIFEST:
            for batch in erasure.rows_of(store, generation, documents, columns=TEXTS[1:]):
                yield _joined(batch)


def _texts_of_others(store: Store, documents: Collection[str]) -> Iterator[bytes]:
    """All texts of table rows that the state still has, and those of other documents as they are.

    Older versions of other documents do not count: what they said then, their source does not say.
    """
    of_rows = [
        each
        for each in store.generations()
        if each.startswith((PREFIX, schemas.TABLE_ROWS_TABLE, "serialized_rows__"))
    ]
    for generation in of_rows:
        for batch in erasure.rows_of_all_versions(store, generation):
            yield _joined(batch)
    where = f"{DOCUMENT} IS NULL OR NOT ({erasure.is_of(documents)})"
    yield from _newest_texts(store, where)


def _newest_texts(store: Store, where: str) -> Iterator[bytes]:
    for generation in erasure.document_tables(store):
        for batch in erasure.newest_rows(store, generation, where=where):
            yield _joined(batch)


def _joined(batch: pa.RecordBatch) -> bytes:
    return BETWEEN.join(text.encode("utf-8", "surrogatepass") for text in erasure.texts_in(batch))


def _own_pictures(store: Store, documents: Collection[str]) -> set[str]:
    """Pictures that only these documents show."""
    mine: set[str] = set()
    others: set[str] = set()
    for generation in erasure.document_tables(store):
        if IMAGE not in store.schema(generation).names:
            continue
        columns = [DOCUMENT, IMAGE]
        for batch in erasure.rows_of_all_versions(
            store, generation, columns=columns, where=f"{IMAGE} IS NOT NULL"
        ):
            for key, image in zip(
                batch[DOCUMENT].to_pylist(), batch[IMAGE].to_pylist(), strict=True
            ):
                (mine if key in documents else others).add(image)
    return mine - others


def _questions(store: Store, traces: Traces) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if store.exists(schemas.QUESTIONS_TABLE):
        for row in store.read(schemas.QUESTIONS_TABLE).to_pylist():
            if traces.are_in(*(cell for cell in row.values() if isinstance(cell, str))):
                found.setdefault(row["question_set"], []).append(row["question_id"])
    return found


def _files_of_user(config: Config) -> list[Path]:
    """Existing files named in the config that may contain texts of documents."""
    sets = config.question_files
    fusions = [each.query_fusion for each in config.retrieval.retrievers.values()]
    rewrites = [fusion.path for fusion in fusions if fusion]
    experiments = config.experiments.values()
    named = [*(each.path for each in sets), *(each.documents for each in sets), *rewrites]
    named += [config.questions.review_file]
    named += [file for each in experiments for file in each.files.values()]
    return sorted({file for file in named if file and file.is_file()})


def _ids(store: Store, start: str) -> set[str]:
    where = f"starts_with({DOCUMENT}, {quoted(start)})"
    return {row[DOCUMENT] for row in _rows(store, [DOCUMENT], where=where)}


def _by_id(store: Store, key: str) -> Document:
    for row in _rows(store, ["source", "uri"], where=f"{DOCUMENT} = {quoted(key)}"):
        return Document(key, row["source"], row["uri"])
    for generation in erasure.document_tables(store):
        if "uri" in store.schema(generation).names:
            for batch in erasure.rows_of(store, generation, [key], columns=["source", "uri"]):
                for row in batch.to_pylist():
                    return Document(key, row["source"], row["uri"])
    return Document(key, "", "")


def _rows(
    store: Store, columns: Sequence[str], *, where: str | None = None
) -> Iterator[dict[str, str]]:
    """Rows of the manifest, of all its versions."""
    for generation in generations_of(store, MANIFEST):
        for batch in erasure.rows_of_all_versions(store, generation, columns=columns, where=where):
            yield from batch.to_pylist()


def _rows_of(
    store: Store, table: AffectedTable, columns: Sequence[str], documents: Collection[str]
) -> Iterator[dict[str, str]]:
    if set(columns) <= set(store.schema(table.generation).names):
        for batch in erasure.rows_of(store, table.generation, documents, columns=columns):
            yield from batch.to_pylist()


def _is_id(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name.lower()
    except ValueError:
        return False
