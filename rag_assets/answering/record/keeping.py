"""Keeping an answer. That it cannot be kept never stops it from being given."""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Answer
from rag_assets.answering.condensation.conversation import Turn
from rag_assets.answering.record.answer_rows import Prepared, insert
from rag_assets.answering.record.database import (
    AnswersFile,
    AnswersFileError,
    answers_of,
)
from rag_assets.answering.record.kept import (
    AnswerContext,
    KeptAnswer,
    context_of,
    cost_of,
    new_id,
)
from rag_assets.answering.record.staleness import rows_of_plan
from rag_assets.citations.kinds import PlanCitation, Rows
from rag_assets.config import Config, RetrieverName
from rag_assets.process import clock
from rag_assets.store import Store
from rag_assets.store import purges as purges_of
from rag_assets.store.records_file import is_damage
from rag_assets.table_lookup.arm import narrowed
from rag_assets.table_lookup.looking_up import look_up
from rag_assets.table_lookup.plans.plan import plan_to_json
from rag_assets.table_lookup.plans.sandbox import SandboxError
from rag_assets.table_lookup.sentences.citing import condition_units
from rag_assets.table_lookup.verifying import verify_again
from rag_assets.workers import AbandonedError

if TYPE_CHECKING:
    from rag_assets.answering.assistant import Assistant
    from rag_assets.retrieval.filters import Filters

FAILURES = (AnswersFileError, sqlite3.Error, OSError, ValueError)
"""What a file that is damaged, busy or on a full disk raises, and text that has no UTF-8."""

logger = logging.getLogger(__name__)
_said: set[tuple[str, type[BaseException]]] = set()
_lock = Lock()


def keep_asked(
    assistant: "Assistant",
    answer: Answer,
    *,
    retriever: RetrieverName | None,
    filters: "Filters | None",
    user: str | None,
    said: Sequence[Turn],
) -> str | None:
    """Keep what `assistant` answered: see `keep`. The others are those that it was asked with."""
    context = context_of(
        assistant.index,
        assistant.config,
        retriever=retriever,
        filters=filters,
        user=user,
        access=assistant.access,
        history=tuple(turn.question for turn in said),
        listed=rows_listed_by(assistant, answer, filters),
        cost=cost_of(answer),
    )
    return keep(assistant.store, assistant.config, answer, context, purges=assistant.purges)


def rows_listed_by(
    assistant: "Assistant", answer: Answer, filters: "Filters | None"
) -> Rows | None:
    """The rows that an answer lists, if its sentences cite their cells alone."""
    is_of_rules = answer.outcome == "computed" and not answer.planned_as
    if not is_of_rules or any(isinstance(each, PlanCitation) for each in answer.citations):
        return None
    asked, tables = answer.read_as or answer.question, narrowed(assistant.catalogue, filters)
    with suppress(AbandonedError, SandboxError):  # it is kept though nobody waits for it any more
        looked = look_up(asked, tables, in_documents=False, suggests=False)  # it is remembered
        plan = looked.plan if looked.outcome == "answered" else None
        table = tables.find(plan.source, plan.table) if plan else None
        if plan and table:
            listed = rows_of_plan(answer, plan_to_json(plan), condition_units(plan, table))
            return listed if verify_again(listed, tables) == "same" else None
    return None


def keep(
    store: Store, config: Config, answer: Answer, context: AnswerContext, *, purges: int
) -> str | None:
    """Keep an answer; when this returns its id, the answer outlives the process.

    Args:
        store: The state it belongs to.
        config: `answering.keep` says whether answers are kept.
        answer: What was answered.
        context: How it came about: see `kept.context_of`.
        purges: How many the state had had before its texts were read (`Assistant.purges`). After
            one more, the answer may hold what was erased, and is not kept.

    Returns:
        The id of the answer, by which it is listed and replayed. None if none are to be kept, or if
        it cannot be kept; that is logged once for each kind of failure.
    """
    if not config.answering.keep:
        return None
    at = clock.now()
    kept = KeptAnswer(new_id(at), at, answer, context)
    file = answers_of(store)

    def was_purged() -> bool:
        return purges_of.count(store.root) != purges

    try:
        prepared = Prepared(kept)
        try:
            is_kept = add(file, prepared, unless=was_purged)
        except AnswersFileError as error:
            if not is_damage(error):
                raise
            _set_aside(file)
            is_kept = add(file, prepared, unless=was_purged)
    except FAILURES as error:
        _say_once(file, error)
        return None
    return kept.answer_id if is_kept else None


def add(
    file: AnswersFile, prepared: Prepared, *, unless: Callable[[], bool] = lambda: False
) -> bool:
    """Write one answer in a transaction of its own; whether it was, which `unless` may deny.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    with file.writing() as connection:
        if unless():
            return False
        insert(connection, prepared)
    return True


def _set_aside(file: AnswersFile) -> None:
    if (aside := file.set_aside_if_damaged()) is not None:
        logger.warning(
            "the file of kept answers is damaged: it is now %s, and %s is begun anew; "
            "`sqlite3 %s .recover` reads what is left of it",
            aside,
            file.path.name,
            aside.name,
        )


def _say_once(file: AnswersFile, error: BaseException) -> None:
    with _lock:
        said = (str(file.path), type(error))
        if said in _said:
            return
        _said.add(said)
    logger.warning(
        "answers are given and not kept: %s (said once; `answering.keep: false` keeps none)",
        error,
    )
