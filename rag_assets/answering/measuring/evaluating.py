"""Measuring answers of one variant on the imported questions, without a model that judges.

Five numbers, never one (see `measures`), each with its interval over clusters of questions;
how many questions had which outcome is told beside. Where index, questions and settings are those
of the evaluation that lies there, it is returned as it is; if a language model failed in some of
its answers, these alone are asked for again, as all other calls are kept.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from rag_assets import identity, schemas
from rag_assets.answering.answer import Answer
from rag_assets.answering.assistant import Assistant, open_assistant
from rag_assets.answering.measuring import REVISION
from rag_assets.answering.measuring.answer_means import AnswersOfDomain, by_domain
from rag_assets.answering.measuring.bench import MeasuredAnswer, bench_of
from rag_assets.change.data_versions import current_version
from rag_assets.config import Config
from rag_assets.evaluation import results
from rag_assets.evaluation.evaluate import fingerprint_of
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.complete_sets import CompleteSet, set_of_recipe
from rag_assets.table_lookup.arm import arms_of

"""Raise it when the same tables should give other answers or numbers."""
FILE = "answer_evaluation.json"


@dataclass(frozen=True, slots=True)
class AnswerEvaluation:
    """How well the questions were answered."""

    made_from: str
    """Fingerprint of index, questions and settings: while it is the same, nothing is done."""
    variant: str
    retriever: str
    evaluated_at: str
    """ISO 8601, UTC."""
    seconds: float
    domains: Sequence[AnswersOfDomain]
    answers: Sequence[MeasuredAnswer]
    failed: int = 0
    """Answers that a language model should have written: it failed, so what was found is shown."""
    may_pass: int = 0
    """Answers behind which a call failed in a way that may pass: these are asked for again."""
    spending: Mapping[str, int | float | str] = field(default_factory=dict)
    """What the language model took: see `models.language.spending`; empty without one."""


def evaluate_answers(
    store: Store, config: Config, *, variant: str, log: Callable[[str], None]
) -> AnswerEvaluation | None:
    """Answer the imported questions by a variant and measure that; None if there are none.

    Raises:
        MissingIndexError: The variant has no complete index.
    """
    if not store.count(schemas.QUESTIONS_TABLE):
        return None
    with store.lock(f"answer_evaluation__{variant}", log=log):
        complete_set = set_of_recipe(store, config, variant)
        with open_assistant(config, variant, complete_set=complete_set) as assistant:
            return _evaluated(assistant, variant=variant, complete_set=complete_set, log=log)


def _evaluated(
    assistant: Assistant, *, variant: str, complete_set: CompleteSet, log: Callable[[str], None]
) -> AnswerEvaluation:
    """The evaluation that lies there, if it still holds; else a new one."""
    store, config = assistant.store, assistant.config
    writer, planner = assistant.models.writer, assistant.models.planner
    made_from = _made_from(
        store,
        config,
        variant=variant,
        complete_set=complete_set,
        models=[
            *([writer.fingerprint] if writer else []),
            *([planner.identity] if planner else []),
        ],
    )
    file = file_of(store, variant)
    known = _read(file)
    if known and known.made_from == made_from and not known.may_pass:
        return known
    started = time.monotonic()
    bench = bench_of(assistant)
    answers = bench.answers(log=log)
    measured = list(map(bench.measured, bench.questions, answers))
    found = AnswerEvaluation(
        made_from=made_from,
        variant=variant,
        retriever=config.retrieval.retriever,
        evaluated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - started, 3),
        domains=by_domain(measured, samples=config.evaluation.bootstrap_samples),
        answers=measured,
        failed=sum(map(is_failure, answers)),
        may_pass=sum(bool(each.generation and each.generation.may_pass) for each in answers),
        spending=writer.model.spending.record() if writer else {},
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, json.dumps(asdict(found), indent=1))
    return found


def file_of(store: Store, variant: str) -> Path:
    """Where the evaluation of a variant's answers is kept."""
    return results.folder_of(store, variant) / FILE


def _read(file: Path) -> AnswerEvaluation | None:
    """The evaluation in `file`; None if there is none, or it is of another release."""
    try:
        return TypeAdapter(AnswerEvaluation).validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None


def is_failure(answer: Answer) -> bool:
    """Whether a language model was asked and failed, so that what was found is shown instead."""
    return answer.generation is not None and not answer.generation.is_written


def _made_from(
    store: Store,
    config: Config,
    *,
    variant: str,
    complete_set: CompleteSet,
    models: Sequence[str],
) -> str:
    searched = fingerprint_of(
        store,
        config,
        variant=variant,
        complete_set=complete_set,
        questions=current_version(store, schemas.QUESTIONS_TABLE, key="question_id"),
        retrievers=[config.retrieval.retriever],
        arms=arms_of(store, config),
    )
    return identity.fingerprint(
        REVISION,
        searched,
        config.answering.hits,
        *models,
    )
