"""What Dagster's records tell: failed and overlong runs, failed backfills, overdue assets.

A failed run is a problem until a later run has done its work. So a person is told once of three
nights that fail for one reason, and once when a night is good again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from rag_assets.config import Config, Naming, Schedule, asset_path
from rag_assets.config.naming import CLEAN_UP_JOB, NIGHTLY_JOB, PROMOTE_JOB, ROLLBACK_JOB
from rag_assets.findings.finding import Finding
from rag_assets.graph import STEPS
from rag_assets.operations.problems import run_errors
from rag_assets.operations.problems.lost_runs import ORIGIN
from rag_assets.operations.problems.own_runs import (
    ASSET_JOB,
    EXPERIMENTS,
    is_own_asset,
    is_own_job,
    is_own_run,
)
from rag_assets.process import clock
from rag_assets.process.clock import in_words

if TYPE_CHECKING:
    import dagster as dg
    from dagster import DagsterEvent, RunRecord

    from rag_assets.dagster_internals import PartitionBackfill

CONCLUSION = "conclusion"
"""Key of the metadata of `serving_index`: the verdict in a sentence, and the next command."""
PARTITION_SET = "_partition_set"
"""What Dagster appends to the name of a job, in the records of its backfills."""
PARTITION_TAG = "dagster/partition"
BACKFILL_TAG = "dagster/backfill"

DAYS_LOOKED_AT = 30
"""What failed earlier, and was never run again since, is history."""
RUNS_LOOKED_AT = 200
BACKFILLS_LOOKED_AT = 50
GOOD_RUNS = 10
"""So many good runs tell how long a run usually takes."""
TIMES_AS_LONG = 3
SHORTEST_OVERLONG = 3_600
"""The fewest seconds of a run that took too long, unless the config says otherwise."""
STEPS_NAMED = 3
TICKS_LOOKED_AT = 32
LONGEST_RUN = timedelta(hours=6)
MARKED_FROM_OUTSIDE = "This run has been marked as failed from outside the execution context."
"""What Dagster says of a run whose process is gone."""
KILLED = "its process ended without a word: it was killed, perhaps for lack of memory"

RUN_REMEDY = "open the run in the Dagster UI, mend the cause, then refresh again"
OVERLONG_REMEDY = (
    "see in the Dagster UI what it is doing; `Terminate` stops it, and what was committed is kept"
)
OVERDUE_REMEDY = (
    "see whether the daemon runs and the schedule `nightly` is on, or run `rag-assets refresh`"
)


def run_problems(instance: "dg.DagsterInstance", config: Config) -> list[Finding]:
    """What is wrong with runs and assets of this index, by the records of `instance`.

    Runs of variants, and assets, that `config` no longer names are left out.
    """
    since = datetime.now(UTC) - timedelta(days=DAYS_LOOKED_AT)
    return [
        *_failed_runs(instance, config, since=since),
        *_overlong_runs(instance, config),
        *_failed_backfills(instance, config, since=since),
        *_overdue_assets(instance, config),
    ]


def healed_failures(
    instance: "dg.DagsterInstance", config: Config, *, after: datetime
) -> list[tuple[Finding, datetime]]:
    """Runs that failed after a time and whose work a later run has done, and when it was done.

    Dagster tries a run that was killed once more: nobody might look in between.
    """
    return [
        (problem, _moment(failures.done.end_time))
        for failures in _failures(instance, config, since=after - timedelta(days=1))
        if failures.done and (runs := failures.healed(after))
        for problem in _failure(instance, config, failures.work, runs)
    ]


def is_history(instance: "dg.DagsterInstance", config: Config, problem: Finding) -> bool:
    """Whether a failed run is too old to be looked at, though no later run has done its work.

    Also if somebody deleted its records. It is not told any more, but it is not resolved either.
    """
    import dagster as dg

    if problem.kind != "run_failed" or not problem.run_id:
        return False
    record = next(iter(instance.get_run_records(dg.RunsFilter(run_ids=[problem.run_id]))), None)
    if record is None:
        return True
    done = _Work.of(record.dagster_run, config.dagster).last_done(instance)
    is_old = record.create_timestamp < datetime.now(UTC) - timedelta(days=DAYS_LOOKED_AT)
    return is_old and (done is None or done.storage_id < record.storage_id)


def name_of_run(job: str, *, variant: str | None, assets: Sequence[str] = ()) -> str:
    """What a run is called in a message: two runs of one name do the same work."""
    what = f"materialization of {', '.join(assets)}" if assets else job
    return f"{what} of variant {variant}" if variant else what


def name_of(run: "dg.DagsterRun", config: Config) -> str:
    """What `run` does, for people: its job, or the assets of a run of single ones; its variant."""
    return _Work.of(run, config.dagster).name


def newest_nightly(
    instance: "dg.DagsterInstance", config: Config, *, variant: str
) -> "RunRecord | None":
    """The nightly run of a variant that began last, whatever became of it."""
    import dagster as dg

    job = config.dagster.name(NIGHTLY_JOB)
    found = instance.get_run_records(
        dg.RunsFilter(job_name=job, tags={PARTITION_TAG: variant}), limit=1
    )
    return next(iter(found), None)


def name_of_nightly(config: Config, *, variant: str) -> str:
    """What the nightly run of a variant is called in a message."""
    return name_of_run(config.dagster.name(NIGHTLY_JOB), variant=variant)


def is_running(instance: "dg.DagsterInstance", config: Config, *, within_seconds: float) -> bool:
    """Whether a run is going on that started within the last `within_seconds`."""
    now = datetime.now(UTC).timestamp()
    return any(now - started < within_seconds for _, started in _going(instance, config))


@dataclass(frozen=True)
class _Work:
    """What a run does: the same work may be done by a later run."""

    job: str
    variant: str | None
    assets: frozenset[str]
    """The assets that a run of single assets was to make."""
    names: Naming

    @classmethod
    def of(cls, run: "dg.DagsterRun", names: Naming) -> "_Work":
        selected = (run.asset_selection or ()) if run.job_name == ASSET_JOB else ()
        assets = frozenset(key.to_user_string() for key in selected)
        return cls(run.job_name, run.tags.get(PARTITION_TAG), assets, names)

    @property
    def name(self) -> str:
        return name_of_run(self.job, variant=self.variant, assets=sorted(self.assets))

    @property
    def is_part_of_a_night(self) -> bool:
        """Whether the nightly job does it too."""
        own = (self.names.own_path(key.split("/")) for key in self.assets)
        is_experiment = any(path[:1] == (EXPERIMENTS,) for path in own)
        job = self.names.own_name(self.job)
        return job not in (CLEAN_UP_JOB, EXPERIMENTS) and not is_experiment

    def last_done(self, instance: "dg.DagsterInstance") -> "RunRecord | None":
        """The newest run that did all of it."""
        same = _good_runs(instance, self.job, variant=self.variant, limit=RUNS_LOOKED_AT)
        done = [run for run in same if _Work.of(run.dagster_run, self.names).assets >= self.assets]
        if self.is_part_of_a_night:
            nightly = self.names.name(NIGHTLY_JOB)
            done += _good_runs(instance, nightly, variant=self.variant, limit=1)
        return max(done, key=lambda run: run.storage_id, default=None)


@dataclass(frozen=True)
class _Failures:
    """The failed runs of one work, newest first, and the newest run that did it."""

    work: _Work
    runs: Sequence["RunRecord"]
    done: "RunRecord | None"

    @property
    def open(self) -> Sequence["RunRecord"]:
        """The failed runs after which the work was not done."""
        done = self.done.storage_id if self.done else 0
        return [run for run in self.runs if run.storage_id > done]

    def healed(self, after: datetime) -> Sequence["RunRecord"]:
        """The failed runs that ended after a time, and whose work was done since."""
        done = self.done.storage_id if self.done else 0
        return [
            run
            for run in self.runs
            if run.storage_id < done and run.end_time and _moment(run.end_time) > after
        ]


def _failures(
    instance: "dg.DagsterInstance", config: Config, *, since: datetime
) -> Iterator[_Failures]:
    import dagster as dg

    failed = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], created_after=since)
    by_work: dict[_Work, list[RunRecord]] = {}
    for record in instance.get_run_records(failed, limit=RUNS_LOOKED_AT):
        if is_own_run(record.dagster_run, config, instance):
            by_work.setdefault(_Work.of(record.dagster_run, config.dagster), []).append(record)
    for work, records in by_work.items():
        if work.variant is None or work.variant in config.variants:
            yield _Failures(work, records, work.last_done(instance))


def _failed_runs(
    instance: "dg.DagsterInstance", config: Config, *, since: datetime
) -> Iterator[Finding]:
    for failures in _failures(instance, config, since=since):
        if runs := failures.open:
            yield from _failure(instance, config, failures.work, runs)


def _failure(
    instance: "dg.DagsterInstance", config: Config, work: _Work, records: Sequence["RunRecord"]
) -> Iterator[Finding]:
    """The problem of `records`, newest first; none if a check stopped the newest.

    A check that stopped a run is a problem of its own, and needs no second one. Runs that a person
    stopped by Ctrl-C, and what `promote` or `rollback` refused, tell nothing: those before count.
    """
    found = ((each.dagster_run, _events(instance, each.dagster_run.run_id)) for each in records)
    broken = (
        each for each in found if not (_is_stopped_by_a_person(*each) or _is_refusal(*each, config))
    )
    run, events = next(broken, (None, []))
    errors = run_errors.errors_of(events, state_dir=config.state_dir)
    if run is None or (errors and errors.keys() <= run_errors.stopped_by_checks(events).keys()):
        return
    said = [f"{step}: {reason}" for step, reason in errors.items()] or [
        KILLED if event.message == MARKED_FROM_OUTSIDE else str(event.message)
        for event in events
        if event.is_run_failure
    ]
    yield Finding(
        "run_failed",
        work.name,
        since=_moment(records[-1].end_time),
        reason="\n".join(said[:STEPS_NAMED]) or "it failed without a message",
        remedy=RUN_REMEDY,
        run_id=run.run_id,
    )


def _is_stopped_by_a_person(run: "dg.DagsterRun", events: Sequence["DagsterEvent"]) -> bool:
    is_of_command_line = run.tags.items() >= ORIGIN.items()
    return is_of_command_line and run_errors.are_of_an_interrupt(events)


def _is_refusal(run: "dg.DagsterRun", events: Sequence["DagsterEvent"], config: Config) -> bool:
    """Whether nothing broke: what a person asked for was refused, as the command line does."""
    job = config.dagster.own_name(run.job_name)
    return job in (PROMOTE_JOB, ROLLBACK_JOB) and run_errors.are_refusals(events)


def _events(instance: "dg.DagsterInstance", run_id: str) -> list["DagsterEvent"]:
    import dagster as dg

    wanted = dg.DagsterEventType
    entries = instance.all_logs(
        run_id,
        of_type={wanted.STEP_FAILURE, wanted.RUN_FAILURE, wanted.ASSET_CHECK_EVALUATION},
    )
    return [entry.dagster_event for entry in entries if entry.dagster_event]


def _overlong_runs(instance: "dg.DagsterInstance", config: Config) -> Iterator[Finding]:
    now = datetime.now(UTC).timestamp()
    for record, started in _going(instance, config):
        work = _Work.of(record.dagster_run, config.dagster)
        limit = config.alerts.overlong_seconds or _usual_limit(instance, work)
        if limit is not None and now - started > limit:
            yield Finding(
                "run_overlong",
                work.name,
                since=_moment(started),
                reason=f"it has been running for more than {in_words(limit)}",
                remedy=OVERLONG_REMEDY,
                run_id=record.dagster_run.run_id,
            )


def _going(instance: "dg.DagsterInstance", config: Config) -> Iterator[tuple["RunRecord", float]]:
    """Each run that is going on, and when it started."""
    import dagster as dg

    started = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
    for record in instance.get_run_records(started):
        if record.start_time is not None and is_own_run(record.dagster_run, config, instance):
            yield record, record.start_time


def _usual_limit(instance: "dg.DagsterInstance", work: _Work) -> float | None:
    """Seconds after which a run takes far longer than usual; None if nothing is usual yet."""
    good = _good_runs(instance, work.job, variant=work.variant, limit=GOOD_RUNS)
    took = [run.end_time - run.start_time for run in good if run.start_time and run.end_time]
    return max(SHORTEST_OVERLONG, TIMES_AS_LONG * max(took)) if took else None


def _good_runs(
    instance: "dg.DagsterInstance", job: str, *, variant: str | None, limit: int
) -> Sequence["RunRecord"]:
    """The newest runs that succeeded, newest first."""
    import dagster as dg

    tags = {PARTITION_TAG: variant} if variant else {}
    good = dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.SUCCESS], tags=tags)
    return instance.get_run_records(good, limit=limit)


def _failed_backfills(
    instance: "dg.DagsterInstance", config: Config, *, since: datetime
) -> Iterator[Finding]:
    """Backfills that failed by themselves: the failed runs of one are problems of their own."""
    import dagster as dg

    from rag_assets.dagster_internals import BulkActionsFilter, BulkActionStatus

    failed = {BulkActionStatus.FAILED, BulkActionStatus.COMPLETED_FAILED}
    decided: set[tuple[object, ...]] = set()
    found = instance.get_backfills(
        filters=BulkActionsFilter(created_after=since), limit=BACKFILLS_LOOKED_AT
    )
    for backfill in found:  # the newest first
        target = _target(backfill)
        if not _is_own_backfill(backfill, config):
            continue
        if target in decided or backfill.status not in failed | {
            BulkActionStatus.COMPLETED_SUCCESS
        }:
            continue
        decided.add(target)
        of_runs = dg.RunsFilter(
            statuses=[dg.DagsterRunStatus.FAILURE], tags={BACKFILL_TAG: backfill.backfill_id}
        )
        if backfill.status not in failed or instance.get_run_records(of_runs, limit=1):
            continue
        yield Finding(
            "run_failed",
            f"backfill {backfill.backfill_id}",
            since=_moment(backfill.backfill_end_timestamp or backfill.backfill_timestamp),
            reason=backfill.error.message.strip() if backfill.error else "it failed without a run",
            remedy="open the backfill in the Dagster UI, mend the cause, and start it again",
        )


def _is_own_backfill(backfill: "PartitionBackfill", config: Config) -> bool:
    """Whether a backfill is of assets or of a job of this index."""
    if backfill.asset_selection:
        return any(is_own_asset(key, config) for key in backfill.asset_selection)
    job = (backfill.partition_set_name or "").removesuffix(PARTITION_SET)
    return is_own_job(job, config)


def _target(backfill: "PartitionBackfill") -> tuple[object, ...]:
    """What a backfill works on."""
    return (
        backfill.partition_set_name,
        tuple(backfill.partition_names or ()),
        tuple(sorted(key.to_user_string() for key in backfill.asset_selection or ())),
    )


def _overdue_assets(instance: "dg.DagsterInstance", config: Config) -> Iterator[Finding]:
    """Assets that two ticks of the schedule missed, where Dagster's daemon looks at them.

    A time window, which is what their freshness policy knows, is as long as the longest pause of
    the schedule: at weekends nothing may be told, and what a weekday missed would wait as long.
    """
    import dagster as dg

    from rag_assets.dagster_internals import FreshnessState

    keys = [dg.AssetKey(config.dagster.path(*each.split("/"))) for each in _assets(config)]
    states = instance.event_log_storage.get_freshness_state_records(keys)
    for key, state in sorted(states.items()):
        made = instance.get_latest_materialization_event(key)
        since = state.updated_at
        if made is not None:
            missed = missed_ticks(config.schedule, after=_moment(made.timestamp))
            second = next(islice(missed, 1, None), None)
            has_failed = state.freshness_state == FreshnessState.FAIL
            is_newer = made.timestamp > since.timestamp()  # the daemon has not looked at it since
            if second is None and (is_newer or not has_failed):
                continue
            since = second or since
        elif state.freshness_state != FreshnessState.FAIL:
            continue
        name = "/".join(config.dagster.own_path(key.path))
        last = f"{_moment(made.timestamp):%Y-%m-%d %H:%M} UTC" if made else "never"
        yield Finding(
            "asset_overdue",
            name,
            since=since,
            reason=f"the nightly refresh missed it twice; it was last brought up to date: {last}",
            remedy=OVERDUE_REMEDY,
            assets=(name,),
        )


def missed_ticks(schedule: Schedule, *, after: datetime) -> Iterator[datetime]:
    """The ticks `after` a moment whose runs should have ended by now.

    A run is given a quarter of the shortest pause between ticks, and at most `LONGEST_RUN`.
    """
    from rag_assets.dagster_internals import cron_string_iterator

    ticks = cron_string_iterator(after.timestamp(), schedule.cron, schedule.timezone)
    # in UTC: two times of one zone are told apart by its clocks, which are set back once a year
    found = [tick.astimezone(UTC) for tick in islice(ticks, TICKS_LOOKED_AT) if tick > after]
    run = min(LONGEST_RUN, *((later - before) / 4 for before, later in pairwise(found)))
    now = clock.now()
    return (tick for tick in found if tick + run <= now)


def _assets(config: Config) -> list[str]:
    """Names of the assets that the nightly job refreshes, without a prefix."""
    exported = {
        "/".join(asset_path(source, spec))
        for source in config.sources.tables
        for spec in source.tables
    }
    return sorted(exported | STEPS.in_order(config, config.serving_variant).keys())


def _moment(timestamp: float | None) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC) if timestamp else datetime.now(UTC)
