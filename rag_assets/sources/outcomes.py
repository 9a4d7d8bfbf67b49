"""What a pass leaves of a table of a source: its record, its note in quarantine, its report."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_assets import snapshot_passes, snapshots
from rag_assets.change import sync
from rag_assets.config import TableSource, TableSpec
from rag_assets.identity import fingerprint
from rag_assets.sources.entries import spec_of
from rag_assets.store import Store

EVERYTHING = "*"
"""Key of a failure that concerns a whole table."""


@dataclass(frozen=True, slots=True)
class Export:
    """What one pass did to the snapshot of one table."""

    spec: str
    """Name of the config's entry that takes the table: its name, or a pattern."""
    table: str
    file: Path
    """The snapshot; it may not exist."""
    report: sync.Report
    schema_changes: Sequence[str] = ()
    rows_read: int = 0
    """Rows that came over from the source in full."""
    keys_read: int = 0
    """Rows of which only the key, and where it helps a hash, came over."""


class Outcomes:
    """Notes down what became of the tables of one source."""

    def __init__(self, store: Store, source: TableSource, *, log: Callable[[str], None]) -> None:
        """Keep records in `store`."""
        self.store = store
        self.source = source
        self.log = log

    def taken(
        self,
        spec: TableSpec,
        table: str,
        swapped: snapshots.Swap,
        landed: snapshots.Landed,
        *,
        mark: str | None,
        recipe: str,
        started: float,
    ) -> Export:
        """The snapshot was swapped; `mark` is what the table looked like before it was read."""
        target, file = self._target(table), self.file(table)
        failed = len(swapped.failures)
        sync.record(self.store, target=target, failures=swapped.failures)
        done = snapshot_passes.Pass(
            mark or snapshot_passes.NEVER_SEEN,
            swapped.data_version,
            rows=swapped.rows,
            failed=failed,
            memory=landed.memory,
            recipe=recipe,
        )
        snapshot_passes.record_pass(file, done)
        report = sync.Report(
            target=target,
            data_version=swapped.data_version,
            added=swapped.added,
            changed=swapped.changed,
            removed=swapped.removed,
            unchanged=swapped.unchanged,
            failed=failed,
            rows=swapped.rows,
            seconds=time.monotonic() - started,
            failures=swapped.failures,
        )
        return Export(
            spec.name,
            table,
            file,
            report,
            schema_changes=swapped.schema_changes,
            rows_read=snapshots.rows_in(landed.files),
            keys_read=snapshots.rows_in(landed.keys or ()),
        )

    def unchanged(
        self, spec: TableSpec, table: str, done: snapshot_passes.Pass, *, started: float
    ) -> Export:
        """The table looks as it did at its last pass."""
        target = self._target(table)
        failures = sync.quarantined(self.store, target) if done.failed else []
        report = sync.Report(
            target=target,
            data_version=done.data_version,
            unchanged=done.rows,
            failed=done.failed,
            rows=done.rows,
            seconds=time.monotonic() - started,
            failures=failures,
        )
        return Export(spec.name, table, self.file(table), report)

    def failed(self, spec: TableSpec, table: str, reason: str) -> Export:
        """Keep what is held and note the reason; it is tried again at every refresh."""
        file = self.file(table)
        snapshot_passes.reopen_pass(file)
        rows = snapshots.rows_of(file)
        failure = sync.Failure(EVERYTHING, reason, f"{self.source.name}/{table}", "environment")
        sync.record(self.store, target=self._target(table), failures=[failure])
        self.log(reason)
        report = sync.Report(
            target=self._target(table),
            data_version=snapshots.data_version_of(file),
            unchanged=rows,
            failed=1,
            rows=rows,
            failures=[failure],
        )
        return Export(spec.name, table, file, report)

    def removed(self, spec: TableSpec, table: str) -> Export:
        """The table is gone from the source, and its snapshot goes too."""
        file = self.file(table)
        rows = snapshots.rows_of(file)
        self.remove(table)
        report = sync.Report(target=self._target(table), data_version="absent", removed=rows)
        return Export(spec.name, table, file, report)

    def remove(self, table: str) -> None:
        """Drop the snapshot of a table and what is noted about it."""
        snapshot_passes.remove(self.file(table))
        sync.record(self.store, target=self._target(table), failures=[])

    def forget(self, specs: Sequence[TableSpec], *, besides: Collection[str]) -> None:
        """Drop the notes about tables of `specs` that are not among `besides`."""
        ours = self._target("")
        for target in sync.quarantined_targets(self.store):
            table = target.removeprefix(ours)
            is_of_specs = target.startswith(ours) and spec_of(self.source, table) in (*specs, None)
            if is_of_specs and table not in besides:
                sync.record(self.store, target=target, failures=[])

    def file(self, table: str) -> Path:
        """The snapshot of a table."""
        return self.store.export_file(self.source.name, table)

    def _target(self, table: str) -> str:
        return f"exports/{self.source.name}/{table}"


def merged(exports: Sequence[Export], *, target: str) -> sync.Report:
    """The passes over the tables of one entry of the config, as one report."""
    reports = [export.report for export in exports]
    versions = {export.table: export.report.data_version for export in exports}
    only: Mapping[str, str] = dict(sorted(versions.items()))
    version = next(iter(only.values())) if len(only) == 1 else fingerprint(dict(only))[:32]
    return sync.Report(
        target=target,
        data_version=version,
        added=sum(report.added for report in reports),
        changed=sum(report.changed for report in reports),
        removed=sum(report.removed for report in reports),
        unchanged=sum(report.unchanged for report in reports),
        failed=sum(report.failed for report in reports),
        rows=sum(report.rows for report in reports),
        seconds=sum(report.seconds for report in reports),
        failures=[failure for report in reports for failure in report.failures],
    )
