"""The jobs that people start in the UI to look at a state: `plan`, `doctor` and `explain`.

A plan gives each asset an observation, which stands in its timeline beside what was done to it. An
examination and the way of one unit are shown as metadata of their runs.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from rag_assets import lineage
from rag_assets.config import Config
from rag_assets.findings.finding import Finding
from rag_assets.findings.telling import headline, rows_of
from rag_assets.graph import STEPS
from rag_assets.identity import UnknownIdError
from rag_assets.store import Store, serving_pointer

if TYPE_CHECKING:
    from rag_assets.operations.plan.amounts import Amount
    from rag_assets.operations.plan.costs import Cost
    from rag_assets.operations.plan.planning import AssetPlan

PLAN_JOB = "plan"
DOCTOR_JOB = "doctor"
EXPLAIN_JOB = "explain"
CHARACTERS = 1_000
"""The most characters of a cell: examples, remedies and what a step was made from are shown whole.
"""


class PlanConfig(dg.Config):
    """Which variant to plan."""

    variant: str = ""
    """The one that serves unless given."""


def plan_job(project: Config) -> dg.JobDefinition:
    """The job that plans a refresh of a variant and carries nothing out."""

    @lineage.one_op_job(
        project,
        PLAN_JOB,
        description="Tells for each asset what a refresh would add, change, remove and embed, why, "
        "and what that takes. The same as `rag-assets refresh --dry-run`.",
        op="Looks at sources and tables; nothing of them is written.",
    )
    def plan_refresh(context: dg.OpExecutionContext, config: PlanConfig) -> None:
        from rag_assets.operations.plan.costs import costs_of
        from rag_assets.operations.plan.planning import plan_of
        from rag_assets.operations.plan.reasons import reasons_of

        store = Store.of(project)
        variant = config.variant or serving_pointer.serving_variant(store, project)
        plan = plan_of(store, project, variant=variant)
        costs, reasons = costs_of(store, project, plan), reasons_of(store, project, plan)
        of_variant = STEPS.of_variant(project, variant)
        for each in plan.assets:
            context.log_event(
                dg.AssetObservation(
                    lineage.key_of(project, *each.asset.split("/")),
                    partition=variant if each.asset in of_variant else None,
                    description=f"Planned for variant {variant}; nothing was written.",
                    metadata=_metadata(
                        each, why=reasons.get(each.asset, ()), cost=costs[each.asset]
                    ),
                )
            )
        for failure in plan.failures:
            context.log.warning(failure)
        context.add_output_metadata(
            {
                "variant": dg.MetadataValue.text(variant),
                "nothing to do": dg.MetadataValue.bool(plan.is_nothing),
                "cannot be read": dg.MetadataValue.int(len(plan.failures)),
            }
        )

    return plan_refresh


def _metadata(
    asset: "AssetPlan", *, why: Sequence[str], cost: "Cost"
) -> dict[str, dg.MetadataValue]:
    from rag_assets.operations.plan.amounts import NOT_KNOWN

    changes, embedding = asset.changes, asset.embedding
    numbers: dict[str, Amount | None] = {
        f"{asset.counted} to add": changes.added,
        f"{asset.counted} to change": changes.changed,
        f"{asset.counted} to remove": changes.removed,
        "seconds": cost.seconds,
    }
    if embedding is not None:
        numbers |= {"texts to embed": embedding.texts, "tokens to embed": embedding.tokens}
    if asset.calls is not None:
        numbers["calls of the language model"] = asset.calls
    if cost.money is not None:
        numbers[f"money ({cost.currency})"] = cost.money
    shown: dict[str, dg.MetadataValue] = {
        name: dg.MetadataValue.text(NOT_KNOWN if amount is None else str(amount))
        for name, amount in numbers.items()
    }
    if why:
        shown["why"] = dg.MetadataValue.md(lineage.lines_in_markdown(why))
    return shown


def doctor_job(config: Config) -> dg.JobDefinition:
    """The job that reads all tables of all variants, and fails if an error is found."""

    @lineage.one_op_job(
        config,
        DOCTOR_JOB,
        description="Reads all tables and tells what does not agree; `rag-assets doctor --repair` "
        "mends it.",
        op="Reads every table once; nothing is written.",
    )
    def examine_state(context: dg.OpExecutionContext) -> None:
        from rag_assets.operations.doctor.examined_tables import Practice
        from rag_assets.operations.doctor.examining import examine

        practice = Practice(Store.of(config), config, list(config.variants), context.log.info)
        done = examine(practice)
        metadata: dict[str, dg.MetadataValue] = {
            "tables": dg.MetadataValue.int(done.tables),
            "rows": dg.MetadataValue.int(done.rows),
        }
        if done.faults:
            metadata["findings"] = lineage.records_of(_rows(done.faults), characters=CHARACTERS)
        errors = [fault for fault in done.found if fault.severity == "error"]
        if errors:
            lines = map(headline, errors)
            raise dg.Failure("\n".join(lines), metadata=metadata, allow_retries=False)
        context.add_output_metadata(metadata)

    return examine_state


def _rows(faults: Sequence[Finding]) -> Iterator[dict[str, str]]:
    for row, fault in zip(rows_of(faults), faults, strict=True):
        yield {**row, "what is wrong": " ".join(filter(None, (fault.says, fault.reason)))}


class ExplainConfig(dg.Config):
    """Which unit to explain."""

    unit_id: str
    """The id of a search hit, or its beginning."""
    variant: str = ""
    """The one that serves unless given."""


def explain_job(project: Config) -> dg.JobDefinition:
    """The job that explains a unit."""

    @lineage.one_op_job(
        project,
        EXPLAIN_JOB,
        description="Shows where a search hit comes from, step by step: give its unit_id.",
        opens_with={"unit_id": "the unit_id of a search hit, or how it begins"},
        op="Reads where a unit comes from: source, parser, chunking, model, runs.",
    )
    def explain_unit(context: dg.OpExecutionContext, config: ExplainConfig) -> None:
        from rag_assets.operations.explain.explaining import explain, rows_of

        try:
            found = explain(
                Store.of(project),
                project,
                unit_id=config.unit_id,
                variant=config.variant or None,
            )
        except UnknownIdError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        context.add_output_metadata(
            {
                "unit": dg.MetadataValue.text(found.unit_id),
                "place": dg.MetadataValue.text(found.place),
                "text": dg.MetadataValue.md(found.text),
                "lineage": lineage.records_of(rows_of(found), characters=CHARACTERS),
                "record": dg.MetadataValue.json(found.record()),
            }
        )

    return explain_unit
