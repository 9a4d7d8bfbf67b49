"""The assets of the experiments on answers: one for each, and the job that runs them.

They are not part of a refresh: a person runs them, in the UI or with `rag-assets experiment`.
"""

import dagster as dg

from rag_assets import lineage
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.process.interrupts import stoppable

JOB = "answer_experiments"


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """An asset for each experiment on answers of the config, and the job that runs them."""
    if not config.answer_experiments:
        return dg.Definitions()
    job = dg.define_asset_job(
        JOB,
        selection=[experiment_key(name) for name in config.answer_experiments],
        description="Compares answers of a language model under conditions that differ in one "
        "thing; calls that were made before are not made again.",
        executor_def=dg.in_process_executor,
        tags=lineage.run_tags(config),
    )
    experiments = [_experiment(config, steps, name) for name in config.answer_experiments]
    return dg.Definitions(assets=experiments, jobs=[job])


def experiment_key(name: str) -> dg.AssetKey:
    """Key of the experiment on answers called `name`."""
    return dg.AssetKey(["experiments", name])


def _experiment(settings: Config, steps: StepList, name: str) -> dg.AssetsDefinition:
    from rag_assets.laboratory.answers import run
    from rag_assets.laboratory.answers.arms import TITLES
    from rag_assets.laboratory.answers.report import experiment_report

    variant = settings.answer_experiments[name].variant or next(iter(settings.variants))

    @dg.asset(
        key=experiment_key(name),
        group_name="experiments",
        pool=lineage.GPU_POOL,
        kinds={"json"},
        owners=[settings.owner],
        code_version=str(run.REVISION),
        description=f"{TITLES[settings.answer_experiments[name].design]} A language model answers "
        "the same questions under each condition.",
        deps=[
            dg.AssetDep(
                JOINT_INDEX.name,
                partition_mapping=dg.SpecificPartitionsPartitionMapping([variant]),
            ),
            dg.AssetDep(QUESTION_SETS.name),
        ],
    )
    @stoppable()
    def experiment(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        store = lineage.open_for_writing(settings, steps)
        record = run.run_answer_experiment(store, settings, name, log=context.log.info)
        return dg.MaterializeResult(
            metadata={
                "results": dg.MetadataValue.md(experiment_report(record)),
                "record": dg.MetadataValue.path(str(run.file_of(store, name))),
                "questions": dg.MetadataValue.int(record.questions),
                "language model": dg.MetadataValue.text(record.model),
                "seconds": dg.MetadataValue.float(record.seconds),
                **lineage.metadata_of(record.spending),
            },
            data_version=dg.DataVersion(record.made_from[:32]),
        )

    return experiment
