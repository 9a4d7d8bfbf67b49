"""What Dagster has written down of a document: runs whose events or logs tell of it.

Dagster keeps the events of a run, a copy of those about assets, and with each asset its latest
materialization and the results of its checks. A run that tells of the document goes, and of its
assets what is kept beside the runs; they count as never materialised until the next refresh. All of
that goes through Dagster's own interface, so that it holds for any storage. SQLite leaves what was
deleted in its files, so those are written anew.
"""

import shutil
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.operations.traces import Traces

if TYPE_CHECKING:
    import dagster as dg

SHARDS = Path("history/runs")
"""Where a database for each run lies, below the home of Dagster."""
SHARED_SHARD = "index"
LOGS = "storage"
SECONDS_TO_WAIT = 30
SQLITE_HEAD = b"SQLite format 3\x00"


class BusyRecordsError(Exception):
    """A database of Dagster cannot be written anew now; the message says which."""


@dataclass(frozen=True, slots=True)
class Telling:
    """Runs and assets whose records tell of a document."""

    runs: Sequence[str]
    assets: Sequence["dg.AssetKey"]


def working(instance: "dg.DagsterInstance") -> list[str]:
    """Runs that write their records right now."""
    import dagster as dg

    status = dg.DagsterRunStatus
    alive = [status.STARTING, status.STARTED, status.CANCELING]
    return [run.run_id for run in instance.get_runs(dg.RunsFilter(statuses=alive))]


def telling(instance: "dg.DagsterInstance", home: Path, traces: Traces) -> Telling:
    """What tells of the document whose `traces` are given."""
    runs: set[str] = set()
    assets: set[dg.AssetKey] = set()
    for run_id in instance.get_run_ids():
        found, keys = _of_run(instance, run_id, traces)
        assets.update(keys)
        if found or _logs_tell(home / LOGS / run_id, traces):
            runs.add(run_id)
    for key in instance.all_asset_keys():
        event = instance.get_latest_materialization_event(key)
        if event is not None and _tells(event, traces):
            assets.add(key)
    runs.update(_left_behind(home, known=instance.get_run_ids(), traces=traces))
    return Telling(sorted(runs), sorted(assets, key=str))


def erase(instance: "dg.DagsterInstance", home: Path, found: Telling) -> None:
    """Let the records go that tell; who is killed finds the rest again.

    Dagster itself would delete a run before its events, which nobody would find then.
    """
    instance.wipe_assets(found.assets)
    for run_id in found.runs:
        instance.event_log_storage.delete_events(run_id)
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        shutil.rmtree(home / LOGS / run_id, ignore_errors=True)
        instance.delete_run(run_id)


def write_anew(home: Path, *, gone: Sequence[str]) -> None:
    """Have the SQLite files below `home` hold what is recorded and nothing else.

    Those of runs that are `gone` are removed.

    Raises:
        BusyRecordsError: Another process keeps one busy.
    """
    for run_id in gone:
        for file in (home / SHARDS).glob(f"{run_id}.db*"):
            file.unlink(missing_ok=True)
    for file in databases(home):
        try:
            with closing(sqlite3.connect(file, timeout=SECONDS_TO_WAIT)) as database:
                database.execute("VACUUM")
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as error:
            raise BusyRecordsError(
                f"Dagster's records in {file} cannot be written anew ({error}): stop the UI and "
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
    """Runs that only a file still tells of: who deleted them was killed, here or elsewhere."""
    for file in (home / SHARDS).glob("*.db*"):
        run_id = file.name.partition(".")[0]
        if run_id not in (*known, SHARED_SHARD) and traces.first_in_file(file) is not None:
            yield run_id


def _of_run(
    instance: "dg.DagsterInstance", run_id: str, traces: Traces
) -> tuple[bool, set["dg.AssetKey"]]:
    """Whether a run tells, and the assets that its telling events are about."""
    import dagster as dg

    run = instance.get_run_by_id(run_id)
    found = run is not None and _tells(run, traces)
    keys: set[dg.AssetKey] = set()
    for entry in instance.all_logs(run_id):
        if not _tells(entry, traces):
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


def _tells(record: "dg.EventLogEntry | dg.DagsterRun", traces: Traces) -> bool:
    from dagster._serdes import serialize_value

    return traces.are_in(serialize_value(record))


def _logs_tell(folder: Path, traces: Traces) -> bool:
    return any(
        traces.first_in_file(file) is not None for file in folder.rglob("*") if file.is_file()
    )
