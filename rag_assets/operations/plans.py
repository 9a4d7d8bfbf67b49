"""What tells of a document, everywhere: found before anything of it is erased."""

import unicodedata
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets import schemas
from rag_assets.columns.sql import quoted
from rag_assets.config import Config
from rag_assets.identity import document_id
from rag_assets.operations import erasure, kept_files, run_records
from rag_assets.operations.erasure import DOCUMENT, UNIT, Held, generations_of
from rag_assets.operations.kept_files import Kept
from rag_assets.operations.proof import told_in_file
from rag_assets.operations.run_records import Telling
from rag_assets.operations.traces import BETWEEN, Traces, plain, traces_of
from rag_assets.sources.files.listing import look
from rag_assets.sources.places import SourceError
from rag_assets.store import Store, images
from rag_assets.store.catalog import folder_of, name_of
from rag_assets.store.exports import PREFIX

if TYPE_CHECKING:
    import dagster as dg

MANIFEST = schemas.DOCUMENT_FILES_TABLE
IMAGE = images.KEY

Log = Callable[[str], None]


class PurgeError(Exception):
    """A document cannot be purged; the message says why, and what to do first."""


@dataclass(frozen=True, slots=True)
class Document:
    """What is to be erased."""

    document_id: str
    source: str
    uri: str
    """Empty where only its id is known any more."""

    @property
    def name(self) -> str:
        """For people."""
        return self.uri or self.document_id


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be erased."""

    document: Document
    traces: Traces = field(repr=False)
    """What nothing else says: nothing of it may be left."""
    held: Sequence[Held]
    units: int
    """Units of any version and chunking."""
    pictures: int
    """Pictures that no other document shows."""
    kept: Sequence[Kept]
    """Reports, evaluations, experiments and other files that tell of it."""
    records: Telling
    questions: Mapping[str, Sequence[str]]
    """Ids of the questions that name or quote it, by their set: they are the user's."""
    files_of_user: Sequence[Path]
    """Files of questions and rewrites, outside the state, that name or quote it."""

    @property
    def is_name_shared(self) -> bool:
        """Whether others say the name of the document too: it stays where they say it."""
        return (
            bool(self.document.uri) and plain(self.document.uri.encode()) not in self.traces.names
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the document was found."""
        return not (self.held or self.kept or self.records.runs or self.records.assets)


@dataclass(frozen=True, slots=True)
class State:
    """Where everything lies that may tell of a document."""

    store: Store
    config: Config
    instance: "dg.DagsterInstance"
    home: Path
    """Of the instance."""
    log: Log

    @property
    def root(self) -> Path:
        """The state folder."""
        return self.store.root


def find(store: Store, config: Config, asked: str, *, source: str | None) -> Document:
    """The document that somebody names by its URI below the source root, or by its id.

    Raises:
        PurgeError: Several sources have such a document, or it is not clear which source is meant.
    """
    if _is_id(asked):
        return _by_id(store, asked.lower())
    uri = unicodedata.normalize("NFC", asked)
    known = {row["source"] for row in _rows(store, ["source"], where=f"uri = {quoted(uri)}")}
    configured = [each.name for each in config.sources.documents]
    sources = [source] if source else sorted(known) or configured
    if len(sources) != 1:
        raise PurgeError(
            f"which source {asked} is of cannot be told ({', '.join(sources) or 'none is known'}): "
            "name it with --source"
        )
    return Document(document_id(sources[0], uri), sources[0], uri)


def refuse_if_there(store: Store, config: Config, document: Document) -> None:
    """Make sure that a refresh would not bring the document back.

    Raises:
        PurgeError: Its source still has it, or cannot be asked.
    """
    for source in config.sources.documents:
        if source.name != document.source:
            continue
        try:
            listing = look(source, without=store.root)
        except SourceError as error:
            raise PurgeError(f"whether {document.name} is gone cannot be told: {error}") from error
        unread = [folder for folder in listing.unread if document.uri.startswith(f"{folder}/")]
        if unread:
            raise PurgeError(
                f"whether {document.name} is gone cannot be told: the folder {unread[0]} of the "
                f"source {source.name} cannot be read"
            )
        if any(entry.uri == document.uri for entry in listing.entries):
            raise PurgeError(
                f"the source {source.name} still has {document.uri}: remove it from the source "
                f"first ({source.url.rstrip('/')}/{document.uri}), or exclude it in the config; "
                "a refresh would bring it back"
            )


def plan(state: State, document: Document) -> Plan:
    """What tells of the document, everywhere.

    Raises:
        PurgeError: A Lance tag keeps a version that holds it, or a run is writing its records.
    """
    store = state.store
    if runs := run_records.working(state.instance):
        raise PurgeError(
            f"run {runs[0]} of the Dagster UI is working: wait for it to finish, or stop it"
        )
    held = erasure.held_of(store, document.document_id)
    for each in held:
        if each.tags:
            folder = folder_of(each.generation)
            raise PurgeError(
                f"the tag {each.tags[0]} keeps a version of the table {folder}, which holds "
                f'{document.name}: remove it first (in Python: lance.dataset("{folder}.lance" '
                f'below lance/).tags.delete("{each.tags[0]}"))'
            )
    pictures = _own_pictures(store, document)
    traces = _traces(state, document, held, pictures)
    every = replace(traces, names=traces.names | ({plain(document.uri.encode())} - {b""}))
    units = {row[UNIT] for each in held for row in _rows_of(store, each, [UNIT], document)}
    return Plan(
        document,
        traces,
        held,
        units=len(units),
        pictures=len(pictures),
        kept=kept_files.telling(state.root, every),
        records=run_records.telling(state.instance, state.home, every),
        questions=_anchored(store, every),
        files_of_user=[file for file in _files_of_user(state.config) if told_in_file(file, every)],
    )


def _traces(
    state: State, document: Document, held: Sequence[Held], pictures: Collection[str]
) -> Traces:
    store = state.store
    texts = [
        BETWEEN.join(text.encode("utf-8", "surrogatepass") for text in erasure.texts_in(batch))
        for each in held
        if name_of(each.generation) != MANIFEST
        for batch in erasure.rows_of(
            store, each.generation, document.document_id, columns=["text", "cells", "section_path"]
        )
    ]
    own = list(_rows(store, ["sha256"], where=_is(document)))
    others = list(_rows(store, ["uri", "sha256"], where=f"NOT ({_is(document)})"))
    file_name = document.uri.rpartition("/")[2]
    names = {document.document_id, document.uri, file_name, *pictures}
    names.update(row["sha256"] for row in own if row["sha256"])
    elsewhere = {row["uri"] for row in others}
    elsewhere |= {uri.rpartition("/")[2] for uri in elsewhere}
    elsewhere |= {row["sha256"] for row in others if row["sha256"]}
    if any(path.name == file_name for path in state.root.rglob("*")):
        elsewhere.add(file_name)  # the state has files of that name: it says nothing
    found = traces_of(texts, names=names, other_names=elsewhere - {document.uri})
    return found.unless_in(_said_by_others(store, document))


def _said_by_others(store: Store, document: Document) -> Iterator[bytes]:
    """What other documents and the rows of tables say, in all that the state still holds."""
    of_rows = [
        each
        for each in store.generations()
        if each.startswith((PREFIX, schemas.TABLE_ROWS_TABLE, "serialized_rows__"))
    ]
    of_documents = erasure.document_tables(store)
    for generation in [*of_documents, *of_rows]:
        where = (
            f"{DOCUMENT} IS NULL OR NOT ({_is(document)})" if generation in of_documents else None
        )
        for batch in erasure.rows_ever(store, generation, where=where):
            yield BETWEEN.join(
                text.encode("utf-8", "surrogatepass") for text in erasure.texts_in(batch)
            )


def _own_pictures(store: Store, document: Document) -> set[str]:
    """Pictures that the document shows, and no other one."""
    mine: set[str] = set()
    others: set[str] = set()
    for generation in erasure.document_tables(store):
        if IMAGE not in store.schema(generation).names:
            continue
        columns = [DOCUMENT, IMAGE]
        for batch in erasure.rows_ever(
            store, generation, columns=columns, where=f"{IMAGE} IS NOT NULL"
        ):
            for key, image in zip(
                batch[DOCUMENT].to_pylist(), batch[IMAGE].to_pylist(), strict=True
            ):
                (mine if key == document.document_id else others).add(image)
    return mine - others


def _anchored(store: Store, traces: Traces) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if store.exists(schemas.QUESTIONS_TABLE):
        for row in store.read(schemas.QUESTIONS_TABLE).to_pylist():
            if traces.are_in(*(cell for cell in row.values() if isinstance(cell, str))):
                found.setdefault(row["question_set"], []).append(row["question_id"])
    return found


def _files_of_user(config: Config) -> list[Path]:
    """Files of the config that may say something of documents, those that are there."""
    sets = config.evaluation.questions
    fusions = [each.query_fusion for each in config.retrieval.retrievers.values()]
    rewrites = [fusion.path for fusion in fusions if fusion]
    named = [*(each.path for each in sets), *(each.documents for each in sets), *rewrites]
    return sorted({file for file in named if file and file.is_file()})


def _by_id(store: Store, key: str) -> Document:
    for row in _rows(store, ["source", "uri"], where=f"{DOCUMENT} = {quoted(key)}"):
        return Document(key, row["source"], row["uri"])
    for generation in erasure.document_tables(store):
        if "uri" in store.schema(generation).names:
            for batch in erasure.rows_of(store, generation, key, columns=["source", "uri"]):
                for row in batch.to_pylist():
                    return Document(key, row["source"], row["uri"])
    return Document(key, "", "")


def _rows(store: Store, columns: Sequence[str], *, where: str) -> Iterator[dict[str, str]]:
    """Rows of the manifest, of all its versions."""
    for generation in generations_of(store, MANIFEST):
        for batch in erasure.rows_ever(store, generation, columns=columns, where=where):
            yield from batch.to_pylist()


def _rows_of(
    store: Store, held: Held, columns: Sequence[str], document: Document
) -> Iterator[dict[str, str]]:
    if set(columns) <= set(store.schema(held.generation).names):
        for batch in erasure.rows_of(store, held.generation, document.document_id, columns=columns):
            yield from batch.to_pylist()


def _is(document: Document) -> str:
    return f"{DOCUMENT} = {quoted(document.document_id)}"


def _is_id(asked: str) -> bool:
    try:
        return str(uuid.UUID(asked)) == asked.lower()
    except ValueError:
        return False
