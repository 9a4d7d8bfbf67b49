"""Erasing one document from all that was built: tables, pictures, caches, reports and records.

A document can be erased only if its source no longer has it: a refresh would bring it back. What it
was called before, and its copies that no source has any more, are erased with it. Its
text and its name are needed to find everything else. So the tables with its text are erased after
all other places, and the manifest with its name comes last. A purge that is killed leaves a file
with their ids in `purges/`. Running it again finishes the rest.
"""

import json
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets import schemas
from rag_assets.answering.record.database import answers_of
from rag_assets.change import completing
from rag_assets.change.quarantine import QUARANTINE, forget
from rag_assets.evaluation.experiment_runs import lock_of, root_of
from rag_assets.models.language.kept_calls import calls_file
from rag_assets.operations.erasure import erased_rows as erasure
from rag_assets.operations.erasure import (
    kept_answers,
    model_calls,
    proof,
    run_records,
    state_files,
)
from rag_assets.operations.erasure.erased_rows import DOCUMENT, UNIT, generations_of
from rag_assets.operations.erasure.kept_answers import AffectedAnswers
from rag_assets.operations.erasure.model_calls import AffectedCalls
from rag_assets.operations.erasure.proof import Proof
from rag_assets.operations.erasure.scope import (
    IMAGE,
    MANIFEST,
    Document,
    Log,
    PurgeContext,
    PurgePlan,
)
from rag_assets.operations.gate import blocked_candidate
from rag_assets.retrieval.cache import Cache
from rag_assets.sources.files.known_files import KnownFiles
from rag_assets.store import Store, branches, complete_sets, images, purges, serving_pointer
from rag_assets.store.atomic import write_atomically
from rag_assets.store.catalog import folder_of, name_of
from rag_assets.store.clean_up import keep_only
from rag_assets.store.records_file import RecordsFileError, is_damage
from rag_assets.store.serving_pointer import DamagedPointerError

if TYPE_CHECKING:
    from rag_assets.store.pins import Pin

FOLDER = "purges"
COPIES = "copies"
DESCRIPTIONS = "descriptions__"
NESTED = ("accounts__", QUARANTINE, schemas.IMAGES_TABLE)
"""Tables whose locks a refresh takes while it holds the lock of another table."""


def lock_everything(state: PurgeContext, stack: ExitStack) -> None:
    """Lock evaluations, experiments and tables against others, until `stack` ends.

    Tables that a refresh locks last (`NESTED`) are left out here: they are locked one by one.
    """
    store = state.store
    variants = {*state.config.variants, *(each.variant for each in complete_sets.all_sets(store))}
    experiments = {
        *state.config.experiments,
        *(path.name for path in root_of(store).glob("[!.]*/")),
    }
    outer = [
        *(f"{kind}__{name}" for kind in ("evaluation", "answer_evaluation") for name in variants),
        *(f"answer_experiment__{name}" for name in state.config.answer_experiments),
        *map(lock_of, experiments),
    ]
    stack.enter_context(store.lock(*outer, log=state.log))
    while True:
        names = [name for name in store.names() if not name.startswith(NESTED)]
        with ExitStack() as tables:
            tables.enter_context(store.lock(*names, log=state.log))
            # A refresh may have made a table while these locks were waited for.
            if names == [name for name in store.names() if not name.startswith(NESTED)]:
                stack.push(tables.pop_all())
                return


def begin(state: PurgeContext) -> None:
    """Have nothing kept any more that rests on texts which were read before this."""
    purges.begin(state.root)
    for file in (answers_of(state.store), calls_file(state.root.absolute())):
        try:
            if file.exists:
                with file.writing():  # who asked before this has written
                    pass
        except RecordsFileError as error:
            if not is_damage(error):
                raise


def erase_all(state: PurgeContext, plan: PurgePlan) -> None:
    """Erase everything in `plan` except pictures and the name in the manifest.

    The caller holds the lock on refreshes, and has called `lock_everything` and `begin`.
    """
    document, store = plan.document, state.store
    ids = {DOCUMENT: document.document_id, COPIES: [each.document_id for each in plan.copies]}
    # First: a purge that goes on after a kill knows the copies, whose rows may be gone by then.
    write_atomically(begun_file(store, document), json.dumps(ids))
    state_files.erase(state.root, plan.files)
    state.log(f"{len(plan.files):,} reports and other files removed")
    run_records.erase(state.instance, state.home, plan.records)
    state.log(f"{len(plan.records.runs):,} runs removed from Dagster's records")
    _erase_kept(state, plan.answers, plan.calls)
    _cache(store).erase_rankings()
    store.sweep()
    _erase_rows(state, plan)
    begin(state)  # until now, its text could be read
    _erase_kept(state, *plan.kept_now())
    for each in plan.document_ids:
        KnownFiles(store).forget(each)


def erase_pictures(state: PurgeContext) -> None:
    """Remove pictures that no table names; the locks of `lock_everything` are released."""
    store = state.store
    images.forget_unnamed(store, log=state.log)
    for generation in generations_of(store, schemas.IMAGES_TABLE):
        with store.lock(schemas.IMAGES_TABLE, log=state.log):
            erasure.delete_for_good(store, generation, column=IMAGE, keys=[])
            erasure.keep_newest_version(store, generation)


def finish(state: PurgeContext, plan: PurgePlan) -> None:
    """Rewrite Dagster's databases, which are closed, and erase the document from the manifest."""
    # The manifest comes last: until then the document can be named to go on with a killed purge.
    run_records.write_anew(state.home, gone=plan.records.runs)
    for generation in generations_of(state.store, MANIFEST):
        with state.store.lock(MANIFEST, log=state.log):
            _erase(state.store, generation, column=DOCUMENT, keys=plan.document_ids)


def verify(state: PurgeContext, plan: PurgePlan) -> Proof:
    """Search the whole state; if nothing is found, the purge is complete."""
    found = proof.search(state.store, plan.traces, documents=plan.document_ids)
    if not found.left:
        begun = begun_file(state.store, plan.document)
        for unfinished in begun.parent.glob(".*"):  # of a purge killed as it began
            unfinished.unlink(missing_ok=True)
        begun.unlink(missing_ok=True)
    return found


def begun_file(store: Store, document: Document) -> Path:
    """The file that exists while a purge has begun and has not ended."""
    return store.root / FOLDER / f"{document.document_id}.json"


def begun_with(store: Store, document: Document) -> list[str]:
    """Ids of the copies that a purge which was cut off was erasing with a document."""
    try:
        return json.loads(begun_file(store, document).read_text("utf-8")).get(COPIES, [])
    except (OSError, ValueError):
        return []


def _erase_kept(state: PurgeContext, answers: AffectedAnswers, calls: AffectedCalls) -> None:
    kept_answers.erase_affected(state.store, answers)
    state.log(f"{len(answers.answer_ids):,} kept answers removed")
    model_calls.erase_affected(state.store, calls)
    state.log(f"{len(calls.call_ids):,} kept calls of language models removed")


def _erase_rows(state: PurgeContext, plan: PurgePlan) -> None:
    """Units first, since searches return them; elements last, since the text is in them."""
    store, documents, log = state.store, plan.document_ids, state.log
    tables = [each for each in erasure.document_tables(store) if name_of(each) != MANIFEST]
    units = [each for each in tables if UNIT in store.schema(each).names]
    units = [each for each in units if not name_of(each).startswith("rows__")]
    pinned = [*units, *(each for each in tables if each.startswith(schemas.FAMILIES_PREFIX))]
    elements = [each for each in tables if each.startswith(schemas.ELEMENTS_PREFIX)]
    others = [each for each in tables if each not in (*pinned, *elements)]
    others = [each for each in others if not name_of(each).startswith("rows__")]
    _erase_training_pairs(store, plan)  # while tables say whose units they quote
    _erase_pinned(state, plan, pinned)
    _erase_from(store, others, documents, log=log)
    _erase_entries(store, plan)
    _erase_questions(store, plan)
    _erase_from(store, elements, documents, log=log)
    _erase_descriptions(store)


def _erase_training_pairs(store: Store, plan: PurgePlan) -> None:
    """Those that may quote the documents: the next training makes them anew.

    A pair stays where each of its units is known to be of others, its question is none of those
    that are erased, and it has no trace. Nothing else is made from pairs but weights, which are
    named in the answer.
    """
    gone = {each for ids in plan.questions.values() for each in ids}
    for generation in generations_of(store, schemas.TRAINING_PAIRS_TABLE):
        pairs = store.read(generation).to_pylist()
        named = [{each["unit_id"], *each["negative_ids"]} for each in pairs]
        others = _units_of_others(store, set().union(*named), documents=plan.document_ids)
        keys = [
            each["pair_id"]
            for each, units in zip(pairs, named, strict=True)
            if each["question_id"] in gone
            or not units <= others
            or plan.traces.are_in(
                each["question"], each["text"], *each["negatives"], with_words=True
            )
        ]
        _erase(store, generation, column="pair_id", keys=keys)


def _units_of_others(
    store: Store, units: Collection[str], *, documents: Collection[str]
) -> set[str]:
    """Those of `units` that a table has as units of other documents than these, or as rows."""
    found: set[str] = set()
    for generation in erasure.document_tables(store):
        if UNIT in store.schema(generation).names:
            rows = store.read_keys(
                generation, column=UNIT, keys=sorted(units), columns=[UNIT, DOCUMENT]
            )
            found.update(row[UNIT] for row in rows.to_pylist() if row[DOCUMENT] not in documents)
    return found


def _erase_pinned(state: PurgeContext, plan: PurgePlan, tables: Sequence[str]) -> None:
    """Erase the documents from the tables that complete sets pin, in all pinned versions."""
    store = state.store
    completing.take_over(store, state.config)
    pins = _needed_pins(store)
    # The manifest is made anew at the very end: sets pin it again at the next refresh.
    moved: dict[Pin, Pin | None] = dict.fromkeys(
        pin for pin in pins if name_of(pin.table) == MANIFEST
    )
    for generation in tables:
        branches.drop_trials(store, generation)
        moved |= erasure.erase_pinned(
            store,
            generation,
            plan.document_ids,
            plan.traces,
            pinned=pins,
            text=state.config.index.text,
        )
        state.log(f"{folder_of(generation)}: rewritten without the document")
    complete_sets.move(store, moved)
    serving_pointer.forget_purged(store, moved)
    blocked_candidate.clear(store)  # its verdict quotes questions
    blocked_candidate.clear_beside(store)
    # Asked anew: the sets and the pointer name other versions since they were moved.
    still_pinned = _needed_pins(store)
    for generation in tables:
        keep_only(
            store,
            generation,
            versions={pin.version for pin in still_pinned if pin.table == generation},
        )


def _needed_pins(store: Store) -> "set[Pin]":
    """What answers queries; what served before goes, since nobody may roll back to it."""
    pins = {pin for each in complete_sets.all_sets(store) for pin in each.pins}
    with suppress(DamagedPointerError):
        if pointer := serving_pointer.current(store):
            pins.update(pointer.complete_set.pins)
    return pins


def _erase_from(
    store: Store, generations: Sequence[str], documents: Sequence[str], *, log: Log
) -> None:
    for generation in generations:
        name = name_of(generation)
        with ExitStack() as stack:
            if name.startswith(NESTED):
                stack.enter_context(store.lock(name, log=log))
            _erase(store, generation, column=DOCUMENT, keys=documents)


def _erase(store: Store, generation: str, *, column: str, keys: Sequence[str]) -> None:
    erasure.forget_completion(store, generation)
    erasure.delete_for_good(store, generation, column=column, keys=keys)
    erasure.keep_newest_version(store, generation)


def _erase_entries(store: Store, plan: PurgePlan) -> None:
    """Remove quarantine entries with traces of the document."""
    for generation in generations_of(store, QUARANTINE):
        gone: dict[str, list[str]] = {}
        for row in store.read(generation).to_pylist():
            if plan.traces.are_in(row["key"], row["label"], row["reason"]):
                gone.setdefault(row["target"], []).append(row["key"])
        for target, keys in gone.items():
            forget(store, target, keys)
            store.reopen(target)
        with store.lock(QUARANTINE, log=lambda _: None):
            _erase(store, generation, column="key", keys=[])


def _erase_questions(store: Store, plan: PurgePlan) -> None:
    keys = [key for ids in plan.questions.values() for key in ids]
    for generation in generations_of(store, schemas.QUESTIONS_TABLE):
        if keys:
            _erase(store, generation, column="question_id", keys=keys)
        else:
            erasure.keep_newest_version(store, generation)


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
        described = store.read(generation, columns=[IMAGE])[IMAGE].to_pylist()
        _erase(store, generation, column=IMAGE, keys=sorted(set(described) - named))


def _cache(store: Store) -> Cache:
    return Cache(store.root / "cache" / "retrieval.sqlite")
