"""The job `plan`: what a refresh would do, as metadata of each asset.

Each asset gets an observation, which stands in its timeline beside what was done to it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from rag_assets import lineage
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.store import Store, serving_pointer

if TYPE_CHECKING:
    from rag_assets.operations.plan.amounts import Amount
    from rag_assets.operations.plan.costs import Cost
    from rag_assets.operations.plan.planning import AssetPlan

JOB = "plan"


class PlanConfig(dg.Config):
    """Which variant to plan."""

    variant: str = ""
    """The one that serves unless given."""


def plan_job(project: Config) -> dg.JobDefinition:
    """The job that plans a refresh of a variant and carries nothing out."""

    @lineage.one_op_job(
        project,
        JOB,
        description="Tells for each asset what a refresh would add, change, remove and embed, why, "
        "and what that takes. The same as `rag-assets plan`.",
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
                    dg.AssetKey(each.asset.split("/")),
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
