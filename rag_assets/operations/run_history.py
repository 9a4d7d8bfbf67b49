"""Old runs leave Dagster's records, which nothing else would ever shorten.

A run that ended long ago is deleted with its events and logs, unless something still rests on it:
the newest materialisation or observation of an asset or of a variant's partition. So lineage, data
versions and freshness stay as they are. Results of checks have a table of their own, and stay.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.operations.problems.own_runs import ENDED, own_runs

if TYPE_CHECKING:
    import dagster as dg

RUNS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class ForgottenRuns:
    """What was deleted."""

    runs: int
    bytes_freed: int
    """The bytes of databases that held one run each, as SQLite has them; other storages do not
    say."""


def forget_old_runs(
    instance: "dg.DagsterInstance", config: Config, *, keep_days: float, log: Callable[[str], None]
) -> ForgottenRuns:
    """Delete the runs of this index that ended more than `keep_days` ago and that nothing rests on.

    `log` receives a line for every so many runs. After a kill the next call finds the rest.
    """
    oldest = datetime.fromtimestamp(time.time(), UTC) - timedelta(days=keep_days)
    needed = set(_needed(instance))
    old = [run for run in _ended_before(instance, config, oldest) if run not in needed]
    freed = 0
    for number, run_id in enumerate(old, start=1):
        freed += _forget(instance, run_id)
        if number % RUNS_AT_ONCE == 0:
            log(f"{number:,} of {len(old):,} old runs deleted from Dagster's records")
    return ForgottenRuns(len(old), freed)


def _ended_before(instance: "dg.DagsterInstance", config: Config, moment: datetime) -> list[str]:
    import dagster as dg

    statuses = [dg.DagsterRunStatus(name) for name in ENDED]
    wanted = dg.RunsFilter(statuses=statuses, updated_before=moment)
    return [run.run_id for run in own_runs(instance.get_runs(wanted), config, instance)]


def _needed(instance: "dg.DagsterInstance") -> Iterator[str]:
    """Runs that hold the newest event of an asset, or of one of its partitions."""
    import dagster as dg

    keys = instance.all_asset_keys()
    for record in instance.get_asset_records(keys):
        entry = record.asset_entry
        newest = (entry.last_materialization_record, entry.last_observation_record)
        yield from (event.run_id for event in newest if event)
    for kind in (dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_OBSERVATION):
        places = (instance.get_latest_storage_id_by_partition(key, kind) for key in keys)
        ids = sorted(chain.from_iterable(by_partition.values() for by_partition in places))
        if ids:
            wanted = dg.EventRecordsFilter(kind, storage_ids=ids)
            yield from (
                event.run_id for event in instance.event_log_storage.get_event_records(wanted)
            )


def _forget(instance: "dg.DagsterInstance", run_id: str) -> int:
    """Delete one run, its events first: without the run, nothing would lead to them."""
    instance.event_log_storage.delete_events(run_id)
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    instance.delete_run(run_id)
    return sum(map(_remove, _files_of(instance, run_id)))


def _files_of(instance: "dg.DagsterInstance", run_id: str) -> list[Path]:
    """The database that SQLite keeps for one run; it stays behind when the run is deleted."""
    from rag_assets.dagster_internals import SqliteEventLogStorage

    storage = instance.event_log_storage
    if not isinstance(storage, SqliteEventLogStorage):
        return []
    file = Path(storage.path_for_shard(run_id))
    return sorted(file.parent.glob(f"{file.name}*"))


def _remove(file: Path) -> int:
    size = file.stat().st_size
    file.unlink()
    return size
