"""A refresh of one variant in this process, and what it did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets import schemas
from rag_assets.config import Config
from rag_assets.operations.problems.lost_runs import COMMAND_LOCK
from rag_assets.operations.problems.runs import CONCLUSION, NIGHTLY_JOB
from rag_assets.serving import job_runs
from rag_assets.serving.replies import Json
from rag_assets.store import Store

if TYPE_CHECKING:
    import dagster as dg

    from rag_assets.dagster_internals import ExecutionResult

LOCK = COMMAND_LOCK
BACKFILL_JOB = "backfill_variant"
"""The same as `automation.BACKFILL_JOB`; importing that module would import Dagster."""
COUNTS = ("added", "changed", "removed", "unchanged", "failed")
SHOWN = (*COUNTS, "embedded", "seconds")
"""Numbers of an asset's metadata that the answer shows."""


@dataclass(frozen=True, slots=True)
class RefreshOutcome:
    """The outcome of one refresh."""

    variant: str
    assets: Mapping[str, Mapping[str, float]]
    """Counts and seconds of each asset that was refreshed, by its key."""
    tables: Sequence[str]
    """The tables that the run brought up to date."""
    errors: Mapping[str, str]
    """Why a step failed, by the name of the step."""
    warnings: Sequence[str]
    """Expectations that do not hold, of both severities."""
    conclusion: str = ""
    """What the gate said at the end, and the next command; empty where it was not asked."""


def refresh(
    config: Config,
    *,
    variant: str,
    allow_shrink: bool,
    retry_failed: bool,
    accept_drift: bool = False,
    job_name: str = NIGHTLY_JOB,
    assets: Sequence["dg.AssetKey"] | None = None,
) -> RefreshOutcome:
    """Run the nightly job, or another one, for `variant` in this process.

    The run is recorded where the UI shows it. Of its assets it makes `assets`; all unless given.
    """
    result = job_runs.execute(
        config,
        job_name,
        variant=variant,
        assets=assets,
        step_options=(
            {"allow_shrink": allow_shrink, "retry_failed": retry_failed},
            {"accept_drift": accept_drift},
        ),
    )
    return _outcome(result, variant=variant, state_dir=config.state_dir)


def backfill_job(store: Store) -> str:
    """The job that builds a variant: from what was read of the sources, or reading them first."""
    was_read = store.exists(schemas.DOCUMENT_FILES_TABLE) or store.exists(schemas.TABLE_ROWS_TABLE)
    return BACKFILL_JOB if was_read else NIGHTLY_JOB


def quarantine_of(store: Store, outcome: RefreshOutcome) -> list[dict[str, Json]]:
    """The quarantine entries of the tables of this run; not read if nothing failed."""
    from rag_assets.change import sync

    if not any(counts.get("failed") for counts in outcome.assets.values()):
        return []
    targets = dict.fromkeys(
        target
        for name in outcome.tables
        for target in sync.quarantined_targets(store)
        if target == name or target.startswith(f"{name}/")  # a pattern exports several tables
    )
    return [
        {
            "target": target,
            "what": failure.label,
            "reason": failure.reason,
            "kind": failure.kind,
            "attempts": failure.attempts,
            "tried_again": str(failure.tried_again) if failure.tried_again else None,
            "stale_since": str(failure.stale_since) if failure.stale_since else None,
        }
        for target in targets
        for failure in sync.quarantined(store, target)
    ]


def _outcome(result: "ExecutionResult", *, variant: str, state_dir: Path) -> RefreshOutcome:
    passes = [
        *(event.materialization for event in result.get_asset_materialization_events()),
        *(event.asset_observation_data.asset_observation for event in _observed(result)),
    ]
    warnings = [
        f"{check.asset_key.to_user_string()}: {name} does not hold ({found})"
        for check in result.get_asset_check_evaluations()
        for name, found in _failed(check).items()
    ]
    return RefreshOutcome(
        variant=variant,
        assets={
            found.asset_key.to_user_string(): {
                name: value
                for name in SHOWN
                if isinstance(value := _value(found.metadata.get(name)), (int, float))
            }
            for found in passes
        },
        tables=[
            value
            for found in passes
            if isinstance(value := _value(found.metadata.get("table")), str)
        ],
        errors=job_runs.errors_of(result, state_dir=state_dir),
        warnings=warnings,
        conclusion="".join(
            value
            for found in passes
            if isinstance(value := _value(found.metadata.get(CONCLUSION)), str)
        ),
    )


def _observed(result: "ExecutionResult") -> "list[dg.DagsterEvent]":
    """The passes over assets whose source could not be read: see `lineage.observed_only`."""
    return [event for event in result.all_events if event.is_asset_observation]


def _failed(check: "dg.AssetCheckEvaluation") -> Mapping[str, str]:
    """The expectations that do not hold, each with the value that was found."""
    records = getattr(check.metadata.get("failed"), "records", ())
    return {record.data["expectation"]: record.data["found"] for record in records}


def _value(entry: "dg.MetadataValue | None") -> object:
    return entry.value if entry is not None else None
