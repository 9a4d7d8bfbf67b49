"""Runs an experiment: its arms, the choice on dev, and the comparison on test.

The choice depends on scores of dev questions only (`choose`), and the chosen arms are compared on
test. Without dev questions nothing is chosen and all arms are compared.
"""

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.arrow_sql import where
from rag_assets.config import Config
from rag_assets.evaluation.doctor import examine
from rag_assets.evaluation.evidence import Evidence, contents_of
from rag_assets.evaluation.experiment_runs import TOP_N, RecordedArm, Run, RunRecord, lock_of
from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.non_inferiority import SMALLEST_MARGIN
from rag_assets.evaluation.question_words import question_words
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.smoke_tests import smoke_tests
from rag_assets.evaluation.summary import ALL_QUESTIONS, USUAL_SPLITS, overall, splits_of, summarize
from rag_assets.identity import fingerprint
from rag_assets.laboratory.experiments import runs
from rag_assets.laboratory.experiments.arms import DEPTH, LEVELS, ArmResult, ArmRunner
from rag_assets.laboratory.experiments.design import (
    Design,
    ExperimentError,
    Slice,
    length_slices,
    set_slices,
)
from rag_assets.laboratory.experiments.designs import design_of, questions_of, variants_of
from rag_assets.laboratory.experiments.question_origin import order_tables, set_orders
from rag_assets.laboratory.experiments.results import ExperimentResult, SliceResult
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of

REVISION = 6
"""Raise it when the same scores should give another report."""
PACKAGES = ("rag-assets", "lancedb", "sentence-transformers", "torch", "openvino", "numpy")


def run_experiment(
    store: Store,
    config: Config,
    name: str,
    *,
    log: Callable[[str], None],
) -> Run:
    """Run the experiment called `name`, or find its stored run; only changed arms are run.

    Raises:
        ConfigError: There is no such experiment.
        ExperimentError: There are no questions, or two arms have one name.
        MissingIndexError: A variant has no complete index.
    """
    started = time.monotonic()
    with store.lock(lock_of(name), log=log):
        questions = questions_of(store, config, name)
        design = design_of(store, config, name, questions=questions)
        runner = runner_of(store, config, design, questions=questions, log=log)
        made_from = _made_from(config, name, design=design, runner=runner)
        found = runs.load(store, name, made_from=made_from)
        if found is not None:
            return found
        result = _compared(
            config,
            name,
            design=design,
            arms=run_arms(runner, design),
            runner=runner,
            made_from=made_from,
        )
        run = runs.save(store, result, seconds=time.monotonic() - started)
        return replace(run, spending=runner.spending)


def runner_of(
    store: Store,
    config: Config,
    design: Design,
    *,
    questions: Sequence[Question],
    log: Callable[[str], None],
) -> ArmRunner:
    """The runner for the arms of `design`, on those of `questions` that it uses.

    Raises:
        ExperimentError: It uses none of them.
    """
    used = [
        one
        for one in questions
        if (design.questions is None or one.question_id in design.questions)
        and design.domain in (None, one.domain)
    ]
    if not used:
        raise ExperimentError(f"{design.title}: none of the questions can be used")
    return ArmRunner(store, config, used, log=log)


def run_arms(runner: ArmRunner, design: Design) -> list[ArmResult]:
    """The result of each arm, in the order of `design`.

    Deep arms run first: see `ExperimentArm.depth`.
    """
    found = {arm.name: runner.run(arm) for arm in sorted(design.arms, key=lambda arm: -arm.depth)}
    return [found[arm.name] for arm in design.arms]


def _made_from(config: Config, name: str, *, design: Design, runner: ArmRunner) -> str:
    return fingerprint(
        REVISION,
        name,
        config.experiments[name].model_dump(mode="json"),
        [runner.key_of(arm) for arm in design.arms],
        *([list(design.made_from)] if design.made_from else []),
        config.evaluation.bootstrap_samples,
        SMALLEST_MARGIN,
        *sorted(config.generated_sets),
        *_smoke_tests(design, runner),
    )


def _smoke_tests(design: Design, runner: ArmRunner) -> list[str]:
    """Question sets that decide nothing; none where it is the sets that are compared."""
    if design.compares_sets:
        return []
    return smoke_tests(runner.store, runner.config, runner.questions)


def choose(summary: pa.Table, design: Design, *, criterion: str) -> Mapping[str, str]:
    """The best arm of each group on dev, by the mean of `criterion` at 10.

    Of equal arms the first one is chosen. Without dev questions the result is empty.
    """
    rows = where(
        summary,
        split="dev",
        domain=ALL_QUESTIONS,
        level=design.level,
        metric=criterion,
        cutoff=TOP_N,
    )
    values = dict(zip(rows["retriever"].to_pylist(), rows["value"].to_pylist(), strict=True))
    if not values or not design.chooses:
        return {}
    return {
        group: max(
            (arm.name for arm in design.arms if arm.group == group), key=lambda name: values[name]
        )
        for group in design.groups
    }


def _compared(
    config: Config,
    name: str,
    *,
    design: Design,
    arms: Sequence[ArmResult],
    runner: ArmRunner,
    made_from: str,
) -> ExperimentResult:
    samples = config.evaluation.bootstrap_samples
    scores = pa.concat_tables(arm.scores for arm in arms)
    splits = splits_of(scores)
    split = "test" if "test" in splits else splits[0]
    criterion = config.experiments[name].criterion
    levels = [level for level in LEVELS if level in ("gold", design.level)]
    summarized = partial(
        summarize, cutoffs=design.cutoffs, depth=DEPTH, samples=samples, levels=levels
    )
    dev, _ = summarized(scores, splits=["dev"])
    chosen = choose(dev, design, criterion=criterion)
    reference = design.reference or next(iter(chosen.values()), arms[0].arm.name)
    names = [arm.arm.name for arm in arms]
    summary, every = summarized(_ordered(scores, [reference, *names]), splits=[split])
    finalists = list(dict.fromkeys([reference, *(chosen.values() or names)]))
    if len(finalists) == 1:
        finalists = list(dict.fromkeys([reference, *names]))
    final_scores = _ordered(scores, finalists)
    _, differences = summarized(final_scores, splits=[split])
    orders = (
        set_orders(
            where(scores, level=design.level),
            generated=config.generated_sets,
            samples=samples,
            margin=SMALLEST_MARGIN,
        )
        if design.compares_sets
        else []
    )
    record = RunRecord(
        id=made_from[:12],
        made_from=made_from,
        name=name,
        title=config.experiments[name].title or design.title,
        source=design.source,
        evaluated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        split=split,
        level=design.level,
        criterion=criterion,
        questions={
            part: sum(one.split == part for one in runner.questions)
            for part in dict.fromkeys([*USUAL_SPLITS, split])
        },
        reference=reference,
        chosen=chosen,
        finalists=finalists,
        margin=SMALLEST_MARGIN,
        notes=list(design.notes),
        settings=_settings(config, name),
        versions=versions(),
        variants={
            variant: _variant(runner, config, variant)
            for variant in dict.fromkeys(arm.arm.variant for arm in arms)
        },
        arms={
            one.arm.name: RecordedArm(
                variant=one.arm.variant,
                factors=one.arm.factors,
                retriever=one.arm.retriever.model_dump(mode="json", exclude_defaults=True),
                run=one.record,
            )
            for one in arms
        },
        orders=orders,
        smoke_tests=_smoke_tests(design, runner),
    )
    return ExperimentResult(
        design=design,
        record=replace(
            record,
            flaws=_examined(
                record,
                config=config,
                design=design,
                runner=runner,
                scores=scores,
                differences=differences,
            ),
        ),
        scores=scores,
        summary=summary if split == "dev" else pa.concat_tables([dev, summary]),
        differences=differences,
        all_differences=every,
        overall=overall(
            final_scores,
            cutoff=TOP_N,
            samples=samples,
            level=design.level,
            split=split,
        ),
        extras={one.arm.name: one.extras for one in arms},
        slices=[
            _sliced(one, final_scores, design=design, split=split, samples=samples)
            for one in _slices(design, runner.questions, final_scores)
            if one.chosen
        ],
        appendices=[*design.appendices(), *order_tables(orders)],
    )


def _examined(
    record: RunRecord,
    *,
    config: Config,
    design: Design,
    runner: ArmRunner,
    scores: pa.Table,
    differences: pa.Table,
) -> list[Flaw]:
    """The flaws of an experiment; words are held against the variant of the reference."""
    variant = record.arms[record.reference].variant
    contents = {
        name: contents_of(runner.store, runner.index_of(name).complete_set.joint)
        for name in record.variants
    }
    return examine(
        Evidence(
            scores=where(scores, level=record.level),
            compared=record.finalists,
            split=record.split,
            cutoff=TOP_N,
            margin=record.margin,
            differences=where(differences, level=record.level),
            words=question_words(
                runner.index_of(variant),
                runner.questions,
                indexed=runner.indexed_gold_of(variant),
            ),
            generated=config.generated_sets,
            contents=contents,
            chosen_on=_chosen_on(record, design=design),
            samples=config.evaluation.bootstrap_samples,
        )
    )


def _chosen_on(record: RunRecord, *, design: Design) -> str | None:
    """The split whose scores chose an arm, or will choose it as no other split is left for that."""
    if record.chosen:
        return "dev"
    return record.split if design.chooses and len(record.arms) > 2 else None


def _slices(design: Design, questions: Sequence[Question], scores: pa.Table) -> list[Slice]:
    found = length_slices(questions) if design.by_length else []
    found += set_slices(questions) if design.by_set else []
    if design.scarce_below:
        rows = where(scores, retriever=design.scarce_below, level=design.level)
        missed = where(rows, **{f"hit_rate@{TOP_N}": 0.0})
        scarce = frozenset(missed["question_id"].to_pylist())
        others = frozenset(rows["question_id"].to_pylist()) - scarce
        found += [
            Slice(name=f"{design.scarce_below} finds nothing (recall is scarce)", chosen=scarce),
            Slice(name=f"{design.scarce_below} finds gold", chosen=others),
        ]
    return found


def _sliced(
    one: Slice, scores: pa.Table, *, design: Design, split: str, samples: int
) -> SliceResult:
    mask = pc.is_in(scores["question_id"], pa.array(sorted(one.chosen), pa.string()))
    summary, differences = summarize(
        scores.filter(mask),
        cutoffs=design.cutoffs,
        depth=DEPTH,
        samples=samples,
        levels=[design.level],
        splits=[split],
    )
    return SliceResult(one.name, summary, differences)


def _ordered(scores: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows of `names`, in this order: differences are to the first one."""
    return pa.concat_tables(where(scores, retriever=name) for name in dict.fromkeys(names))


def _variant(runner: ArmRunner, config: Config, variant: str) -> Mapping[str, str | int]:
    index = runner.index_of(variant)
    joint = index.complete_set.joint
    found = runner.store.read(joint.table, columns=["encoder_id"], version=joint.version)
    encoders = found["encoder_id"]
    return {
        **config.variant(variant).model_dump(mode="json"),
        "encoder": ", ".join(encoders.unique().to_pylist()),
        "table": folder_of(joint.table),
        "version": joint.version,
        "data_version": joint.data_version,
        "units": len(encoders),
    }


def _settings(config: Config, name: str) -> Mapping[str, object]:
    """All settings that a replay needs, none of them a secret."""
    used = variants_of(config, name)
    return {
        "experiment": config.experiments[name].model_dump(mode="json"),
        "retrieval": config.retrieval.model_dump(mode="json"),
        "variants": {one: config.variants[one].model_dump(mode="json") for one in used},
        "models": {
            model: config.models[model].model_dump(mode="json")
            for one in used
            for model in config.variants[one].models
        },
        "index": config.index.model_dump(mode="json"),
        "evaluation": {"bootstrap_samples": config.evaluation.bootstrap_samples},
    }


def versions() -> Mapping[str, str]:
    """The versions of Python and of installed packages, and the machine."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
