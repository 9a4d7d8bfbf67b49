"""Promotion: how the serving pointer moves on; `rollback` moves it back.

A candidate (`candidates`) may serve if it is complete, its tables agree with each other
(`consistency`), and the gate lets it pass (`gate.judge`). `promote_refreshed` is the end of every
refresh: it moves to the newest index of the variant that serves, or holds it back, so that
yesterday's keeps answering. `promote` moves to any variant when a person asks for it.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rag_assets.change import completing, embeddable
from rag_assets.change.quarantine import quarantined
from rag_assets.config import Config
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.graph import STEPS
from rag_assets.media.json_lines import QuestionsError
from rag_assets.operations.gate import blocked_candidate
from rag_assets.operations.gate import judging as gate
from rag_assets.operations.gate.blocked_candidate import HeldBack
from rag_assets.operations.gate.verdict_wording import headline, in_short
from rag_assets.operations.gate.verdicts import Verdict, utc_now
from rag_assets.operations.problems.current import are_questions_lost
from rag_assets.operations.serving_index.candidates import (
    NothingReadError,
    NotReadyError,
    candidate_of,
)
from rag_assets.retrieval.opening import OutdatedIndexError
from rag_assets.schemas import GENERATED_QUESTIONS_TABLE, QUESTIONS_TABLE
from rag_assets.store import MissingTableError, Store, complete_sets, serving_pointer
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.pins import Pin
from rag_assets.store.serving_pointer import (
    DamagedPointerError,
    GonePinsError,
    PointerMovedError,
    QuerySide,
    ServingPointer,
)

Log: TypeAlias = Callable[[str], None]
RIVALS = 3
"""How often the newest index is looked at again because another process moved the pointer."""
ACCEPTED = "dense search alone finds less, which was accepted"
Status: TypeAlias = Literal["moved", "unchanged", "held", "rolled back", "judged"]
"""`unchanged`: the candidate is what serves. `rolled back`: a rollback from it stands. `judged`:
nobody asked for a move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionResult:
    """What became of a candidate."""

    status: Status
    pointer: ServingPointer | None
    """The pointer that serves now."""
    variant: str
    """The variant of the candidate."""
    verdict: Verdict | None = None
    reasons: Sequence[str] = ()
    """The reasons, in sentences for people."""
    remedy: str = ""
    """What to do, where it was held."""

    @property
    def conclusion(self) -> str:
        """The end of a run in a sentence, and the next command."""
        found = in_short(self.verdict) if self.verdict else ""
        verdict = (
            f"{headline(self.verdict)}{f' ({found})' if found else ''}" if self.verdict else ""
        )
        serves = f"{self.pointer.variant} (number {self.pointer.number})" if self.pointer else ""
        promote = f"`rag-assets variants promote {self.variant}`"
        if self.status == "moved":
            return f"{verdict}. Variant {serves} serves now."
        if self.status == "unchanged":
            return f"Variant {serves} serves already; nothing else is to be served."
        if self.verdict is None:
            remedy = f" Next: {self.remedy}." if self.remedy else ""
            return f"{' '.join(self.reasons)}{f' {serves} serves.' if serves else ''}{remedy}"
        still = f" {serves} still serves." if serves else ""
        why = "" if self.verdict.allows else " says why and what to do"
        return f"{verdict}.{still} Next: {promote}{why}."


def promote_refreshed(store: Store, config: Config, *, log: Log) -> PromotionResult:
    """Move to the newest index of the variant that serves, if its gate lets it pass.

    Where another process moves the pointer meanwhile, the newest index is looked at again.

    Raises:
        NothingReadError: Nothing serves yet, and there is no unit that could.
        PointerMovedError: Others moved the pointer again and again.
        DamagedPointerError: It cannot be told what serves.
        DamagedTablesError: Files of a table cannot be read.
    """
    for _ in range(RIVALS):
        with suppress(PointerMovedError):
            return _promoted(store, config, log=log)
    return _promoted(store, config, log=log)


def _promoted(store: Store, config: Config, *, log: Log) -> PromotionResult:
    pointer = serving_pointer.current(store)
    variant = serving_pointer.serving_variant(store, config)
    held = PromotionResult(status="held", pointer=pointer, variant=variant)
    if pointer and pointer.variant_in(store, config) is None:
        gone = f"Variant {pointer.variant} serves, and the config has it no more."
        remedy = f"run `rag-assets variants promote {variant}`, or put {pointer.variant} back"
        return _held(store, replace(held, reasons=(gone,), remedy=remedy))
    if pointer and _is_what_serves(store, config, pointer, variant):
        blocked_candidate.clear_all(store, variant)
        return replace(held, status="unchanged")
    try:
        candidate = candidate_of(store, config, variant, by="refresh" if pointer else "first build")
    except NothingReadError:
        raise
    except NotReadyError as error:
        remedy = f"run `rag-assets variants backfill {variant}`"
        return _held(store, replace(held, reasons=(str(error),), remedy=remedy))
    if pointer and candidate.content == pointer.content:
        return _unchanged(store, candidate, pointer)
    is_there = pointer is not None and serving_pointer.is_held(store, pointer)
    can_serve = pointer is not None and embeddable.can_serve(store, config, pointer)
    # A person went back from this very content: the next nightly run may not undo that.
    if pointer and can_serve and _was_left(store, candidate, pointer):
        left = f"Held since the rollback of {pointer.moved_at}: it is what was rolled back from."
        remedy = f"run `rag-assets variants promote {variant}` to serve it again"
        return replace(held, status="rolled back", reasons=(left,), remedy=remedy)
    verdict = _judged(store, config, pointer, candidate, log=log)
    if verdict.allows:
        return _moved(store, replace(candidate, verdict=verdict.to_json()), pointer, verdict)
    remedy = verdict.remedy or _override_remedy(variant)
    if pointer and is_there and _differs_by_retriever(candidate, pointer):
        pointer = _with_new_content(store, config, pointer, candidate, log=log)
        remedy = f"{remedy}; or undo the edit of `retrieval`: until then the former one answers"
    told = replace(held, pointer=pointer, verdict=verdict, reasons=verdict.reasons, remedy=remedy)
    return _held(store, told)


def _differs_by_retriever(candidate: ServingPointer, pointer: ServingPointer) -> bool:
    """Whether the tables of `candidate` can be searched as what serves is, and are not."""
    is_indexed_alike = candidate.complete_set.indexes == pointer.complete_set.indexes
    return is_indexed_alike and candidate.query_side != pointer.query_side


def _is_what_serves(store: Store, config: Config, pointer: ServingPointer, variant: str) -> bool:
    """Whether nothing changed since `pointer` was written; no table is opened to tell."""
    held_set = pointer.complete_set
    return (
        completing.record(store, config, STEPS, variant=variant) == held_set
        and QuerySide.of(config.retrieval) == pointer.query_side
        and _is_as_left(store, held_set.elements, pointer.elements)
        and _is_as_left(store, held_set.chunks, pointer.chunks)
    )


def _is_as_left(store: Store, table: str, pin: Pin | None) -> bool:
    """Whether `pin` is what the last pass over `table` left."""
    ended = store.ended(table)
    return pin is not None and ended is not None and ended.files == pin.files


def _with_new_content(
    store: Store, config: Config, pointer: ServingPointer, candidate: ServingPointer, *, log: Log
) -> ServingPointer:
    """What serves while an edit of the retriever is held: the newest tables, searched as before.

    Else a retriever that waits for more questions would keep new content from those who ask.
    """
    before = replace(candidate, query_side=pointer.query_side)
    if before.content == pointer.content or _was_left(store, before, pointer):
        return pointer
    retrieval = pointer.query_side.within(config.retrieval)
    as_before = config.model_copy(update={"retrieval": retrieval})
    verdict = _judged(store, as_before, pointer, before, log=log)
    if not verdict.allows:
        return pointer
    moved = replace(before, verdict=verdict.to_json())
    return serving_pointer.move(store, moved, after=pointer.number)


def promote(
    store: Store,
    config: Config,
    variant: str,
    *,
    override: str | None = None,
    accept_dense: str | None = None,
    log: Log,
) -> PromotionResult:
    """Let `variant` serve, if the gate lets it pass.

    Args:
        store: Holds its tables.
        config: As it is now.
        variant: The name of the variant.
        override: Why it is to serve whatever the gate says: a person's words, which are recorded.
        accept_dense: Why it is to serve although dense search alone finds less; may be empty, and
            is recorded.
        log: Told about progress.

    Raises:
        ConfigError: The config has no such variant.
        NotReadyError: It is not complete, or its tables do not agree.
        PointerMovedError: Another process moved the pointer meanwhile.
        DamagedTablesError: Files of a table cannot be read.
    """
    config.variant(variant)
    _read_new_questions(store, config, log=log)
    # Before anything is looked at: if another process moves the pointer from here on, this is
    # refused.
    after = serving_pointer.number_now(store)
    pointer = _serving_or_last(store)
    candidate = candidate_of(store, config, variant, by="promote")
    if pointer and candidate.content == pointer.content and pointer.number == after:
        return _unchanged(store, candidate, pointer)
    accepts_dense = accept_dense is not None
    verdict = _judged(store, config, pointer, candidate, accepts_dense=accepts_dense, log=log)
    if not verdict.allows and override is None:
        held = PromotionResult(
            status="held",
            pointer=pointer,
            variant=variant,
            verdict=verdict,
            reasons=verdict.reasons,
            remedy=verdict.remedy or _override_remedy(variant),
        )
        return _held(store, held, is_beside=True)
    if not verdict.allows:
        candidate = replace(candidate, by="override", reason=override)
    elif verdict.dense and verdict.dense.is_accepted:
        candidate = replace(candidate, reason=": ".join(filter(None, (ACCEPTED, accept_dense))))
    chosen = replace(candidate, verdict=verdict.to_json())
    return _moved(store, chosen, pointer, verdict, after=after)


def judge_beside(store: Store, config: Config, variant: str, *, log: Log) -> PromotionResult:
    """What the gate says of `variant` beside what serves; nothing moves, a HOLD is kept.

    Raises:
        DamagedPointerError: It cannot be told what serves.
    """
    _read_new_questions(store, config, log=log)
    pointer = serving_pointer.current(store)
    told = PromotionResult(status="judged", pointer=pointer, variant=variant)
    try:
        candidate = candidate_of(store, config, variant, by="promote")
        if pointer and candidate.content == pointer.content:
            return replace(told, status="unchanged")
        verdict = _judged(store, config, pointer, candidate, log=log)
    except NotReadyError as error:
        remedy = f"`rag-assets variants backfill {variant}`"
        return replace(told, reasons=(str(error),), remedy=remedy)
    except (DamagedTablesError, OutdatedIndexError) as error:
        return replace(told, reasons=(f"No verdict on {variant}: {error}.",))
    told = replace(told, verdict=verdict, reasons=verdict.reasons, remedy=verdict.remedy)
    if verdict.allows:
        blocked_candidate.clear_beside(store, variant)
    else:
        remedy = verdict.remedy or _override_remedy(variant)
        _held(store, replace(told, remedy=remedy), is_beside=True)
    return told


def _read_new_questions(store: Store, config: Config, *, log: Log) -> None:
    """Let questions that were written since the last refresh count at once."""
    try:
        if config.question_files or store.exists(GENERATED_QUESTIONS_TABLE):
            refresh_questions(store, config, log=log)
            if unusable := quarantined(store, QUESTIONS_TABLE):
                log(f"unusable lines of questions: {len(unusable):,}, such as {unusable[0].reason}")
    except QuestionsError as error:
        log(f"judging by the questions that were last read: {error}")


def _judged(
    store: Store,
    config: Config,
    pointer: ServingPointer | None,
    candidate: ServingPointer,
    *,
    accepts_dense: bool = False,
    log: Log,
) -> Verdict:
    """What the gate says of `candidate`, beside what serves, if its tables are there."""
    pointer = pointer if pointer and serving_pointer.is_held(store, pointer) else None
    without = None if pointer else _served_without_pointer(store, config, candidate)
    serving = pointer.complete_set if pointer else without
    retrieval = pointer.query_side.within(config.retrieval) if pointer else None
    return gate.judge(
        store,
        config,
        serving=serving,
        candidate=candidate.complete_set,
        log=log,
        serving_retrieval=retrieval,
        retriever=pointer.query_side.retriever if pointer else None,
        are_questions_lost=are_questions_lost(store, config, pointer),
        accepts_dense=accepts_dense,
    )


def _served_without_pointer(
    store: Store, config: Config, candidate: ServingPointer
) -> CompleteSet | None:
    """What answers queries while nothing was promoted, if it is another variant."""
    if serving_pointer.number_now(store) or candidate.variant == config.serving_variant:
        return None
    try:
        return complete_sets.set_of(store, config, config.serving_variant)
    except MissingTableError:
        return None


def _serving_or_last(store: Store) -> ServingPointer | None:
    """What serves; where its record is damaged, what last did."""
    try:
        return serving_pointer.current(store)
    except DamagedPointerError:
        return serving_pointer.previous(store)


def _as_recorded(store: Store) -> str:
    """The record of what serves; empty if it is damaged."""
    try:
        pointer = serving_pointer.current(store)
    except DamagedPointerError:
        return ""
    return pointer.as_json() if pointer else ""


def _was_left(store: Store, candidate: ServingPointer, pointer: ServingPointer) -> bool:
    left = serving_pointer.left_behind(store, pointer)
    return any(each.content == candidate.content for each in left)


def _unchanged(store: Store, candidate: ServingPointer, pointer: ServingPointer) -> PromotionResult:
    """Keep the pointer: the same rows are searched alike; where files are others, pin those."""
    same = replace(
        pointer,
        complete_set=candidate.complete_set,
        elements=candidate.elements,
        chunks=candidate.chunks,
        recipe=candidate.recipe,
        encoder_ids=candidate.encoder_ids,
    )
    if _as_recorded(store) != same.as_json():
        serving_pointer.renew(store, same)
    blocked_candidate.clear_all(store, candidate.variant)
    return PromotionResult(status="unchanged", pointer=same, variant=candidate.variant)


def _moved(
    store: Store,
    candidate: ServingPointer,
    pointer: ServingPointer | None,
    verdict: Verdict,
    *,
    after: int | None = None,
) -> PromotionResult:
    # To judge takes minutes, in which a clean-up may have taken the tables away.
    if not serving_pointer.is_held(store, candidate):
        raise GonePinsError(candidate.number, variant=candidate.variant)
    expected = (pointer.number if pointer else 0) if after is None else after
    moved = serving_pointer.move(store, candidate, after=expected)
    blocked_candidate.clear_all(store, moved.variant)
    return PromotionResult(
        status="moved",
        pointer=moved,
        variant=moved.variant,
        verdict=verdict,
        reasons=verdict.reasons,
    )


def _held(store: Store, held: PromotionResult, *, is_beside: bool = False) -> PromotionResult:
    """Keep that a variant may not serve, with the evidence."""
    told = HeldBack(held.variant, utc_now(), tuple(held.reasons), held.remedy, held.verdict)
    blocked_candidate.hold(store, told, is_beside=is_beside)
    return held


def _override_remedy(variant: str) -> str:
    promote = f'`rag-assets variants promote {variant} --override "REASON"`'
    return f"run {promote} to serve it all the same"
