"""The assets `question_sets` and `retrieval_evaluation`."""

from collections.abc import Iterator
from itertools import product

import dagster as dg

from rag_assets import lineage, resources
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.config.training import trained_as
from rag_assets.evaluation import checks, evaluate
from rag_assets.evaluation.evaluation_wording import report_markdown, sets_table
from rag_assets.evaluation.results import EvaluationResult
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.evaluation.summary import MAIN_METRICS
from rag_assets.findings.telling import rows_of
from rag_assets.index.steps import JOINT_INDEX
from rag_assets.process.interrupts import stoppable
from rag_assets.retrieval.arms import ArmsOf

GROUP = "evaluation"
WORST_SHOWN = 10
MISSING_SHOWN = 20
FOUND_SHOWN = 3
NO_QUESTIONS = (
    "There are no questions, or all are of the split train, which is not measured with: make some "
    "(the asset generated_questions, or `rag-assets questions make`), or name a question file "
    "under evaluation.questions in the config, and this asset measures how well retrieval finds "
    "their gold evidence."
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
    names = settings.dagster
    read = {trained_as(each.path) for each in settings.retrieval.rerankers.values()}

    @dg.asset(
        key=names.path("retrieval_evaluation"),
        group_name=names.name(GROUP),
        pool=names.name(lineage.GPU_POOL),
        kinds={"parquet", "html"},
        owners=[settings.owner],
        code_version=str(evaluate.REVISION),
        partitions_def=lineage.variants(settings),
        required_resource_keys=resources.keys_of(settings),
        deps=[
            *(lineage.key_of(settings, each.name) for each in (JOINT_INDEX, QUESTION_SETS)),
            *(
                lineage.key_of(settings, "reranker_weights", name)
                for name in settings.training.rerankers.keys() & read
            ),
        ],
    )
    @stoppable()
    def retrieval_evaluation(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        """How well each retriever finds the gold evidence in the index of a variant."""
        of_run = resources.of_run(context.resources, settings)
        store = lineage.open_for_writing(of_run, steps)
        result = evaluate.evaluate_variant(
            store,
            of_run,
            variant=context.partition_key,
            arms=arms(store, of_run),
            log=context.log.info,
        )
        if result is None:
            return dg.MaterializeResult(
                metadata={"note": dg.MetadataValue.text(NO_QUESTIONS)},
                data_version=dg.DataVersion("no questions"),
            )
        return dg.MaterializeResult(
            metadata=_metadata(result), data_version=dg.DataVersion(result.data_version)
        )

    return retrieval_evaluation


def _metadata(result: EvaluationResult) -> dict[str, dg.MetadataValue]:
    """What people look for comes first; the numbers by themselves, which the UI plots, last."""
    from rag_assets.evaluation.evaluation_report import figures

    missing, flaws, unmeasured = result.missing(), result.record.flaws, result.record.unmeasured
    numbers, main = _main_numbers(result), f"hit_rate@{result.main_cutoff}"
    hit_rates = [
        {"retriever": retriever}
        | {domain: numbers.get(f"{retriever}/{domain}/{main}") for domain in result.domains()}
        for retriever in result.record.retrievers
    ]
    listings = {
        "question sets": sets_table(result),
        "flaws of the evaluation": rows_of([each.finding for each in flaws]),
        "missing gold": missing[:MISSING_SHOWN],
        "worst questions": _worst(result),
        "not measured": ({"retriever": name, "why": why} for name, why in unmeasured.items()),
    }
    shown = {name: rows for name, records in listings.items() if (rows := list(records))}
    return {
        main: lineage.records_of(hit_rates),
        "questions": dg.MetadataValue.int(result.record.questions),
        "flaws": dg.MetadataValue.int(len(flaws)),
        "gold not in the index": dg.MetadataValue.int(len(missing)),
        **{name: lineage.records_of(rows) for name, rows in shown.items()},
        "report": dg.MetadataValue.path(str(result.report)),
        "results": dg.MetadataValue.md(report_markdown(result)),
        **lineage.plots_of(figures(result)),
        **lineage.spending_of(result.spending),
        "seconds": dg.MetadataValue.float(round(result.seconds, 3)),
        **lineage.metadata_of(numbers),
    }


def _worst(result: EvaluationResult) -> Iterator[dict[str, str | int]]:
    for row in result.worst(WORST_SHOWN):
        yield {
            "question": row["question"],
            "gold": "; ".join(row["gold"]),
            "first relevant rank": row["first_rank"] or "not found",
            "found instead": "; ".join(row["found"][:FOUND_SHOWN]),
        }


def _main_numbers(result: EvaluationResult) -> dict[str, float]:
    """`hybrid/document/hit_rate@10` and so on: the UI plots each over time."""
    cutoff = result.main_cutoff
    numbers = {}
    for name in product(result.record.retrievers, result.domains(), MAIN_METRICS):
        retriever, domain, metric = name
        row = result.value(metric, retriever=retriever, domain=domain, cutoff=cutoff)
        if row is not None:
            numbers[f"{'/'.join(name)}@{cutoff}"] = round(float(row["value"] or 0.0), 4)
    return numbers
