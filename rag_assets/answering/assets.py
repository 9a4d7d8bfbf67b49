"""The asset `answer_evaluation`: how well the questions are answered by a variant.

It also fits the rule that says when an answer is withheld (see `refusal`).
It is no part of a refresh, as each question is answered in full: a person or a schedule of one's
own runs the job `evaluate_answers`.
"""

import dagster as dg

from rag_assets import lineage
from rag_assets.answering import evaluating
from rag_assets.answering.evaluating import AnswerEvaluation
from rag_assets.answering.refusal.report import report_markdown
from rag_assets.answering.report import report_of
from rag_assets.config import Config
from rag_assets.process.interrupts import stoppable

GROUP = "evaluation"
ASSET = "answer_evaluation"
JOB = "evaluate_answers"
NO_QUESTIONS = (
    "There are no questions: name a question file under evaluation.questions in the config, and "
    "this asset measures how well they are answered."
)


def definitions(config: Config) -> dg.Definitions:
    """The asset `answer_evaluation`."""
    return dg.Definitions(assets=[_answer_evaluation(config)])


def jobs(config: Config) -> dg.Definitions:
    """The job that answers the questions by a variant."""
    job = dg.define_asset_job(
        JOB,
        selection=[dg.AssetKey(ASSET)],
        description="Answers the questions by the variant of the run's partition, and measures "
        "the answers; nothing is done where neither index, questions nor settings changed.",
        executor_def=dg.in_process_executor,
        tags=lineage.run_tags(config),
    )
    return dg.Definitions(jobs=[job])


def _answer_evaluation(settings: Config) -> dg.AssetsDefinition:
    @dg.asset(
        group_name=GROUP,
        pool=lineage.GPU_POOL,
        kinds={"json"},
        owners=[settings.owner],
        code_version=str(evaluating.REVISION),
        partitions_def=lineage.variants(settings),
        deps=["joint_index", "question_sets"],
    )
    @stoppable()
    def answer_evaluation(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        """How well the questions are answered, and what the answers cite."""
        store = lineage.store_of(settings)
        found = evaluating.evaluate_answers(
            store, settings, variant=context.partition_key, log=lineage.logger_of(context)
        )
        if found is None:
            return dg.MaterializeResult(
                metadata={"note": dg.MetadataValue.text(NO_QUESTIONS)},
                data_version=dg.DataVersion("no questions"),
            )
        rule = evaluating.fitted_rule(
            store, settings, variant=found.variant, log=lineage.logger_of(context)
        )
        refusal = report_markdown(rule, unanswerable=settings.answering.unanswerable)
        place = evaluating.file_of(store, found.variant)
        return dg.MaterializeResult(
            metadata={
                "report": dg.MetadataValue.path(str(place)),
                "refusal": dg.MetadataValue.md(refusal),
                **_metadata(found),
            },
            data_version=dg.DataVersion(found.made_from[:32]),
        )

    return answer_evaluation


def _metadata(found: AnswerEvaluation) -> dict[str, dg.MetadataValue]:
    """The report, and `document/completeness` and so on: the UI plots each over time."""
    return {
        "results": dg.MetadataValue.md(report_of(found)),
        "questions": dg.MetadataValue.int(len(found.answers)),
        **{name: _value(value) for name, value in found.spending.items()},
        "seconds": dg.MetadataValue.float(found.seconds),
        **{
            f"{domain.domain}/{name}": dg.MetadataValue.float(round(number.mean, 4))
            for domain in found.domains
            for name, number in domain.numbers.items()
        },
    }


def _value(value: float | str) -> dg.MetadataValue:
    match value:
        case int():
            return dg.MetadataValue.int(value)
        case float():
            return dg.MetadataValue.float(value)
        case str():
            return dg.MetadataValue.text(value)
