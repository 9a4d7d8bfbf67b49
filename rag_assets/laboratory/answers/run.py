"""One experiment on answers: every arm answers the same questions from the same hits.

Differences are paired by question, with intervals over clusters of questions. Calls are kept, so a
run that is repeated asks nothing, and a run that was killed goes on. Where index, questions and
arms are those of the record that lies there, it is returned as it is, unless calls had failed in a
way that may pass.
"""

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from rag_assets import identity, schemas
from rag_assets.answering.assistant import Assistant, open_models
from rag_assets.answering.generation.writing import Writer
from rag_assets.change.data_versions import current_version
from rag_assets.config import NOBODY, AnswerExperiment, Config
from rag_assets.config.questions import GENERATED_SETS
from rag_assets.evaluation.intervals import DIFFERENCES, SHARES
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.answer_evaluation.answer_items import (
    References,
    ShownText,
    answer_items,
    context_item,
)
from rag_assets.laboratory.answer_evaluation.answer_means import AnswerNumber, mean_over
from rag_assets.laboratory.answer_evaluation.bench import Bench, bench_of, place_of
from rag_assets.laboratory.answer_evaluation.evaluating import spending_of
from rag_assets.laboratory.answers.arms import TITLES, AnswerArm, arms_of
from rag_assets.laboratory.answers.measuring import COUNTED, NUMBERS, AnswerMeasured, measure
from rag_assets.laboratory.answers.ranks import ArmRanks, RankedAnswers, ranks_of
from rag_assets.laboratory.experiments.design import ExperimentError
from rag_assets.laboratory.judges.asking import open_judges
from rag_assets.laboratory.judges.distributions import ScoreCounts, score_counts
from rag_assets.laboratory.judges.judged_means import (
    JudgedArm,
    JudgedMean,
    JudgedRow,
    judged_arms,
    judgments_of,
    save_items,
)
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.questions.judging.verdicts import JudgedItem, pair_of, save_judgments
from rag_assets.retrieval.row_cells import rows_among
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.complete_sets import set_of_recipe

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

FOLDER = "answer_experiments"
REVISION = 5
"""Raise it when the same answers should give other numbers."""


@dataclass(frozen=True, slots=True)
class Estimate(AnswerNumber):
    """A mean over questions, with its 95 % interval."""

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
    score_counts: Sequence[ScoreCounts] = ()
    """How often judges gave each score."""
    ranks: Sequence[ArmRanks] = ()
    """How judges rank the answers of the arms."""
    judging_may_pass: bool = False
    """Whether a judge failed in a way that may pass."""

    @property
    def may_pass(self) -> bool:
        """Whether a model or a judge failed in a way that may pass, so that it is asked again."""
        return self.judging_may_pass or any(
            each.may_pass for arm in self.arms for each in arm.answers
        )


def run_answer_experiment(
    store: Store, config: Config, name: str, *, log: Callable[[str], None]
) -> AnswerExperimentRecord:
    """Run the experiment on answers called `name`, or give the record that still holds.

    Raises:
        ExperimentError: There is no question of its split.
        MissingIndexError: The variant has no complete index.
    """
    experiment = config.answer_experiments[name]
    variant = experiment.variant or next(iter(config.variants))
    with (
        store.lock(f"answer_experiment__{name}", log=log),
        open_writers(config, writers_of(config, experiment)) as writers,
        open_judges(config) as judges,
    ):
        arms = arms_of(experiment, writers)
        made_from = identity.fingerprint(
            REVISION,
            [(pin.table, pin.version) for pin in set_of_recipe(store, config, variant).pins],
            config.retrieval.model_dump(mode="json"),
            config.answering.hits,
            current_version(store, schemas.QUESTIONS_TABLE, key="question_id"),
            *sorted(config.generated_sets.difference(GENERATED_SETS)),
            experiment.model_dump(mode="json"),
            [arm.fingerprint for arm in arms],
            *(judge.fingerprint for judge in judges),
        )
        known = read_record(store, name)
        if known and known.made_from == made_from and not known.may_pass:
            return known
        started = time.monotonic()
        bench = bench_of(Assistant(store, config, variant))
        asked = spread(bench.questions, experiment.split, most=experiment.most_questions)
        made = answered(bench.assistant.index, asked, arms, bench=bench, log=log)
        rows = list(map(_judged_row, asked, made))
        names = [arm.name for arm in arms]
        ranked = [_ranked(names, of_row) for of_row in made]
        shown = _with_ranked(rows, ranked) if experiment.writers else rows
        judgments = judgments_of(judges, shown, log=log)
        samples = config.evaluation.bootstrap_samples
        judged = judged_arms(judgments, judges, rows, samples=samples)
        record = AnswerExperimentRecord(
            name=name,
            title=experiment.title or TITLES[experiment.design],
            made_from=made_from,
            variant=variant,
            retriever=config.retrieval.retriever,
            split=experiment.split,
            questions=len(asked),
            model=", ".join(each.model.identity for each in writers.values()),
            evaluated_at=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - started, 3),
            arms=_compared(arms, made, judged, asked, samples=samples),
            score_counts=list(score_counts(judgments, judges, rows, names)),
            ranks=list(ranks_of(judgments, judges, ranked, names)),
            spending={**_spent(writers), **spending_of(judges)},
            judging_may_pass=any(each.may_pass for each in judgments),
        )
        file = file_of(store, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        if judges:
            save_judgments(judgments, file.with_suffix(".judgments.parquet"))
            save_items(store, f"experiment__{name}", rows, {each.item_id for each in judgments})
        write_atomically(file, json.dumps(asdict(record), indent=1))
        return record


def writers_of(config: Config, experiment: AnswerExperiment) -> Sequence[str]:
    """The entries of `language_models` that write the answers of an experiment."""
    named = (experiment.writer, config.answering.writer, *config.language_models)
    alone = next(name for name in named if name is not None and name != NOBODY)
    return experiment.writers or [alone]


@contextmanager
def open_writers(config: Config, names: Sequence[str]) -> Generator[dict[str, Writer]]:
    """The writers of these names, each of which asks its own model."""
    with ExitStack() as stack:
        opened = {name: stack.enter_context(open_models(config, writer=name)) for name in names}
        yield {name: each.writer for name, each in opened.items() if each.writer is not None}


def _spent(writers: Mapping[str, Writer]) -> dict[str, int | float | str]:
    """What the writers took; of several, each behind its name."""
    return {
        name if len(writers) == 1 else f"{writer}: {name}": value
        for writer, opened in writers.items()
        for name, value in opened.model.spending.record().items()
    }


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
class ArmAnswer:
    """What an arm made of a question."""

    measured: AnswerMeasured
    text: str
    """Without the marks of citations."""
    items: Sequence[JudgedItem]
    """What can be judged of it: one or none."""
    context: Sequence[JudgedItem]
    """What can be judged of what was found for it: one or none."""


def spread(questions: Sequence[Question], split: str, *, most: int) -> list[Question]:
    """The questions of a split, or as many as are wanted, evenly spread.

    Raises:
        ExperimentError: There are none.
    """
    every = [question for question in questions if question.split == split]
    if not every:
        raise ExperimentError(
            f"there is no question of the split {split!r}: name question files under "
            "evaluation.questions, and refresh"
        )
    count = min(most, len(every))
    return [every[place * len(every) // count] for place in range(count)]


def answered(
    index: "VariantIndex",
    asked: Sequence[Question],
    arms: Sequence[AnswerArm],
    *,
    bench: Bench,
    log: Callable[[str], None],
) -> list[list[ArmAnswer]]:
    """For each question what each arm made of it, from what it finds in `index`."""
    store, config = bench.assistant.store, bench.assistant.config
    references = References.of(store, config, bench.documents)

    def one(question: Question) -> list[ArmAnswer]:
        reference = references.answers[question.question_id]
        answers: list[ArmAnswer] = []
        for arm in arms:
            if arm.retriever or not answers:
                hits = index.search(
                    question.text, top_k=config.answering.hits, retriever=arm.retriever
                ).hits
                rows = rows_among(hits, store=store, complete_set=index.complete_set)
                shown = [ShownText(hit.unit_id, hit.text, hit.source) for hit in hits]
            written = arm.write(question.text, hits, rows)
            items = answer_items(
                question,
                written.sentences,
                shown,
                references=references,
                writer_identity=arm.writer.model.identity,
                refusal=written.refusal,
            )
            text = " ".join(each.text for each in written.sentences) or written.refusal
            measured = measure(
                question.question_id, written, hits=hits, rows=rows, reference=reference
            )
            answers.append(ArmAnswer(measured, text, items, context_item(question, shown)))
        return answers

    found = []
    at_once = max(arm.writer.model.settings.concurrency for arm in arms)
    for number, answers in enumerate(asked_side_by_side(one, asked, at_once=at_once), start=1):
        found.append(answers)
        if number % 10 == 0 or number == len(asked):
            log(f"{number:,} of {len(asked):,} questions answered by {len(arms)} arms")
    return found


def _judged_row(question: Question, made: Sequence[ArmAnswer]) -> JudgedRow:
    """What can be judged: each answer, and each beside that of the first arm."""
    first, *others = made
    arms = [first.items]
    for each in others:
        both = zip(each.items, first.items, strict=False)
        pairs = (pair_item(answer, base, (each.text, first.text)) for answer, base in both)
        arms.append([*each.items, *pairs])
    return JudgedRow(*place_of(question), arms)


def _ranked(arms: Sequence[str], made: Sequence[ArmAnswer]) -> RankedAnswers:
    """The answers that can be judged, of all arms side by side."""
    there = {arm: each for arm, each in zip(arms, made, strict=True) if each.items}
    items = [each.items[0] for each in there.values()]
    parts = items[0].parts if items else {}
    return RankedAnswers(
        {name: text for name in ("question", "reference") if (text := parts.get(name))},
        {arm: each.text for arm, each in there.items()},
        frozenset().union(*(each.sources for each in items)),
        frozenset().union(*(each.writers for each in items)),
    )


def _with_ranked(rows: Sequence[JudgedRow], ranked: Sequence[RankedAnswers]) -> Sequence[JudgedRow]:
    """What judges are asked of several writers: to rank all answers at once, and no pair alone."""
    return [
        replace(
            row,
            arms=[
                *([each for each in arm if each.kind != "pair"] for arm in row.arms),
                [together.item] if len(together.texts) > 1 else [],
            ],
        )
        for row, together in zip(rows, ranked, strict=True)
    ]


def pair_item(answer: JudgedItem, first: JudgedItem, texts: tuple[str, str]) -> JudgedItem:
    """An answer beside that of the first arm, by their `texts` without marks of citations."""
    shared = {name: text for name in ("question", "reference") if (text := answer.parts[name])}
    parts = {**shared, **pair_of(*texts)}
    return JudgedItem("pair", parts, answer.sources | first.sources, answer.writers | first.writers)


def _compared(
    arms: Sequence[AnswerArm],
    made: Sequence[Sequence[ArmAnswer]],
    judged: Sequence[JudgedArm],
    asked: Sequence[Question],
    *,
    samples: int,
) -> list[AnswerArmResult]:
    answers = [[each.measured for each in of_arm] for of_arm in zip(*made, strict=True)]
    places = list(map(place_of, asked))

    def estimates(*, arm: int, less: int | None = None) -> dict[str, Estimate]:
        """The mean of each number of an arm, or of what it has above that of another."""
        found = {}
        for name in NUMBERS:
            values = [each.values[name] for each in answers[arm]]
            limits = SHARES
            if less is not None:
                others = [each.values[name] for each in answers[less]]
                values, limits = list(map(_difference, values, others)), DIFFERENCES
            limits = None if name in COUNTED else limits
            if mean := mean_over(values, places, samples=samples, limits=limits):
                count = len(values) - values.count(None)
                found[name] = Estimate(mean.mean, mean.low, mean.high, count)
        return found

    return [
        AnswerArmResult(
            name=arm.name,
            failed=sum(each.failed for each in answers[place]),
            numbers=estimates(arm=place),
            differences=estimates(arm=place, less=0) if place else {},
            answers=answers[place],
            judged=judged[place].means,
            judged_differences=judged[place].differences,
        )
        for place, arm in enumerate(arms)
    ]


def _difference(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other
