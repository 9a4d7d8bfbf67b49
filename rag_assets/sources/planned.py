"""What a refresh would do to the exported tables: the same pass, but nothing is taken over.

Tables that look the same as at their last complete pass are not read. The others are, as a refresh
reads them, into a folder of their own that goes when all is told.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from typing_extensions import override

from rag_assets.change import sync
from rag_assets.config import TableSource, TableSpec
from rag_assets.config.headings import read_headings
from rag_assets.sources import exporting
from rag_assets.sources.column_types import rows_in
from rag_assets.sources.exporting import PlannedTable
from rag_assets.sources.exports import Chosen, ExportPass
from rag_assets.sources.origins import Origin
from rag_assets.sources.outcomes import EVERYTHING, Export, Outcomes
from rag_assets.store import Store
from rag_assets.store.exports import ExportedTable


@dataclass(frozen=True, slots=True)
class PlannedExport:
    """What a pass would do to one table."""

    export: Export
    planned: PlannedTable | None
    """What was found where the table was read and can be taken over."""

    @property
    def is_failed(self) -> bool:
        """Whether the table, or its source, cannot be read; what is held of it stays."""
        return any(failure.key == EVERYTHING for failure in self.export.report.failures)


def planned_exports(
    store: Store,
    source: TableSource,
    *,
    allow_shrink: bool = False,
    log: Callable[[str], None] = lambda _: None,
) -> list[PlannedExport]:
    """What `refresh_exports` would do to the tables of `source`; nothing is written.

    Raises:
        ConfigError: The file of headings is missing or is not valid.
    """
    planning = _PlanningPass(
        store,
        source,
        read_headings(source),
        allow_shrink=allow_shrink,
        log=log,
        warn=lambda _: None,
        retry=False,
    )
    found = list(planning.run(source.tables))
    return [PlannedExport(each, planning.found.get(each.table)) for each in found]


class _PlannedOutcomes(Outcomes):
    """Tells what would become of the tables, and writes nothing down."""

    @override
    def keep(self, origin: Origin) -> None:
        pass

    @override
    def remove(self, table: str) -> None:
        pass

    @override
    def note(self, table: str, failures: Sequence[sync.Failure]) -> None:
        pass

    @override
    def note_unchanged(self, held: ExportedTable) -> None:
        pass

    @override
    def forget(self, specs: Sequence[TableSpec], *, besides: Collection[str]) -> None:
        pass


class _PlanningPass(ExportPass):
    """A pass over the tables of a source that takes nothing over."""

    found: dict[str, PlannedTable]
    """What was found of each table that was read, by its name."""

    @override
    def run(self, specs: Sequence[TableSpec]) -> Iterator[Export]:
        self.found = {}
        yield from super().run(specs)

    @override
    def _outcomes(self, warn: Callable[[str], None]) -> Outcomes:
        return _PlannedOutcomes(self.store, self.source, log=self.log, warn=warn)

    @override
    @contextmanager
    def _landing(self) -> Generator[Path]:
        with TemporaryDirectory() as folder:
            yield Path(folder)

    @override
    def _taken(self, item: Chosen, request: exporting.ExportRequest) -> Export:
        planned = self.found[item.table] = exporting.planned_table(request)
        held, read = self.outcomes.exported(item.table), rows_in(request.landed.files)
        return Export(item.spec.name, item.table, held, planned.report, rows_read=read)
