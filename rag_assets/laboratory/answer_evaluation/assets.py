"""The asset `answer_evaluation`: how well the questions are answered by a variant.

It is not part of a refresh, as each question is answered in full: a person or a schedule of one's
own runs the job `evaluate_answers`.
"""

from typing import TYPE_CHECKING

import dagster as dg

from rag_assets import lineage, resources
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.laboratory.answer_evaluation import REVISION
from rag_assets.process.interrupts import stoppable

if TYPE_CHECKING:
    from rag_assets.laboratory.answer_evaluation.evaluating import AnswerEvaluation

GROUP = "evaluation"
ASSET = "answer_evaluation"
JOB = "evaluate_answers"
NO_QUESTIONS = (
    "There are no questions: name a question file under evaluation.questions in the config, and "
    "this asset measures how well they are answered."
)


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The asset `answer_evaluation` and its job."""
    job = dg.define_asset_job(
        config.dagster.name(JOB),
        selection=[lineage.key_of(config, ASSET)],
        description="Answers the questions by the variant of the run's partition, and measures "
        "the answers; nothing is done where neither index, questions nor settings changed.",
        executor_def=lineage.in_process(config),
        tags=lineage.run_tags(config),
    )
    labels = dg.AssetSpec(
        labels_key(config),
        group_name=config.dagster.name("questions"),
        description="What people said of answers and hits: `rag-assets judge label`.",
        kinds={"json"},
        owners=[config.owner],
    )
    read = [labels] if config.evaluation.judges else []
    return dg.Definitions(assets=[_answer_evaluation(config, steps), *read], jobs=[job])


def labels_key(config: Config) -> dg.AssetKey:
    """Key of the labels of people, by which judges are known: what asks judges reads them."""
    return lineage.key_of(config, "labels")


def _answer_evaluation(settings: Config, steps: StepList) -> dg.AssetsDefinition:
    names = settings.dagster

    @dg.asset(
        key=names.path(ASSET),
        group_name=names.name(GROUP),
        pool=names.name(lineage.GPU_POOL),
        kinds={"json"},
        owners=[settings.owner],
        code_version=str(REVISION),
        partitions_def=lineage.variants(settings),
        required_resource_keys=resources.keys_of(settings),
        deps=[
            *(lineage.key_of(settings, each.name) for each in (JOINT_INDEX, QUESTION_SETS)),
            *[labels_key(settings)] * bool(settings.evaluation.judges),
        ],
    )
    @stoppable()
    def answer_evaluation(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        """How well the questions are answered, and what the answers cite."""
        from rag_assets.laboratory.answer_evaluation import evaluating

        of_run = resources.of_run(context.resources, settings)
        store = lineage.open_for_writing(of_run, steps)
        found = evaluating.evaluate_answers(
            store,
            of_run,
            variant=context.partition_key,
            log=context.log.info,
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


def _metadata(found: "AnswerEvaluation") -> dict[str, dg.MetadataValue]:
    """The report, and `document/completeness` and so on: the UI plots each over time."""
    from rag_assets.laboratory.answer_evaluation.report import report_of

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
