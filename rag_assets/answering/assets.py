"""The asset `answer_evaluation`: how well the questions are answered by a variant.

Beside it stands one asset for each experiment on answers. None is part of a refresh, as each
question is answered in full: a person or a schedule of one's own runs the jobs `evaluate_answers`
and `answer_experiments`.
"""

from typing import TYPE_CHECKING

import dagster as dg

from rag_assets import lineage
from rag_assets.answering.measuring import REVISION
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.process.interrupts import stoppable

if TYPE_CHECKING:
    from rag_assets.answering.measuring.evaluating import AnswerEvaluation

GROUP = "evaluation"
ASSET = "answer_evaluation"
JOB = "evaluate_answers"
EXPERIMENTS_JOB = "answer_experiments"
NO_QUESTIONS = (
    "There are no questions: name a question file under evaluation.questions in the config, and "
    "this asset measures how well they are answered."
)


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The asset `answer_evaluation`, one for each experiment on answers, and their two jobs."""
    assets = [_answer_evaluation(config, steps)]
    job = dg.define_asset_job(
        JOB,
        selection=[dg.AssetKey(ASSET)],
        description="Answers the questions by the variant of the run's partition, and measures "
        "the answers; nothing is done where neither index, questions nor settings changed.",
        executor_def=dg.in_process_executor,
        tags=lineage.run_tags(config),
    )
    if not config.answer_experiments:
        return dg.Definitions(assets=assets, jobs=[job])
    compared = dg.define_asset_job(
        EXPERIMENTS_JOB,
        selection=[experiment_key(name) for name in config.answer_experiments],
        description="Compares answers of a language model under conditions that differ in one "
        "thing; calls that were made before are not made again.",
        executor_def=dg.in_process_executor,
        tags=lineage.run_tags(config),
    )
    experiments = [_experiment(config, steps, name) for name in config.answer_experiments]
    return dg.Definitions(assets=[*assets, *experiments], jobs=[job, compared])


def _answer_evaluation(settings: Config, steps: StepList) -> dg.AssetsDefinition:
    @dg.asset(
        group_name=GROUP,
        pool=lineage.GPU_POOL,
        kinds={"json"},
        owners=[settings.owner],
        code_version=str(REVISION),
        partitions_def=lineage.variants(settings),
        deps=[JOINT_INDEX.name, QUESTION_SETS.name],
    )
    @stoppable()
    def answer_evaluation(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        """How well the questions are answered, and what the answers cite."""
        from rag_assets.answering.measuring import evaluating

        store = lineage.open_for_writing(settings, steps)
        found = evaluating.evaluate_answers(
            store, settings, variant=context.partition_key, log=context.log.info
        )
        if found is None:
            return dg.MaterializeResult(
                metadata={"note": dg.MetadataValue.text(NO_QUESTIONS)},
                data_version=dg.DataVersion("no questions"),
            )
        place = evaluating.file_of(store, found.variant)
        return dg.MaterializeResult(
            metadata={**_metadata(found), "report": dg.MetadataValue.path(str(place))},
            data_version=dg.DataVersion(found.made_from[:32]),
        )

    return answer_evaluation


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


def _metadata(found: "AnswerEvaluation") -> dict[str, dg.MetadataValue]:
    """The report, and `document/completeness` and so on: the UI plots each over time."""
    from rag_assets.answering.measuring.report import report_of

    return {
        **{
            f"{domain.domain}/{name}": dg.MetadataValue.float(round(number.mean, 4))
            for domain in found.domains
            for name, number in domain.numbers.items()
        },
        **{
            f"{domain}/{each.name}": dg.MetadataValue.float(round(each.of.mean, 4))
            for domain, means in found.judged.items()
            for each in means
            if each.of.mean is not None
        },
        "questions": dg.MetadataValue.int(len(found.answers)),
        "results": dg.MetadataValue.md(report_of(found)),
        **lineage.metadata_of(found.spending),
        "seconds": dg.MetadataValue.float(found.seconds),
    }
