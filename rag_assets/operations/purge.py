"""Erasing one document from all that was built: tables, pictures, caches, reports and records.

A document goes only when its source no longer has it: a refresh would bring it back. What is erased
first is found by what the document says, so the tables that hold its text go after everything else,
and the manifest, which holds its name, comes last. Who is killed on the way leaves a record of the
document's id in `purges/`; running it again finishes, whatever was erased already.
"""

import json
import unicodedata
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets import images, schemas
from rag_assets.atomic import write_atomically
from rag_assets.catalog import folder_of, name_of
from rag_assets.clean_up import keep_only
from rag_assets.config import Config
from rag_assets.evaluation.experiments.results import lock_of, root_of
from rag_assets.identity import document_id
from rag_assets.index import complete_sets
from rag_assets.operations import erasure, kept_files, proof, run_records
from rag_assets.operations.erasure import DOCUMENT, UNIT, Held
from rag_assets.operations.kept_files import Kept
from rag_assets.operations.proof import Proof, told_in_file
from rag_assets.operations.run_records import Telling
from rag_assets.operations.traces import BETWEEN, Traces, plain, traces_of
from rag_assets.quarantine import QUARANTINE, forget
from rag_assets.retrieval.cache import Cache
from rag_assets.sources.listing import look
from rag_assets.sources.looks import Looks
from rag_assets.sources.places import SourceError
from rag_assets.store import Store, quoted

if TYPE_CHECKING:
    import dagster as dg

    from rag_assets.pins import Pin

FOLDER = "purges"
MANIFEST = schemas.DOCUMENT_FILES_TABLE
IMAGE = images.KEY
DESCRIPTIONS = "descriptions__"
NESTED = ("accounts__", QUARANTINE, schemas.IMAGES_TABLE)
"""Tables whose locks a refresh takes while it holds that of another one."""

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


def lock_everything(state: State, stack: ExitStack) -> None:
    """Be the only one who writes evaluations, experiments and tables, until `stack` ends.

    Of the tables those that a refresh locks last are left out: they are locked one by one.
    """
    store = state.store
    variants = {*state.config.variants, *(held.variant for held in complete_sets.all_sets(store))}
    experiments = {
        *state.config.experiments,
        *(path.name for path in root_of(store).glob("[!.]*/")),
    }
    outer = [*(f"evaluation__{name}" for name in variants), *map(lock_of, experiments)]
    stack.enter_context(store.lock(*outer, log=state.log))
    while True:
        names = [name for name in store.names() if not name.startswith(NESTED)]
        with ExitStack() as tables:
            tables.enter_context(store.lock(*names, log=state.log))
            if names == [name for name in store.names() if not name.startswith(NESTED)]:
                stack.push(tables.pop_all())
                return


def erase_all(state: State, planned: Plan) -> None:
    """Erase what was planned, but for pictures and the name in the manifest.

    The caller holds the lock on refreshes and `lock_everything`.
    """
    document, store = planned.document, state.store
    write_atomically(intent_of(store, document), json.dumps({DOCUMENT: document.document_id}))
    kept_files.erase(state.root, planned.kept)
    state.log(f"{len(planned.kept):,} reports and other files removed")
    run_records.erase(state.instance, state.home, planned.records)
    state.log(f"{len(planned.records.runs):,} runs removed from Dagster's records")
    _cache(store).forget_rankings()
    store.sweep()
    _erase_rows(state, planned)
    Looks(store).forget(document.document_id)


def erase_pictures(state: State) -> None:
    """Remove pictures that no table names; the caller has let `lock_everything` go."""
    store = state.store
    images.forget_unnamed(store, log=state.log)
    for generation in _of(store, schemas.IMAGES_TABLE):
        with store.lock(schemas.IMAGES_TABLE, log=state.log):
            erasure.without(store, generation, column=IMAGE, keys=[])
            erasure.keep_newest(store, generation)


def finish(state: State, planned: Plan) -> None:
    """Write Dagster's databases anew, once they are closed, and erase the name of the document."""
    run_records.write_anew(state.home, gone=planned.records.runs)
    for generation in _of(state.store, MANIFEST):
        with state.store.lock(MANIFEST, log=state.log):
            _erase(state.store, generation, column=DOCUMENT, keys=[planned.document.document_id])


def prove(state: State, planned: Plan) -> Proof:
    """Search the whole state; if nothing is found, the document is purged."""
    done = proof.search(state.store, planned.traces, document=planned.document.document_id)
    if not done.left:
        intent = intent_of(state.store, planned.document)
        intent.unlink(missing_ok=True)
    return done


def intent_of(store: Store, document: Document) -> Path:
    """The file that says that a purge has begun and has not ended."""
    return store.root / FOLDER / f"{document.document_id}.json"


def _erase_rows(state: State, planned: Plan) -> None:
    """Units first, since what answers holds them; elements last, since they hold the text."""
    store, document, log = state.store, planned.document, state.log
    tables = [each for each in erasure.document_tables(store) if name_of(each) != MANIFEST]
    units = [each for each in tables if UNIT in store.schema(each).names]
    units = [each for each in units if not name_of(each).startswith("rows__")]
    elements = [each for each in tables if each.startswith(schemas.ELEMENTS_PREFIX)]
    others = [each for each in tables if each not in (*units, *elements)]
    others = [each for each in others if not name_of(each).startswith("rows__")]
    _erase_units(state, units, document)
    _erase_from(store, others, document, log=log)
    _erase_entries(store, planned)
    _erase_questions(store, planned)
    _erase_from(store, elements, document, log=log)
    _erase_descriptions(store)


def _erase_units(state: State, units: Sequence[str], document: Document) -> None:
    store = state.store
    complete_sets.take_over(store, state.config)
    pins = {pin for held in complete_sets.all_sets(store) for pin in held.pins}
    moved: dict[Pin, Pin] = {}
    for generation in units:
        moved |= erasure.erase(store, generation, document.document_id, pinned=pins)
        state.log(f"{folder_of(generation)}: made anew without the document")
    complete_sets.move(store, moved)
    kept = {pin for held in complete_sets.all_sets(store) for pin in held.pins}
    for generation in units:
        keep_only(
            store, generation, versions={pin.version for pin in kept if pin.table == generation}
        )


def _erase_from(store: Store, generations: Sequence[str], document: Document, *, log: Log) -> None:
    for generation in generations:
        name = name_of(generation)
        with ExitStack() as stack:
            if name.startswith(NESTED):
                stack.enter_context(store.lock(name, log=log))
            _erase(store, generation, column=DOCUMENT, keys=[document.document_id])


def _erase(store: Store, generation: str, *, column: str, keys: Sequence[str]) -> None:
    erasure.forget_pass(store, generation)
    erasure.without(store, generation, column=column, keys=keys)
    erasure.keep_newest(store, generation)


def _erase_entries(store: Store, planned: Plan) -> None:
    """Take out of the quarantine what names the document."""
    for generation in _of(store, QUARANTINE):
        gone: dict[str, list[str]] = {}
        for row in store.read(generation).to_pylist():
            if planned.traces.are_in(row["key"], row["label"], row["reason"]):
                gone.setdefault(row["target"], []).append(row["key"])
        for target, keys in gone.items():
            forget(store, target, keys)
            store.reopen(target)
        with store.lock(QUARANTINE, log=lambda _: None):
            _erase(store, generation, column="key", keys=[])


def _erase_questions(store: Store, planned: Plan) -> None:
    keys = [key for ids in planned.questions.values() for key in ids]
    for generation in _of(store, schemas.QUESTIONS_TABLE):
        if keys:
            _erase(store, generation, column="question_id", keys=keys)
        else:
            erasure.keep_newest(store, generation)


def _erase_descriptions(store: Store) -> None:
    """Remove descriptions of pictures that no document shows any more."""
    named = {
        row[IMAGE]
        for each in erasure.document_tables(store)
        if IMAGE in store.schema(each).names
        for row in store.read(each, columns=[IMAGE]).to_pylist()
    }
    for generation in store.generations():
        if not generation.startswith(DESCRIPTIONS):
            continue
        held = store.read(generation, columns=[IMAGE])[IMAGE].to_pylist()
        _erase(store, generation, column=IMAGE, keys=sorted(set(held) - named))


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
        if each.startswith((schemas.TABLE_ROWS_TABLE, "serialized_rows__"))
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
    for generation in _of(store, MANIFEST):
        for batch in erasure.rows_ever(store, generation, columns=columns, where=where):
            yield from batch.to_pylist()


def _rows_of(
    store: Store, held: Held, columns: Sequence[str], document: Document
) -> Iterator[dict[str, str]]:
    if set(columns) <= set(store.schema(held.generation).names):
        for batch in erasure.rows_of(store, held.generation, document.document_id, columns=columns):
            yield from batch.to_pylist()


def _of(store: Store, name: str) -> list[str]:
    """All generations of a table."""
    return [each for each in store.generations() if name_of(each) == name]


def _is(document: Document) -> str:
    return f"{DOCUMENT} = {quoted(document.document_id)}"


def _is_id(asked: str) -> bool:
    try:
        return str(uuid.UUID(asked)) == asked.lower()
    except ValueError:
        return False


def _cache(store: Store) -> Cache:
    return Cache(store.root / "cache" / "retrieval.sqlite")
