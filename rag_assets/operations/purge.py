"""Erasing one document from all that was built: tables, pictures, caches, reports and records.

A document goes only when its source no longer has it: a refresh would bring it back. What is erased
first is found by what the document says, so the tables that hold its text go after everything else,
and the manifest, which holds its name, comes last. Who is killed on the way leaves a record of the
document's id in `purges/`; running it again finishes, whatever was erased already.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets import schemas
from rag_assets.change import complete_sets
from rag_assets.change.quarantine import QUARANTINE, forget
from rag_assets.evaluation.experiments.arms import root_of
from rag_assets.evaluation.experiments.runs import lock_of
from rag_assets.operations import erasure, kept_files, proof, run_records
from rag_assets.operations.erasure import DOCUMENT, UNIT, generations_of
from rag_assets.operations.plans import IMAGE, MANIFEST, Document, Log, Plan, State
from rag_assets.operations.proof import Proof
from rag_assets.retrieval.cache import Cache
from rag_assets.sources.files.looks import Looks
from rag_assets.store import Store, images
from rag_assets.store.atomic import write_atomically
from rag_assets.store.catalog import folder_of, name_of
from rag_assets.store.clean_up import keep_only

if TYPE_CHECKING:
    from rag_assets.store.pins import Pin

FOLDER = "purges"
DESCRIPTIONS = "descriptions__"
NESTED = ("accounts__", QUARANTINE, schemas.IMAGES_TABLE)
"""Tables whose locks a refresh takes while it holds that of another one."""


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
    _cache(store).erase_rankings()
    store.sweep()
    _erase_rows(state, planned)
    Looks(store).forget(document.document_id)


def erase_pictures(state: State) -> None:
    """Remove pictures that no table names; the caller has let `lock_everything` go."""
    store = state.store
    images.forget_unnamed(store, log=state.log)
    for generation in generations_of(store, schemas.IMAGES_TABLE):
        with store.lock(schemas.IMAGES_TABLE, log=state.log):
            erasure.without(store, generation, column=IMAGE, keys=[])
            erasure.keep_newest(store, generation)


def finish(state: State, planned: Plan) -> None:
    """Write Dagster's databases anew, once they are closed, and erase the name of the document."""
    run_records.write_anew(state.home, gone=planned.records.runs)
    for generation in generations_of(state.store, MANIFEST):
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
    for generation in generations_of(store, QUARANTINE):
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
    for generation in generations_of(store, schemas.QUESTIONS_TABLE):
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


def _cache(store: Store) -> Cache:
    return Cache(store.root / "cache" / "retrieval.sqlite")
