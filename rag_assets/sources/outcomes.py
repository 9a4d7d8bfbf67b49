"""What a pass leaves of a table of a source: its record, its note in quarantine, its report."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from rag_assets.change import sync
from rag_assets.config import TableSource, TableSpec
from rag_assets.identity import fingerprint
from rag_assets.sources import exporting
from rag_assets.sources.column_types import rows_in
from rag_assets.sources.entries import spec_of
from rag_assets.sources.landed import Landed
from rag_assets.sources.origins import Origin
from rag_assets.sources.readability import Look
from rag_assets.store import Store, exports
from rag_assets.store.exports import ExportedTable

EVERYTHING = "*"
"""Key of a failure that concerns a whole table."""


@dataclass(frozen=True, slots=True)
class Export:
    """What one pass did to one table."""

    spec: str
    """Name of the config's entry that takes the table: its name, or a pattern."""
    table: str
    exported: ExportedTable | None
    """The exported table afterwards; None if there is none, or it is unfinished."""
    report: sync.Report
    schema_changes: Sequence[str] = ()
    rows_read: int = 0
    """The number of rows that came over from the source in full."""
    keys_read: int = 0
    """The number of rows of which only the key came over."""

    @property
    def is_touched(self) -> bool:
        """Whether the pass changed anything of what is held of the table."""
        return bool(self.report.touched or self.schema_changes)

    @property
    def look(self) -> Look | None:
        """What the pass found of the table at its source; None if it is gone."""
        unread = (each.reason for each in self.report.failures if each.key == EVERYTHING)
        reason = next(unread, None)
        if self.exported is None and reason is None:
            return None
        return Look(reason, is_changed=self.is_touched)


class Outcomes:
    """Notes down what became of the tables of one source."""

    def __init__(
        self,
        store: Store,
        source: TableSource,
        *,
        log: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        """Keep records in `store`; `warn` hears of each table that cannot be read."""
        self.store = store
        self.source = source
        self.log = log
        self.warn = warn

    def keep(self, origin: Origin) -> None:
        """Let `origin` go on from here at the next pass."""
        origin.keep()

    def exported(self, table: str) -> ExportedTable | None:
        """The table as it was last exported, if that is complete."""
        return exports.exported(self.store, exports.table_name(self.source.name, table))

    def updated(
        self, spec: TableSpec, table: str, done: exporting.ExportResult, landed: Landed
    ) -> Export:
        """The table was brought up to what `landed`."""
        return Export(
            spec.name,
            table,
            done.table,
            done.report,
            schema_changes=done.schema_changes,
            rows_read=rows_in(landed.files),
            keys_read=rows_in(landed.keys or ()),
        )

    def unchanged(
        self, spec: TableSpec, table: str, held: ExportedTable, *, seconds: float
    ) -> Export:
        """The table looks as it did at its last pass."""
        self.note_unchanged(held)
        failures = sync.quarantined(self.store, self.target(table))
        report = sync.Report(
            target=self.target(table),
            data_version=held.data_version,
            unchanged=held.rows,
            failed=len(failures),
            rows=held.rows,
            seconds=seconds,
            failures=failures,
        )
        return Export(spec.name, table, held, report)

    def failed(self, spec: TableSpec, table: str, reason: str, *, is_told: bool = False) -> Export:
        """Keep what is held and note the reason; it is tried again at every refresh.

        `is_told`: the reason was told before, for the whole source.
        """
        held = self.exported(table)
        rows = held.rows if held else 0
        failure = sync.Failure(EVERYTHING, reason, f"{self.source.name}/{table}", "environment")
        self.note(table, [failure])
        if not is_told:
            self.warn(reason)
        report = sync.Report(
            target=self.target(table),
            data_version=held.data_version if held else "absent",
            unchanged=rows,
            failed=1,
            rows=rows,
            failures=[failure],
        )
        return Export(spec.name, table, held, report)

    def removed(self, spec: TableSpec, table: str) -> Export:
        """The table is gone from the source, and what is held of it goes too."""
        held = self.exported(table)
        self.remove(table)
        rows = held.rows if held else 0
        report = sync.Report(target=self.target(table), data_version="absent", removed=rows)
        return Export(spec.name, table, None, report)

    def remove(self, table: str) -> None:
        """Drop what is held of a table and what is noted about it."""
        name = exports.table_name(self.source.name, table)
        with self.store.lock(name, log=self.log):
            exports.remove(self.store, name)
        self.note(table, [])

    def note(self, table: str, failures: Sequence[sync.Failure]) -> None:
        """Write down what failed of a table."""
        sync.record(self.store, target=self.target(table), failures=failures)

    def note_unchanged(self, held: ExportedTable) -> None:
        """Write down that a pass over a table found nothing to do."""
        self.store.found_unchanged(held.name)

    def forget(self, specs: Sequence[TableSpec], *, besides: Collection[str]) -> None:
        """Drop the notes about tables of `specs` that are not among `besides`."""
        ours = self.target("")
        for target in sync.quarantined_targets(self.store):
            table = target.removeprefix(ours)
            is_of_specs = target.startswith(ours) and spec_of(self.source, table) in (*specs, None)
            if is_of_specs and table not in besides:
                sync.record(self.store, target=target, failures=[])

    def target(self, table: str) -> str:
        """What failures of a table are noted under."""
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
