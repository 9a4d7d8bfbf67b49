"""The assets of the experiments: one for each, which depends on the variants that it compares.

They are not part of a refresh: no schedule and no condition runs them. A person runs them, in the
UI or with `rag-assets experiment`.
"""

from typing import TYPE_CHECKING

import dagster as dg

from rag_assets import lineage
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.evaluation.flaws import flaw_rows
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.process.interrupts import stoppable

if TYPE_CHECKING:
    from rag_assets.evaluation.experiment_runs import Run

GROUP = "experiments"
QUESTIONS = dg.AssetKey(QUESTION_SETS.name)
JOB = "experiments"
CHECK = "sound"


def asset_key(name: str) -> dg.AssetKey:
    """Key of the experiment called `name`."""
    return dg.AssetKey(["experiments", name])


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """An asset for each experiment of the config, and the job that runs them."""
    assets = [_experiment(config, steps, name) for name in config.experiments]
    if not assets:
        return dg.Definitions()
    job = dg.define_asset_job(
        JOB,
        selection=[QUESTIONS, *(asset_key(name) for name in config.experiments)],
        description="Compares retrieval settings on the questions; only what changed is run.",
        executor_def=dg.in_process_executor,
        tags=lineage.run_tags(config),
    )
    return dg.Definitions(assets=assets, jobs=[job])


def _experiment(config: Config, steps: StepList, name: str) -> dg.AssetsDefinition:
    from rag_assets.laboratory.experiments.designs import variants_of
    from rag_assets.laboratory.experiments.run import REVISION, run_experiment

    compared = dg.SpecificPartitionsPartitionMapping(variants_of(config, name))
    settings = config.experiments[name]

    @dg.asset(
        key=asset_key(name),
        group_name=GROUP,
        pool=lineage.GPU_POOL,
        kinds={"parquet", "html"},
        owners=[config.owner],
        code_version=str(REVISION),
        description=f"{settings.described.about} Settings are chosen on dev, reported on test.",
        deps=[
            dg.AssetDep(JOINT_INDEX.name, partition_mapping=compared),
            dg.AssetDep(QUESTIONS),
        ],
        check_specs=[
            dg.AssetCheckSpec(
                CHECK,
                asset=asset_key(name),
                description="No flaw keeps a verdict from resting on the experiment.",
            )
        ],
    )
    @stoppable()
    def experiment(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        store, log = lineage.open_for_writing(config, steps), context.log.info
        run = run_experiment(store, config, name, log=log)
        return dg.MaterializeResult(
            metadata=_metadata(run),
            data_version=dg.DataVersion(run.record.made_from[:32]),
            check_results=[_examined(run)],
        )

    return experiment


def _examined(run: "Run") -> dg.AssetCheckResult:
    """What makes the numbers of an experiment say less than they seem to."""
    flaws = run.record.flaws
    errors = [flaw for flaw in flaws if flaw.blocking]
    return dg.AssetCheckResult(
        check_name=CHECK,
        passed=not errors,
        severity=dg.AssetCheckSeverity.WARN,
        description=lineage.lines_in_markdown(flaw.sentence for flaw in errors) or None,
        metadata={"flaws": lineage.records_of(flaw_rows(flaws))} if flaws else {},
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
