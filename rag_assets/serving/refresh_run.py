"""A refresh of one variant in this process, and what it did."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING

from rag_assets import schemas
from rag_assets.config import Config
from rag_assets.config.naming import BACKFILL_JOB, NIGHTLY_JOB
from rag_assets.operations.problems.lost_runs import COMMAND_LOCK
from rag_assets.operations.problems.runs import CONCLUSION
from rag_assets.serving import alerting, disk_errors, job_runs
from rag_assets.serving.replies import Json, say
from rag_assets.store import Store

if TYPE_CHECKING:
    import dagster as dg

    from rag_assets.change.quarantine import QuarantineEntry

LOCK = COMMAND_LOCK
COUNTS = ("added", "changed", "removed", "unchanged", "failed")
SHOWN = (*COUNTS, "embedded", "seconds")
"""Numbers of an asset's metadata that the answer shows."""
CHECKING, STARTING = "(checks)", "(start-up, records and summary)"
"""What a refresh does beside its assets."""
CHECK_STEPS = ("check_", "source_readable_")
SHOWN_OF_FAILURE = ("reason", "kind", "attempts", "tried_again", "stale_since")


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
    checking: float = 0.0
    """The seconds that the checks took."""
    conclusion: str = ""
    """What the gate said at the end, and the next command; empty where it was not asked."""

    def seconds_of(self, seconds: float) -> dict[str, float]:
        """What of the `seconds` of a whole refresh no asset took: all sums up to them."""
        of_assets = sum(counts.get("seconds", 0.0) for counts in self.assets.values())
        rest = max(0.0, seconds - of_assets - self.checking)
        return {CHECKING: self.checking, STARTING: rest}


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
    return _outcome(result, config, variant=variant)


@contextmanager
def alone(config: Config) -> Generator[Store]:
    """The state, once no other command changes it; what changes inside is told to the channels.

    Raises:
        CommandError: A disk is full, or the state folder may not be written.
    """
    store = Store.of(config)
    with (
        alerting.telling(config),
        disk_errors.writing(config.state_dir),
        store.lock(LOCK, log=say),
    ):
        yield store


def backfill_job(store: Store) -> str:
    """The job that builds a variant: from what was read of the sources, or reading them first."""
    was_read = store.exists(schemas.DOCUMENT_FILES_TABLE) or store.exists(schemas.TABLE_ROWS_TABLE)
    return BACKFILL_JOB if was_read else NIGHTLY_JOB


def quarantine_of(store: Store, outcome: RefreshOutcome) -> list["QuarantineEntry"]:
    """The quarantine entries of the tables of this run that nobody acknowledged.

    The quarantine is not read if nothing failed.
    """
    from rag_assets.change.quarantine import all_entries
    from rag_assets.operations.problems.skipped_inputs import unknown

    if not any(counts.get("failed") for counts in outcome.assets.values()):
        return []
    tables = tuple(f"{name}/" for name in outcome.tables)  # a pattern exports several tables
    entries = [each for each in all_entries(store) if f"{each.target}/".startswith(tables)]
    return unknown(store, entries)


def records_of(entries: Sequence["QuarantineEntry"]) -> list[dict[str, Json]]:
    """Entries of the quarantine for programs."""
    return [
        {
            "target": entry.target,
            "what": entry.failure.label,
            **{name: _plain(getattr(entry.failure, name)) for name in SHOWN_OF_FAILURE},
        }
        for entry in entries
    ]


def _plain(value: object) -> Json:
    return value if isinstance(value, (int, NoneType)) else str(value)


def _outcome(result: "dg.JobExecutionResult", config: Config, *, variant: str) -> RefreshOutcome:
    names = config.dagster
    passes = [
        *(event.materialization for event in result.get_asset_materialization_events()),
        *(event.asset_observation_data.asset_observation for event in _observed(result)),
    ]
    return RefreshOutcome(
        variant=variant,
        assets={
            "/".join(names.own_path(found.asset_key.path)): {
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
        errors=job_runs.errors_of(result, state_dir=config.state_dir),
        checking=sum(
            event.step_success_data.duration_ms / 1_000
            for event in result.all_events
            if event.is_step_success
            and names.own_name(event.step_key or "").startswith(CHECK_STEPS)
        ),
        conclusion=" ".join(
            value
            for found in passes
            if isinstance(value := _value(found.metadata.get(CONCLUSION)), str)
        ),
    )


def _observed(result: "dg.JobExecutionResult") -> "list[dg.DagsterEvent]":
    """The passes over assets whose source could not be read: see `lineage.observed_only`."""
    return [event for event in result.all_events if event.is_asset_observation]


def _value(entry: "dg.MetadataValue | None") -> object:
    return entry.value if entry is not None else None
