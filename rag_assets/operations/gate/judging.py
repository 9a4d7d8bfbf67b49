"""The gate: may a candidate take the place of the index that serves?

`judge` is the whole of it. It brings both sides together (`compared_rankings`), asks them the
configured questions and looks for flaws of that evaluation (`comparison`), asks known items where
the questions are few or none (`known_items`), and lets the `rules` decide. What comes out is a
`verdicts.Verdict`; `verdict_wording` says it to people.
"""

from collections.abc import Callable
from dataclasses import replace

from rag_assets import identity, schemas
from rag_assets.change.data_versions import current_version
from rag_assets.config import Config, Retrieval
from rag_assets.evaluation.non_inferiority import default_margin
from rag_assets.evaluation.questions import Question, read_questions
from rag_assets.evaluation.smoke_tests import proofs, smoke_tests
from rag_assets.models.weights import ModelMismatchError
from rag_assets.operations.gate.compared_rankings import Side, UnsearchableError
from rag_assets.operations.gate.comparison import Comparison, compare
from rag_assets.operations.gate.known_items import ask_known_items
from rag_assets.operations.gate.rules import REVISION, Ruling, decide, needs_known_items
from rag_assets.operations.gate.verdict_wording import smoke_text
from rag_assets.operations.gate.verdicts import (
    Basis,
    Compared,
    DenseAlone,
    KnownItems,
    Verdict,
    utc_now,
)
from rag_assets.operations.serving_index.consistency import encoder_ids
from rag_assets.store import Store
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet

BY_WORDS = "bm25"
"""The retriever that every config has and that needs no model."""


NO_QUESTIONS = (
    "The question sets of the config hold no question any more: put the questions back, or take "
    "the sets out of evaluation.questions."
)


def judge(
    store: Store,
    config: Config,
    *,
    serving: CompleteSet | None,
    candidate: CompleteSet,
    log: Callable[[str], None],
    serving_retrieval: Retrieval | None = None,
    retriever: str | None = None,
    are_questions_lost: bool = False,
    accepts_dense: bool = False,
) -> Verdict:
    """Whether `candidate` may take the place of `serving`.

    The candidate is searched as the config says. Nothing is written but rankings, which the next
    judgement reads again.

    Args:
        store: Holds both.
        config: As it is now.
        serving: What answers queries; None if nothing does yet.
        candidate: What is to answer them.
        log: Told about progress.
        serving_retrieval: The section `retrieval` that answers queries; the config's unless given.
        retriever: The name of the retriever that answers queries, in `serving_retrieval`.
        are_questions_lost: Whether there were questions to judge by, and the sets of the config
            hold none any more.
        accepts_dense: Whether a person accepts that dense search alone finds less.

    Raises:
        OutdatedIndexError: The tables of a set were cleaned up or built anew.
        DamagedTablesError: Files of its tables cannot be read.
    """
    now = Side.of(store, config, candidate)
    before = (
        Side.of(store, config, serving, retrieval=serving_retrieval, retriever=retriever)
        if serving
        else None
    )
    every = read_questions(store)
    smoke = smoke_tests(store, config, every)
    questions = [one for one in every if one.question_set not in smoke]
    if before is None:
        now.take_over_evaluation(questions)
        reason = "Nothing served before: the first complete index serves."
        return _verdict(Ruling("PASS", (reason,)), before, now)
    is_same_recipe = _is_same_recipe(before, now)
    if is_same_recipe and before.content == now.content:
        return _verdict(Ruling("PASS", ("It holds exactly what serves.",)), before, now)
    if are_questions_lost:
        return _verdict(Ruling("HOLD", (NO_QUESTIONS,)), before, now)
    try:
        return _judged(
            before,
            now,
            questions,
            smoke=len(every) - len(questions),
            is_same_recipe=is_same_recipe,
            accepts_dense=accepts_dense,
            log=log,
        )
    except UnsearchableError as error:
        return _verdict(_unsearchable(error, before), before, now)


def basis_of(
    store: Store,
    config: Config,
    *,
    serving: CompleteSet | None,
    candidate: CompleteSet,
) -> Basis:
    """What a verdict on these would rest on now; it reads no more than versions."""
    before = Side.of(store, config, serving) if serving else None
    return _basis(before, Side.of(store, config, candidate))


def _judged(
    before: Side,
    now: Side,
    questions: list[Question],
    *,
    smoke: int,
    is_same_recipe: bool,
    accepts_dense: bool,
    log: Callable[[str], None],
) -> Verdict:
    """The verdict on two sides that differ; `smoke` is the number of questions left aside."""
    gate = now.config.gate
    is_same_encoder = _is_same_encoder(before, now)
    is_same_recipe = is_same_recipe and is_same_encoder
    with_dense = not is_same_encoder and any(side.asks_more_than_dense for side in (before, now))
    comparison, items, dense = None, None, None
    if questions:
        for side in (before, now):
            side.take_over_evaluation(questions)
        comparison = compare(
            before,
            now,
            questions,
            is_same_recipe=is_same_recipe,
            with_dense=with_dense,
            log=log,
        )
        dense = comparison.dense
    if not is_same_recipe and needs_known_items(comparison):
        items, of_dense = _known_items(
            before,
            now,
            queries=gate.queries,
            with_dense=with_dense and not (dense and dense.unasked),
            log=log,
        )
        if of_dense:
            dense = replace(dense or DenseAlone("fine"), known_items=of_dense)
    decision = decide(
        comparison,
        items,
        is_same_recipe=is_same_recipe,
        metric=gate.metric,
        items_margin=gate.margin or default_margin(items.queries if items else 0),
        dense=dense,
        accepts_dense=accepts_dense,
        retriever=now.retriever,
    )
    if dense and decision.accepts_dense:
        dense = replace(dense, is_accepted=True)
    if smoke:
        decision = replace(decision, reasons=(*decision.reasons, smoke_text(smoke)))
    return _verdict(decision, before, now, comparison=comparison, items=items, dense=dense)


def _is_same_recipe(before: Side, now: Side) -> bool:
    """Whether both are states of one table, and searched alike."""
    first, second = (side.complete_set.joint.table for side in (before, now))
    return name_of(first) == name_of(second) and before.query_side == now.query_side


def _is_same_encoder(before: Side, now: Side) -> bool:
    """Whether one model on one path made their vectors: a folder may be trained again in place."""
    first, second = (encoder_ids(side.store, side.complete_set.joint) for side in (before, now))
    return not first or not second or first == second


def _known_items(
    before: Side, now: Side, *, queries: int, with_dense: bool, log: Callable[[str], None]
) -> tuple[KnownItems | None, KnownItems | None]:
    """What known items say of what serves, and of dense search alone.

    Where the model of what serves is gone, its words are asked. Where one reranker and the same
    arms work for both, they are left out: what a reranker reads for some hundred queries is more
    than a small index holds, and no query of these is a question to a table.
    """
    asked = (before, now)
    if before.beside_signals == now.beside_signals:
        asked = (before.signals_alone(), now.signals_alone())
    dense = (before.dense_alone(), now.dense_alone()) if with_dense else None
    try:
        found = ask_known_items([asked, dense] if dense else [asked], queries=queries, log=log)
    except UnsearchableError as error:
        if dense and any(error.side is each for each in dense):
            log(f"dense search alone cannot be compared: {error}")
            return _known_items(before, now, queries=queries, with_dense=False, log=log)
        if error.side is not asked[0] or not isinstance(error.__cause__, ModelMismatchError):
            raise
        log(f"what serves cannot be searched by vectors ({error}): asking by words")
        words = replace(before, retriever=BY_WORDS)
        found = ask_known_items([(words, asked[1])], queries=queries, by_words=True, log=log)
    items, of_dense = [*found, None, None][:2]
    return items, of_dense


def _unsearchable(error: UnsearchableError, before: Side) -> Ruling:
    """What follows where one side cannot be asked at all."""
    if before in (error.side, error.side.opened_as):
        return Ruling("HOLD", (f"What serves cannot be searched to compare with it: {error}.",))
    return Ruling("FAIL", (f"It cannot be searched: {error}.",))


def _verdict(
    decision: Ruling,
    before: Side | None,
    now: Side,
    *,
    comparison: Comparison | None = None,
    items: KnownItems | None = None,
    dense: DenseAlone | None = None,
) -> Verdict:
    return Verdict(
        outcome=decision.outcome,
        reasons=decision.reasons,
        compared=Compared(
            serving=before.complete_set.variant if before else None,
            candidate=now.complete_set.variant,
            serving_retriever=before.retriever if before else None,
            retriever=now.retriever,
            metric=now.config.gate.metric,
        ),
        basis=_basis(before, now),
        judged_at=utc_now(),
        remedy=_remedy(decision, now, comparison),
        margin=comparison.margin if comparison else None,
        difference=comparison.difference if comparison else None,
        slices=comparison.slices if comparison else (),
        lost=comparison.lost if comparison else (),
        left_out=comparison.left_out if comparison else (),
        superseded=comparison.superseded if comparison else (),
        more_questions=decision.more_questions,
        known_items=items,
        measured=comparison.measured if comparison else (),
        dense=dense,
    )


def _remedy(decision: Ruling, now: Side, comparison: Comparison | None) -> str:
    """What a person can do where it does not pass."""
    if decision.outcome == "PASS":
        return ""
    steps = []
    if comparison and comparison.lost:
        steps.append("look at the questions that were lost")
    if comparison and comparison.left_out:
        steps.append("correct the gold of those that were left out")
    promote = f"rag-assets variants promote {now.complete_set.variant}"
    if decision.more_questions:
        steps.append(f"add questions and run `{promote}`, which reads them")
    if decision.doubts_dense:
        accepts = f"`{promote} --accept-dense` serves it although dense search alone finds less"
        return "; ".join([*steps, accepts])
    override = f'`{promote} --override "REASON"` serves it all the same'
    return "; ".join([*steps, override])


def _basis(before: Side | None, now: Side) -> Basis:
    return Basis(
        serving=before.content if before else "",
        candidate=now.content,
        questions=current_version(now.store, schemas.QUESTIONS_TABLE, key="question_id"),
        retriever=identity.fingerprint(before.query_side if before else None, now.query_side),
        judge=identity.fingerprint(
            REVISION,
            now.config.gate.model_dump(mode="json"),
            *sorted(one.name for one in now.config.evaluation.questions if one.generated),
            *proofs(now.store, now.config),
        ),
    )
