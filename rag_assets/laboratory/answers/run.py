"""One experiment on answers: every arm answers the same questions from the same hits.

Differences are paired by question, with intervals over clusters of questions. Calls are kept, so a
run that is repeated asks nothing, and a run that was killed goes on. Where index, questions and
arms are those of the record that lies there, it is returned as it is, unless calls had failed in a
way that may pass.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from rag_assets import identity, schemas
from rag_assets.answering.assistant import Assistant, open_models
from rag_assets.answering.measuring.evaluating import spending_of
from rag_assets.answering.measuring.judged_items import References, ShownText, answer_items
from rag_assets.answering.quoting.row_cells import rows_among
from rag_assets.change.data_versions import current_version
from rag_assets.config import NOBODY, AnswerExperiment, Config, ConfigError
from rag_assets.config.questions import GENERATED_SETS
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation.gold import DocumentGold, Gold
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.intervals import (
    DIFFERENCES,
    SHARES,
    Limits,
    cluster_bootstrap,
    clusters_of,
)
from rag_assets.evaluation.judges.asking import RubricJudge, open_judges, pair_of
from rag_assets.evaluation.judges.judged_means import (
    JudgedArm,
    JudgedMean,
    JudgedRow,
    judged_arms,
    judgments_of,
)
from rag_assets.evaluation.judges.kept_items import save_items
from rag_assets.evaluation.judges.verdicts import JudgedItem, save_judgments
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.answers.arms import TITLES, AnswerArm, arms_of
from rag_assets.laboratory.answers.measuring import COUNTED, NUMBERS, AnswerMeasured, measure
from rag_assets.laboratory.judges import calibration
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.complete_sets import set_of_recipe

FOLDER = "answer_experiments"
REVISION = 3
"""Raise it when the same answers should give other numbers."""


class AnswerExperimentError(Exception):
    """An experiment cannot be run; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions, with its 95 % interval."""

    mean: float
    low: float | None
    """None with fewer than two clusters; `high` likewise."""
    high: float | None
    questions: int


@dataclass(frozen=True, slots=True)
class AnswerArmResult:
    """What an arm did."""

    name: str
    failed: int
    """Questions that the model gave no usable answer to."""
    numbers: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    """Against the first arm, over the questions where both have the number; empty for the first."""
    answers: Sequence[AnswerMeasured]
    judged: Sequence[JudgedMean] = ()
    """What the judges of the config say; empty without one."""
    judged_differences: Sequence[JudgedMean] = ()
    """Against the first arm."""


@dataclass(frozen=True, slots=True)
class AnswerExperimentRecord:
    """An experiment that was run."""

    name: str
    title: str
    made_from: str
    """Fingerprint of index, questions and arms."""
    variant: str
    retriever: str
    split: str
    questions: int
    model: str
    """Which language model it was, as its server states it."""
    evaluated_at: str
    """ISO 8601, UTC."""
    seconds: float
    arms: Sequence[AnswerArmResult]
    spending: Mapping[str, int | float | str]
    """What the model took: see `models.language.spending`; what judges took, behind their name."""
    judging_may_pass: bool = False
    """Whether a judge failed in a way that may pass."""


def run_answer_experiment(
    store: Store, config: Config, name: str, *, log: Callable[[str], None]
) -> AnswerExperimentRecord:
    """Run the experiment on answers called `name`, or give the record that still holds.

    Raises:
        AnswerExperimentError: There is no question of its split.
        ConfigError: There is no experiment of that name.
        MissingIndexError: The variant has no complete index.
    """
    experiment = experiment_of(config, name)
    variant = experiment.variant or next(iter(config.variants))
    named = (experiment.writer, config.answering.writer, *config.language_models)
    writer_name = next(name for name in named if name not in (None, NOBODY))
    with (
        store.lock(f"answer_experiment__{name}", log=log),
        open_models(config, writer=writer_name) as models,
        open_judges(config) as judges,
    ):
        complete_set = set_of_recipe(store, config, variant)
        asked = _questions(store, config, experiment)
        writer = models.writer
        assert writer is not None, "a writer is named"
        arms = arms_of(experiment.design, writer)
        made_from = identity.fingerprint(
            REVISION,
            [(pin.table, pin.version) for pin in complete_set.pins],
            config.retrieval.model_dump(mode="json"),
            config.answering.hits,
            current_version(store, schemas.QUESTIONS_TABLE, key="question_id"),
            *sorted(config.generated_sets.difference(GENERATED_SETS)),
            experiment.model_dump(mode="json"),
            [arm.fingerprint for arm in arms],
            *(judge.fingerprint for judge in judges),
        )
        known = read_record(store, name)
        may_pass = known and (
            known.judging_may_pass
            or any(each.may_pass for arm in known.arms for each in arm.answers)
        )
        if known and known.made_from == made_from and not may_pass:
            return known
        started = time.monotonic()
        made = _answered(store, config, variant, asked, arms, judges=judges, log=log)
        answers = [[each.measured for each in row] for row in made]
        rows = list(map(_judged_row, asked, made))
        judgments = judgments_of(judges, rows, log=log)
        samples = config.evaluation.bootstrap_samples
        judged = judged_arms(judgments, judges, rows, calibration=calibration, samples=samples)
        record = AnswerExperimentRecord(
            name=name,
            title=experiment.title or TITLES[experiment.design],
            made_from=made_from,
            variant=variant,
            retriever=config.retrieval.retriever,
            split=experiment.split,
            questions=len(asked),
            model=writer.model.identity,
            evaluated_at=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - started, 3),
            arms=_compared(arms, answers, judged, asked, samples=samples),
            spending={**writer.model.spending.record(), **spending_of(judges)},
            judging_may_pass=any(each.may_pass for each in judgments),
        )
        file = file_of(store, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        if judges:
            save_judgments(judgments, file.with_suffix(".judgments.parquet"))
            save_items(store, f"experiment__{name}", rows, {each.item_id for each in judgments})
        write_atomically(file, json.dumps(asdict(record), indent=1))
        return record


def experiment_of(config: Config, name: str) -> AnswerExperiment:
    """The experiment on answers called `name`.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in config.answer_experiments:
        known = ", ".join(config.answer_experiments) or "none: see docs/experiments.md"
        raise ConfigError(f"no experiment on answers is named {name!r}; the config has {known}")
    return config.answer_experiments[name]


def file_of(store: Store, name: str) -> Path:
    """Where the record of an experiment is kept."""
    return store.root / FOLDER / f"{name}.json"


def read_record(store: Store, name: str) -> AnswerExperimentRecord | None:
    """The record of an experiment; None if there is none, or it is of another release."""
    try:
        return TypeAdapter(AnswerExperimentRecord).validate_json(file_of(store, name).read_bytes())
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class _ArmAnswer:
    """What an arm made of a question."""

    measured: AnswerMeasured
    text: str
    """Without the marks of citations."""
    items: Sequence[JudgedItem]
    """What can be judged of it: one or none."""


def _questions(store: Store, config: Config, experiment: AnswerExperiment) -> list[Question]:
    """The questions of the split, or as many as are wanted, evenly spread."""
    questions = question_sets.brought(question_sets.read_questions(store), config)
    every = [question for question in questions if question.split == experiment.split]
    if not every:
        raise AnswerExperimentError(
            f"there is no question of the split {experiment.split!r}: name question files under "
            "evaluation.questions, and refresh"
        )
    count = min(experiment.most_questions, len(every))
    return [every[place * len(every) // count] for place in range(count)]


def _answered(
    store: Store,
    config: Config,
    variant: str,
    asked: Sequence[Question],
    arms: Sequence[AnswerArm],
    *,
    judges: Sequence[RubricJudge],
    log: Callable[[str], None],
) -> list[list[_ArmAnswer]]:
    """For each question what each arm made of it."""
    index = Assistant(store, config, variant).index
    documents = {}
    if judges:
        gold = [piece for question in asked for piece in question.gold]
        joint = index.complete_set.joint
        found = read_indexed_gold(store, config, variant=variant, joint=joint, gold=gold)
        documents = found.documents
    references = References.of(store, config, documents)

    def one(question: Question) -> list[_ArmAnswer]:
        hits = index.search(question.text, top_k=config.answering.hits).hits
        rows = rows_among(hits, store=store, complete_set=index.complete_set)
        shown = [ShownText(hit.unit_id, hit.text, hit.source) for hit in hits]
        reference = references.answers[question.question_id]
        answers = []
        for arm in arms:
            written = arm.write(question.text, hits, rows)
            measured = measure(
                question.question_id, written, hits=hits, rows=rows, reference=reference
            )
            items = answer_items(
                question,
                written.sentences,
                shown,
                references=references,
                writer_identity=arm.writer.model.identity,
            )
            text = " ".join(each.text for each in written.sentences)
            answers.append(_ArmAnswer(measured, text, items))
        return answers

    found = []
    at_once = max(arm.writer.model.settings.concurrency for arm in arms)
    for number, answers in enumerate(asked_side_by_side(one, asked, at_once=at_once), start=1):
        found.append(answers)
        if number % 10 == 0 or number == len(asked):
            log(f"{number:,} of {len(asked):,} questions answered by {len(arms)} arms")
    return found


def _judged_row(question: Question, made: Sequence[_ArmAnswer]) -> JudgedRow:
    """What can be judged: each answer, and each beside that of the first arm."""
    first, *others = made
    arms = [first.items]
    for each in others:
        both = zip(each.items, first.items, strict=False)
        pairs = (pair_item(answer, base, (each.text, first.text)) for answer, base in both)
        arms.append([*each.items, *pairs])
    gold = question.gold[0]
    source = gold.uri if isinstance(gold, DocumentGold) else gold.table
    return JudgedRow(source, gold.label, arms)


def pair_item(answer: JudgedItem, first: JudgedItem, texts: tuple[str, str]) -> JudgedItem:
    """An answer beside that of the first arm, by their `texts` without marks of citations."""
    shared = {name: text for name in ("question", "reference") if (text := answer.parts[name])}
    parts = {**shared, **pair_of(*texts)}
    return JudgedItem("pair", parts, answer.sources | first.sources, answer.writers | first.writers)


def _compared(
    arms: Sequence[AnswerArm],
    answers: Sequence[Sequence[AnswerMeasured]],
    judged: Sequence[JudgedArm],
    questions: Sequence[Question],
    *,
    samples: int,
) -> list[AnswerArmResult]:
    values = np.array(
        [[[each.values[name] for name in NUMBERS] for each in arms] for arms in answers], float
    )  # (questions, arms, numbers); NaN where there is nothing to measure
    estimates = partial(_estimates, golds=[one.gold[0] for one in questions], samples=samples)
    return [
        AnswerArmResult(
            name=arm.name,
            failed=sum(of_question[place].failed for of_question in answers),
            numbers=estimates(values[:, place], limits=SHARES),
            differences=estimates(values[:, place] - values[:, 0], limits=DIFFERENCES)
            if place
            else {},
            answers=[of_question[place] for of_question in answers],
            judged=judged[place].means,
            judged_differences=judged[place].differences,
        )
        for place, arm in enumerate(arms)
    ]


def _estimates(
    values: np.ndarray, *, golds: Sequence[Gold], samples: int, limits: Limits
) -> dict[str, Estimate]:
    """The mean of each number over the questions that have it: `values` is (questions, numbers)."""
    found = {}
    for name, column in zip(NUMBERS, values.T, strict=True):
        rows = np.flatnonzero(~np.isnan(column))
        if not rows.size:
            continue
        having = [golds[row] for row in rows]
        clusters = clusters_of(
            [gold.uri if isinstance(gold, DocumentGold) else gold.table for gold in having],
            [gold.label for gold in having],
        )
        drawn = cluster_bootstrap(
            column[rows, None],
            clusters,
            samples=samples,
            limits=None if name == COUNTED else limits,
        )
        low, high = (
            None if np.isnan(bound[0]) else float(bound[0]) for bound in (drawn.low, drawn.high)
        )
        found[name] = Estimate(float(drawn.means[0]), low, high, rows.size)
    return found
