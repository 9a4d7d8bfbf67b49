"""Measuring answers of one variant on the imported questions.

Five numbers, never one (see `bench`), each with its interval over clusters of questions; they
need no judge, and what the judges of the config say stands beside them. How many questions had
which outcome is told too. Where index, questions and settings are those
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
from rag_assets.change.data_versions import current_version
from rag_assets.config import Config
from rag_assets.evaluation import results
from rag_assets.evaluation.evaluate import fingerprint_of
from rag_assets.laboratory.answer_evaluation import REVISION
from rag_assets.laboratory.answer_evaluation.answer_items import (
    References,
    ShownText,
    answer_items,
    context_item,
)
from rag_assets.laboratory.answer_evaluation.answer_means import AnswersOfDomain, by_domain
from rag_assets.laboratory.answer_evaluation.bench import Bench, MeasuredAnswer, bench_of
from rag_assets.laboratory.judges.asking import RubricJudge, open_judges
from rag_assets.laboratory.judges.judged_means import (
    JudgedMean,
    JudgedRow,
    judged_arms,
    judgments_of,
    save_items,
)
from rag_assets.questions.judging.verdicts import save_judgments
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.complete_sets import CompleteSet, set_of_recipe
from rag_assets.table_lookup.arm import arms_of

FILE = "answer_evaluation.json"
JUDGED = ("computed", "written")
"""The outcomes that are answers, which judges are asked about."""
JUDGMENTS_FILE = "answer_judgments.parquet"
"""The file beside it with what each judge said of each answer, in the schema `JUDGMENTS`."""


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
    """Answers and judgments behind which a call failed in a way that may pass: these are asked for
    again."""
    judged: Mapping[str, Sequence[JudgedMean]] = field(default_factory=dict)
    """What the judges of the config say, by domain; empty without one."""
    spending: Mapping[str, int | float | str] = field(default_factory=dict)
    """What the language model took: see `models.language.spending`; empty without one. What judges
    took stands behind their name."""


def evaluate_answers(
    store: Store,
    config: Config,
    *,
    variant: str,
    log: Callable[[str], None],
) -> AnswerEvaluation | None:
    """Answer the imported questions by a variant and measure that; None if there are none.

    Raises:
        MissingIndexError: The variant has no complete index.
    """
    if not store.count(schemas.QUESTIONS_TABLE):
        return None
    with store.lock(f"answer_evaluation__{variant}", log=log):
        complete_set = set_of_recipe(store, config, variant)
        with (
            open_assistant(config, variant, complete_set=complete_set) as assistant,
            open_judges(config) as judges,
        ):
            return _evaluated(
                assistant,
                judges,
                variant=variant,
                complete_set=complete_set,
                log=log,
            )


def _evaluated(
    assistant: Assistant,
    judges: Sequence[RubricJudge],
    *,
    variant: str,
    complete_set: CompleteSet,
    log: Callable[[str], None],
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
            *(judge.fingerprint for judge in judges),
        ],
    )
    file = file_of(store, variant)
    known = read_evaluation(file)
    if known and known.made_from == made_from and not known.may_pass:
        return known
    started = time.monotonic()
    bench = bench_of(assistant)
    answers = bench.answers(log=log)
    measured = list(map(bench.measured, bench.questions, answers))
    rows = _rows(bench, answers, measured) if judges else []
    judgments = judgments_of(judges, [row for _, row in rows], log=log)
    domains = by_domain(measured, samples=config.evaluation.bootstrap_samples)
    found = AnswerEvaluation(
        made_from=made_from,
        variant=variant,
        retriever=config.retrieval.retriever,
        evaluated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - started, 3),
        domains=domains,
        answers=measured,
        failed=sum(map(is_failure, answers)),
        may_pass=sum(bool(each.generation and each.generation.may_pass) for each in answers)
        + sum(each.may_pass for each in judgments),
        judged={
            domain.domain: judged_arms(
                judgments,
                judges,
                [row for name, row in rows if name == domain.domain],
                samples=config.evaluation.bootstrap_samples,
            )[0].means
            for domain in domains
            if judges
        },
        spending={
            **(writer.model.spending.record() if writer else {}),
            **spending_of(judges),
        },
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    if judges:
        save_judgments(judgments, file.with_name(JUDGMENTS_FILE))
        judged = {each.item_id for each in judgments}
        save_items(store, f"answers__{variant}", [row for _, row in rows], judged)
    write_atomically(file, json.dumps(asdict(found), indent=1))
    return found


def _rows(
    bench: Bench, answers: Sequence[Answer], measured: Sequence[MeasuredAnswer]
) -> list[tuple[str, JudgedRow]]:
    """For each question its domain, and what can be judged: its answer, and what was found."""
    index, config = bench.assistant.index, bench.assistant.config
    references = References.of(bench.assistant.store, config, bench.documents)
    ids = sorted({unit.unit_id for answer in answers for unit in answer.shown})
    units = {
        row["unit_id"]: ShownText(row["unit_id"], row["text"], row["source"])
        for row in index.read(ids, ["text", "source"]).to_pylist()
    }
    rows = []
    for question, answer, each in zip(bench.questions, answers, measured, strict=True):
        shown = [units[unit.unit_id] for unit in answer.shown if unit.unit_id in units]
        items = context_item(question, shown)
        if answer.outcome in JUDGED:
            items += answer_items(
                question,
                answer.sentences,
                shown,
                references=references,
                writer_identity=answer.generation.identity if answer.generation else "",
            )
        rows.append((each.domain, JudgedRow(each.source, each.gold, [items])))
    return rows


def spending_of(judges: Sequence[RubricJudge]) -> Mapping[str, int | float | str]:
    """What judges took, each behind its name."""
    return {
        f"{judge.model.name} as a judge: {name}": value
        for judge in judges
        for name, value in judge.model.spending.record().items()
    }


def file_of(store: Store, variant: str) -> Path:
    """The file of the evaluation of a variant's answers."""
    return results.folder_of(store, variant) / FILE


def read_evaluation(file: Path) -> AnswerEvaluation | None:
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
