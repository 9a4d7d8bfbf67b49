"""The assets `question_sets` and `retrieval_evaluation`."""

import dagster as dg

from rag_assets import lineage
from rag_assets.change.steps import StepList
from rag_assets.change.sync import Report
from rag_assets.config import Config
from rag_assets.evaluation import checks, evaluate
from rag_assets.evaluation.flaws import flaw_rows
from rag_assets.evaluation.results import EvaluationResult
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.evaluation.summary import MAIN_METRICS
from rag_assets.evaluation.wording import domains_of, main_cutoff, report_markdown
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.process.interrupts import stoppable
from rag_assets.retrieval.arms import ArmsOf

GROUP = "evaluation"
WORST_SHOWN = 10
MISSING_SHOWN = 20
FOUND_SHOWN = 3
NO_QUESTIONS = (
    "There are no questions: name a question file under evaluation.questions in the config, and "
    "this asset measures how well retrieval finds their gold evidence."
)


def definitions(config: Config, steps: StepList, *, arms: ArmsOf) -> dg.Definitions:
    """The assets `question_sets` and `retrieval_evaluation`, with their checks.

    The retrievers that are measured ask `arms`.
    """
    imported = lineage.step_assets(config, steps, room=GROUP)
    measured = _retrieval_evaluation(config, steps, arms)
    assets = dg.Definitions(assets=[*imported, measured])
    return dg.Definitions.merge(assets, checks.definitions(config))


def _retrieval_evaluation(settings: Config, steps: StepList, arms: ArmsOf) -> dg.AssetsDefinition:
    @dg.asset(
        group_name=GROUP,
        pool=lineage.GPU_POOL,
        kinds={"parquet", "html"},
        owners=[settings.owner],
        code_version=str(evaluate.REVISION),
        partitions_def=lineage.variants(settings),
        deps=[JOINT_INDEX.name, QUESTION_SETS.name],
    )
    @stoppable()
    def retrieval_evaluation(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        """How well each retriever finds the gold evidence in the index of a variant."""
        store = lineage.open_for_writing(settings, steps)
        result = evaluate.evaluate_variant(
            store,
            settings,
            variant=context.partition_key,
            arms=arms(store, settings),
            log=lineage.logger_of(context),
        )
        if result is None:
            return dg.MaterializeResult(
                metadata={"note": dg.MetadataValue.text(NO_QUESTIONS)},
                data_version=dg.DataVersion("no questions"),
            )
        return _materialized(context, result)

    return retrieval_evaluation


def _materialized(
    context: dg.AssetExecutionContext, result: EvaluationResult
) -> dg.MaterializeResult[None]:
    count = result.record.questions
    report = Report(
        target=f"retrieval_evaluation of {result.record.variant}",
        data_version=result.data_version,
        added=count if result.is_new else 0,
        unchanged=0 if result.is_new else count,
        rows=result.scores.questions.num_rows,
        seconds=result.seconds,
    )
    return lineage.materialized(
        context, report, schema=result.scores.questions.schema, extra=_metadata(result)
    )


def _metadata(result: EvaluationResult) -> dict[str, dg.MetadataValue]:
    from rag_assets.evaluation.report import figures

    metadata: dict[str, dg.MetadataValue] = {
        "results": dg.MetadataValue.md(report_markdown(result)),
        **{
            f"plot {number}": lineage.svg_of(figure)
            for number, figure in enumerate(figures(result), start=1)
        },
        "report": dg.MetadataValue.path(str(result.report)),
        **_main_numbers(result),
    }
    worst = result.worst(WORST_SHOWN)
    if worst:
        metadata["worst questions"] = lineage.records_of(
            {
                "question": row["question"],
                "gold": "; ".join(row["gold"]),
                "first relevant rank": row["first_rank"] or "not found",
                "found instead": "; ".join(row["found"][:FOUND_SHOWN]),
            }
            for row in worst
        )
    if result.record.unmeasured:
        metadata["not measured"] = lineage.records_of(
            {"retriever": name, "why": why} for name, why in result.record.unmeasured.items()
        )
    for model, spending in result.spending.items():
        metadata[f"language model {model}"] = lineage.records_of([spending])
    missing = result.missing()
    flaws = result.record.flaws
    metadata["flaws"] = dg.MetadataValue.int(len(flaws))
    if flaws:
        metadata["flaws of the evaluation"] = lineage.records_of(flaw_rows(flaws))
    metadata["gold not in the index"] = dg.MetadataValue.int(len(missing))
    if missing:
        metadata["missing gold"] = lineage.records_of(missing[:MISSING_SHOWN])
    return metadata


def _main_numbers(result: EvaluationResult) -> dict[str, dg.MetadataValue]:
    """`hybrid/document/hit_rate@10` and so on: the UI plots each over time."""
    cutoff = main_cutoff(result)
    numbers = {}
    for retriever in result.record.retrievers:
        for domain in domains_of(result):
            for metric in MAIN_METRICS:
                row = result.value(metric, retriever=retriever, domain=domain, cutoff=cutoff)
                if row is not None:
                    value = dg.MetadataValue.float(round(float(row["value"] or 0.0), 4))
                    numbers[f"{retriever}/{domain}/{metric}@{cutoff}"] = value
    return numbers
