"""The assets of the experiments: one for each, which depends on the variants that it compares.

They are not part of a refresh: no schedule and no condition runs them. A person runs them, in the
UI or with `rag-assets experiment`.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import dagster as dg

from rag_assets import lineage, resources
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.findings.telling import rows_of
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.laboratory.answer_evaluation.assets import labels_key
from rag_assets.process.interrupts import stoppable
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.evaluation.experiment_runs import Run

GROUP = "experiments"
JOB = "experiments"
ANSWERS_JOB = "answer_experiments"
CHECK = "sound"

Running: TypeAlias = Callable[[Store, Config, Callable[[str], None]], dg.MaterializeResult]
"""Runs an experiment in a state, by a config, with what receives lines of progress."""


def questions_key(config: Config) -> dg.AssetKey:
    """Key of the questions that experiments on retrieval ask."""
    return lineage.key_of(config, QUESTION_SETS.name)


def asset_key(config: Config, name: str) -> dg.AssetKey:
    """Key of the experiment called `name`, on retrieval or on answers."""
    return lineage.key_of(config, "experiments", name)


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """An asset for each experiment of the config, and the jobs that run them."""
    of_retrieval = [_of_retrieval(config, steps, name) for name in config.experiments]
    of_answers = [_of_answers(config, steps, name) for name in config.answer_experiments]
    jobs = {
        JOB: (
            [questions_key(config), *(asset_key(config, name) for name in config.experiments)]
            if of_retrieval
            else [],
            "Compares retrieval settings on the questions; only what changed is run.",
        ),
        ANSWERS_JOB: (
            [asset_key(config, name) for name in config.answer_experiments],
            "Compares answers of a language model under conditions that differ in one thing; "
            "calls that were made before are not made again.",
        ),
    }
    return dg.Definitions(
        assets=[*of_retrieval, *of_answers],
        jobs=[
            dg.define_asset_job(
                config.dagster.name(job),
                selection=keys,
                description=about,
                executor_def=lineage.in_process(config),
                tags=lineage.run_tags(config),
            )
            for job, (keys, about) in jobs.items()
            if keys
        ],
    )


def _of_retrieval(config: Config, steps: StepList, name: str) -> dg.AssetsDefinition:
    from rag_assets.laboratory.experiments.designs import variants_of
    from rag_assets.laboratory.experiments.run import REVISION, run_experiment

    def run(store: Store, config: Config, log: Callable[[str], None]) -> dg.MaterializeResult:
        done = run_experiment(store, config, name, log=log)
        return dg.MaterializeResult(
            metadata=_metadata(done),
            data_version=dg.DataVersion(done.record.made_from[:32]),
            check_results=[_examined(done)],
        )

    check = dg.AssetCheckSpec(
        CHECK,
        asset=asset_key(config, name),
        description="No flaw keeps a verdict from resting on the experiment.",
    )
    about = config.experiments[name].described.about
    return _experiment(
        config,
        steps,
        name,
        variants=variants_of(config, name),
        about=f"{about} Settings are chosen on dev, reported on test.",
        kinds={"parquet", "html"},
        revision=REVISION,
        checks=[check],
        run=run,
    )


def _of_answers(config: Config, steps: StepList, name: str) -> dg.AssetsDefinition:
    from rag_assets.laboratory.answers import run as answers
    from rag_assets.laboratory.answers.arms import TITLES
    from rag_assets.laboratory.answers.report import experiment_report

    def run(store: Store, config: Config, log: Callable[[str], None]) -> dg.MaterializeResult:
        record = answers.run_answer_experiment(store, config, name, log=log)
        return dg.MaterializeResult(
            metadata={
                "results": dg.MetadataValue.md(experiment_report(record)),
                "record": dg.MetadataValue.path(str(answers.file_of(store, name))),
                "questions": dg.MetadataValue.int(record.questions),
                "language model": dg.MetadataValue.text(record.model),
                "seconds": dg.MetadataValue.float(record.seconds),
                **lineage.metadata_of(record.spending),
            },
            data_version=dg.DataVersion(record.made_from[:32]),
        )

    experiment = config.answer_experiments[name]
    return _experiment(
        config,
        steps,
        name,
        variants=[experiment.variant or next(iter(config.variants))],
        about=f"{TITLES[experiment.design]} A language model answers the same questions under "
        "each condition.",
        kinds={"json"},
        revision=answers.REVISION,
        run=run,
    )


def _experiment(
    config: Config,
    steps: StepList,
    name: str,
    *,
    variants: Sequence[str],
    about: str,
    kinds: set[str],
    revision: int,
    checks: Sequence[dg.AssetCheckSpec] = (),
    run: Running,
) -> dg.AssetsDefinition:
    """The asset of an experiment: what it depends on is the same for all kinds."""
    compared = dg.SpecificPartitionsPartitionMapping(list(variants))

    names = config.dagster

    @dg.asset(
        key=asset_key(config, name),
        group_name=names.name(GROUP),
        pool=names.name(lineage.GPU_POOL),
        kinds=kinds,
        owners=[config.owner],
        code_version=str(revision),
        description=about,
        deps=[
            dg.AssetDep(lineage.key_of(config, JOINT_INDEX.name), partition_mapping=compared),
            dg.AssetDep(questions_key(config)),
            *[dg.AssetDep(labels_key(config))] * bool(config.evaluation.judges),
        ],
        check_specs=checks,
        required_resource_keys=resources.keys_of(config),
    )
    @stoppable()
    def experiment(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        of_run = resources.of_run(context.resources, config)
        return run(lineage.open_for_writing(of_run, steps), of_run, context.log.info)

    return experiment


def _examined(run: "Run") -> dg.AssetCheckResult:
    """What makes the numbers of an experiment say less than they seem to."""
    flaws = run.record.flaws
    errors = [flaw for flaw in flaws if flaw.blocking]
    found = [flaw.finding for flaw in flaws]
    return dg.AssetCheckResult(
        check_name=CHECK,
        passed=not errors,
        severity=dg.AssetCheckSeverity.WARN,
        description=lineage.lines_in_markdown(flaw.sentence for flaw in errors) or None,
        metadata={"flaws": lineage.records_of(rows_of(found))} if found else {},
    )


def _metadata(run: "Run") -> dict[str, dg.MetadataValue]:
    record = run.record
    return {
        "results": dg.MetadataValue.md(run.markdown),
        **lineage.plots_of(run.figures),
        "report": dg.MetadataValue.path(run.report),
        "run": dg.MetadataValue.text(record.id),
        "arms": dg.MetadataValue.int(len(record.arms)),
        "questions": dg.MetadataValue.int(sum(record.questions.values())),
        "is new": dg.MetadataValue.bool(run.is_new),
        "seconds": dg.MetadataValue.float(round(run.seconds, 3)),
        **lineage.spending_of(run.spending),
    }
