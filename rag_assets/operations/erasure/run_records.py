"""Traces of a document in Dagster's records, and how they are deleted.

Dagster keeps the events and logs of each run. For each asset it also keeps a copy of its events,
its latest materialization and the results of its checks. A run with traces of the document is
deleted, and so are the records of its assets: these count as never materialised until the next
refresh. All of this uses Dagster's own interface, so that it works with any storage. SQLite leaves
deleted content in its files, so these are rewritten.
"""

import shutil
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.operations.erasure.traces import Traces
from rag_assets.operations.problems.own_runs import is_own_asset, own_runs
from rag_assets.process.errors import ExplainedError

if TYPE_CHECKING:
    import dagster as dg

RECORDS = ("history", "schedules")
"""Folders with Dagster's databases, below its home; what else lies there may be somebody's."""
SHARDS = Path("history/runs")
"""Folder with a database for each run, below the home of Dagster."""
SHARED_SHARD = "index"
LOGS = "storage"
SECONDS_TO_WAIT = 30
SQLITE_HEAD = b"SQLite format 3\x00"


class BusyRecordsError(ExplainedError):
    """A database of Dagster cannot be rewritten now; the message names it."""


@dataclass(frozen=True, slots=True)
class AffectedRecords:
    """Runs and assets whose records have traces of a document."""

    runs: Sequence[str]
    assets: Sequence["dg.AssetKey"]


def running_runs(instance: "dg.DagsterInstance") -> list[str]:
    """Ids of the runs that are writing records now."""
    import dagster as dg

    status = dg.DagsterRunStatus
    alive = [status.STARTING, status.STARTED, status.CANCELING]
    return [run.run_id for run in instance.get_runs(dg.RunsFilter(statuses=alive))]


def affected_records(
    instance: "dg.DagsterInstance", config: Config, home: Path, traces: Traces
) -> AffectedRecords:
    """The runs and assets of this index whose records have some of `traces`."""
    runs: set[str] = set()
    assets: set[dg.AssetKey] = set()
    for run in own_runs(instance.get_runs(), config, instance):
        run_id = run.run_id
        found, keys = _of_run(instance, run, traces)
        assets.update(keys)
        if found or _logs_have(home / LOGS / run_id, traces):
            runs.add(run_id)
    for key in (each for each in instance.all_asset_keys() if is_own_asset(each, config)):
        event = instance.get_latest_materialization_event(key)
        if event is not None and _has(event, traces):
            assets.add(key)
    runs.update(_left_behind(home, known=instance.get_run_ids(), traces=traces))
    return AffectedRecords(sorted(runs), sorted(assets, key=str))


def erase(instance: "dg.DagsterInstance", home: Path, found: AffectedRecords) -> None:
    """Delete the records of `found`; after a kill the next call finds the rest.

    Dagster would delete a run before its events, and after a kill nothing would lead to these.
    """
    instance.wipe_assets(found.assets)
    for run_id in found.runs:
        instance.event_log_storage.delete_events(run_id)
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        shutil.rmtree(home / LOGS / run_id, ignore_errors=True)
        instance.delete_run(run_id)


def write_anew(home: Path, *, gone: Sequence[str]) -> None:
    """Rewrite Dagster's SQLite files below `home`, so that nothing deleted is left in them.

    The files of runs that are `gone` are removed.

    Raises:
        BusyRecordsError: Another process keeps one busy.
    """
    for run_id in gone:
        for file in (home / SHARDS).glob(f"{run_id}.db*"):
            file.unlink(missing_ok=True)
    for file in (each for folder in RECORDS for each in databases(home / folder)):
        try:
            with closing(sqlite3.connect(file, timeout=SECONDS_TO_WAIT)) as database:
                database.execute("VACUUM")
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as error:
            raise BusyRecordsError(
                f"Dagster's records in {file} cannot be rewritten ({error}): stop the UI and "
                "its daemon, and run the purge again; it goes on from here"
            ) from error


def databases(folder: Path) -> Iterator[Path]:
    """All SQLite files below a folder."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and is_database(file):
            yield file


def is_database(file: Path) -> bool:
    """Whether a file is a SQLite database, by its content."""
    with file.open("rb") as opened:
        return opened.read(len(SQLITE_HEAD)) == SQLITE_HEAD


def _left_behind(home: Path, *, known: Collection[str], traces: Traces) -> Iterator[str]:
    """Deleted runs whose database is still there: the process that deleted them was killed."""
    for file in (home / SHARDS).glob("*.db*"):
        run_id = file.name.partition(".")[0]
        if run_id not in (*known, SHARED_SHARD) and traces.first_in_file(file) is not None:
            yield run_id


def _of_run(
    instance: "dg.DagsterInstance", run: "dg.DagsterRun", traces: Traces
) -> tuple[bool, set["dg.AssetKey"]]:
    """Whether a run has traces, and the assets of its events that have some."""
    import dagster as dg

    found = _has(run, traces)
    keys: set[dg.AssetKey] = set()
    for entry in instance.all_logs(run.run_id):
        if not _has(entry, traces):
            continue
        found = True
        event = entry.dagster_event
        if event is None:
            continue
        if event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            keys.add(event.asset_check_evaluation_data.asset_key)
        elif event.asset_key is not None:
            keys.add(event.asset_key)
    return found, keys


def _has(record: "dg.EventLogEntry | dg.DagsterRun", traces: Traces) -> bool:
    from dagster import serialize_value

    return traces.are_in(serialize_value(record))


def _logs_have(folder: Path, traces: Traces) -> bool:
    return any(
        traces.first_in_file(file) is not None for file in folder.rglob("*") if file.is_file()
    )
