"""`exports/<source>/<table>`: each table of a source as a table of the store.

A table that looks the same as at its last complete pass is not read, and dlt not even imported.
Otherwise dlt lands its rows in batches, where the source can tell only those that may have moved,
and `exporting.export_table` takes over what changed. One table that fails keeps what it held, with
a note in the quarantine, and the others go on; so does every table of a source that cannot be
reached. Only a table that is gone from a reachable source, and was taken by a pattern, goes too:
a file at once, a table of a database once that is confirmed.
"""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from rag_assets.change import sync
from rag_assets.change.shrinking import SHRINK_LIMIT
from rag_assets.config import LONGEST_TABLE_NAME, TableSource, TableSpec
from rag_assets.config.headings import Headings, headings_of, read_headings
from rag_assets.identity import fingerprint
from rag_assets.sources import exporting
from rag_assets.sources.column_types import ContentError
from rag_assets.sources.databases.limits import LimitError
from rag_assets.sources.entries import increment_of, spec_of
from rag_assets.sources.landed import Landed, StaleKeysError
from rag_assets.sources.landing import LandingError, first_line, land, landing
from rag_assets.sources.opening import open_origin
from rag_assets.sources.origins import Increment, LastRead, Origin, Reading, TableRequest
from rag_assets.sources.outcomes import Export, Outcomes
from rag_assets.sources.readability import Look, note, readability
from rag_assets.sources.source_locations import SourceError, shown
from rag_assets.store import Store, exports
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.exports import About, ExportedTable
from rag_assets.store.table_locations import remove_folder

RECIPE = "exports 5"
"""Raised when what is said of a table may be other than before; that its rows may be others says
`Origin.recipe`."""

SHOWN_OF_NAME = 100
"""At most so many characters are shown of a name that is too long."""

KEY_NAMES = ("row_id", "id", "uuid", "key")
"""Columns of these names are the key of a table that declares none, if their values are unique."""


def refresh_exports(
    store: Store,
    source: TableSource,
    *,
    only: Collection[str] | None = None,
    allow_shrink: bool,
    log: Callable[[str], None],
    warn: Callable[[str], None] | None = None,
    retry: bool = False,
) -> list[Export]:
    """Bring the exported tables of `source` up to those of the source.

    Args:
        store: Where the exported tables lie.
        source: A table source of the config.
        only: Names of the config's entries to refresh; all of them unless given.
        allow_shrink: Accept that a table lost more than half of its rows.
        log: Receives progress and changes of schemas, one line at a time.
        warn: Receives why the source or a table of it cannot be read; `log` does unless given.
        retry: Also read again what failed on its own content.

    Returns:
        One `Export` for each table, or for an entry that no table answers to; failures are in
        its report.

    Raises:
        ConfigError: The file of headings is missing or is not valid.
    """
    specs = [spec for spec in source.tables if only is None or spec.name in only]
    headings = read_headings(source)
    with store.lock(f"exports__{source.name}", log=log):
        refresh = ExportPass(
            store,
            source,
            headings,
            allow_shrink=allow_shrink,
            log=log,
            warn=warn or log,
            retry=retry,
        )
        done = list(refresh.run(specs))
        _note(store, source, done, specs=specs, read=refresh)
        return done


def _rows_held(store: Store, source: str) -> int | None:
    """Number of rows of all its tables; None while one of them is unfinished."""
    names = (exports.table_name(source, table) for table in exports.tables_of(store, source))
    held = [exports.exported(store, name) for name in names]
    return sum(each.rows for each in held if each) if all(held) else None


def _note(
    store: Store,
    source: TableSource,
    done: Sequence[Export],
    *,
    specs: Sequence[TableSpec],
    read: "ExportPass",
) -> None:
    """Write down how the source and its tables could be read."""
    unreached = read.unreached
    looks = {
        item.table: replace(look, seen=read.seen.get(item.table))
        for item in done
        if (look := item.look)
    }
    reasons = {look.reason for look in looks.values()}
    if unreached is None and len(looks) > 1 and len(reasons) == 1:
        [unreached] = reasons  # the connection broke: all tables say the same
    is_changed = any(look.is_changed for look in looks.values())
    note(
        store,
        source.name,
        whole=Look(
            unreached,
            is_changed=is_changed,
            held=_rows_held(store, source.name),
            settings=fingerprint(source.model_dump_json()),
            may_shrink=read.allow_shrink,
        ),
        parts=looks if unreached is None else {},
        keep=lambda table: (
            (spec := spec_of(source, table)) is not None
            and (unreached is not None or spec not in specs)
        ),
    )


@dataclass(slots=True)
class Chosen:
    """A table on its way through a pass."""

    spec: TableSpec
    table: str
    seconds: float = 0.0
    """Wall time spent on it so far. Tables that land together share the time that this takes."""
    request: TableRequest = field(default_factory=TableRequest)
    mark: str | None = None
    """What the table looked like before it was read."""


@contextmanager
def _timed(items: Sequence[Chosen]) -> Generator[None]:
    """Add the wall time of the block to `items`, in equal shares."""
    started = time.monotonic()
    try:
        yield
    finally:
        share = (time.monotonic() - started) / len(items)
        for item in items:
            item.seconds += share


class ExportPass:
    """One pass over the tables of a source."""

    folder: Path
    """What is read goes here; it is removed at the end of the pass."""

    def __init__(
        self,
        store: Store,
        source: TableSource,
        headings: Headings,
        *,
        allow_shrink: bool,
        log: Callable[[str], None],
        warn: Callable[[str], None],
        retry: bool,
    ) -> None:
        self.store = store
        self.source = source
        self.headings = headings
        self.allow_shrink = allow_shrink
        self.log = log
        self.retry = retry
        self.outcomes = self._outcomes(warn)
        self.unreached: str | None = None
        """Why the source as a whole cannot be read, and what to do."""
        self.seen: dict[str, str] = {}
        """What a cheap look saw of each table before it was read."""

    def run(self, specs: Sequence[TableSpec]) -> Iterator[Export]:
        """Refresh the tables of `specs`, one after another."""
        with self._landing() as self.folder:
            yield from self._run(specs)

    def _run(self, specs: Sequence[TableSpec]) -> Iterator[Export]:
        held = self._held()
        try:
            origin = self._open()
            names = origin.names()
            self.outcomes.keep(origin)
        except SourceError as error:
            self.unreached = str(error)
            self.outcomes.warn(self.unreached)
            for spec in specs:
                mine = [table for table in held if spec_of(self.source, table) is spec]
                for table in mine or [spec.name]:
                    yield self.outcomes.failed(spec, table, self.unreached, is_told=True)
            return
        seen = set()
        fitting = [name for name in names if len(name) <= LONGEST_TABLE_NAME]
        with closing(origin):
            for export in chain(
                self._too_long(set(names) - set(fitting), specs),
                self._of_tables(origin, fitting, specs, held=held),
            ):
                seen.add(export.table)
                yield export
        # After all tables: only now is it known which ones the source has no more.
        self.outcomes.forget(specs, besides=seen)
        for table in held:
            if spec_of(self.source, table) is None:
                self.log(f"{self.source.name}/{table} is no longer in the config: removed")
                self.outcomes.remove(table)

    def _open(self) -> Origin:
        if self.source.dlt is None:
            return open_origin(self.source, log=self.log)
        from rag_assets.sources.dlt_tables import DltTables

        return DltTables(self.source, self.store, work=self.folder)

    def _held(self) -> list[str]:
        """The tables that lie here, those included whose snapshot could not be taken over.

        One that is both unfinished and damaged cannot say which table it is, but an earlier pass
        noted it.
        """
        name = self.source.name
        noted = readability(self.store, name).parts
        known = [table for table in noted if self.store.exists(exports.table_name(name, table))]
        return sorted({*exports.tables_of(self.store, name), *known})

    def _outcomes(self, warn: Callable[[str], None]) -> Outcomes:
        """Who notes down what became of the tables."""
        return Outcomes(self.store, self.source, log=self.log, warn=warn)

    def _landing(self) -> AbstractContextManager[Path]:
        """An empty folder for what is read."""
        return landing(self.store, f"exports__{self.source.name}")

    def _of_tables(
        self,
        origin: Origin,
        names: Sequence[str],
        specs: Sequence[TableSpec],
        *,
        held: Sequence[str],
    ) -> Iterator[Export]:
        chosen: list[Chosen] = []
        for spec in specs:
            if spec.is_pattern:
                mine = [table for table in held if spec_of(self.source, table) is spec]
                there = [name for name in names if spec_of(self.source, name) is spec]
                chosen += [Chosen(spec, table) for table in there]
                hidden = [table for table in mine if origin.may_hold(table)]
                yield from self._gone(origin, spec, held=mine, there=[*there, *hidden])
                if not there and not mine:
                    yield self.outcomes.failed(spec, spec.name, self._missing(origin, spec, names))
            elif spec.name in names or spec.name in origin.unlisted():
                chosen.append(Chosen(spec, spec.name))
            else:
                yield self.outcomes.failed(spec, spec.name, self._missing(origin, spec, names))
        yield from self._refresh(origin, chosen)

    def _too_long(self, names: Collection[str], specs: Sequence[TableSpec]) -> Iterator[Export]:
        """Tables whose names are longer than is allowed."""
        for name in sorted(names):
            spec, shown_name = spec_of(self.source, name), f"{name[:SHOWN_OF_NAME]}…"
            if spec is not None and spec in specs:
                yield self.outcomes.failed(
                    spec,
                    shown_name,
                    f"{self.source.name}: the table {shown_name} has a name of {len(name):,} "
                    f"characters, more than {LONGEST_TABLE_NAME}: rename it, or exclude it",
                )

    def _gone(
        self, origin: Origin, spec: TableSpec, *, held: Sequence[str], there: Sequence[str]
    ) -> Iterator[Export]:
        """Remove the tables of a pattern that are gone from the source.

        That is to be confirmed where most of the tables or rows would go, and where the source may
        hide a table: a right that was taken and a table that was dropped look the same. Of a few
        tables without rows nothing can be lost.
        """
        gone, new = sorted(set(held) - set(there)), set(there) - set(held)
        if not gone:
            return
        exported = {table: self.outcomes.exported(table) for table in held}
        rows = {table: found.rows if found else None for table, found in exported.items()}
        lost, all_rows = (sum(rows[table] or 0 for table in each) for each in (gone, held))
        is_most = len(gone) - len(new) > len(held) * SHRINK_LIMIT
        is_most |= not new and lost > all_rows * SHRINK_LIMIT
        for table in gone:
            is_asked = is_most or (rows[table] != 0 and not origin.lists_all)
            if self.allow_shrink or not is_asked:
                self.log(f"{self.source.name}/{table} is gone from the source: removed")
                yield self.outcomes.removed(spec, table)
                continue
            counted = "its rows" if rows[table] is None else f"its {rows[table]:,} rows"
            yield self.outcomes.failed(
                spec,
                table,
                f"{self.source.name}/{table} is not among the tables of its source any more: it "
                "was deleted or renamed, or the right to read it was taken. Nothing was deleted, "
                f"{counted} stay. If it is gone for good, refresh with --allow-shrink (in the UI: "
                "allow_shrink in the run's config); otherwise give it back",
            )

    def _refresh(self, origin: Origin, chosen: Sequence[Chosen]) -> Iterator[Export]:
        """Read the tables that moved, all in one go, and take over what changed."""
        moved: list[Chosen] = []
        for item in chosen:
            try:
                with _timed([item]):
                    done = self._look(origin, item)
            except SourceError as error:
                yield self.outcomes.failed(item.spec, item.table, str(error))
                continue
            if done is None:
                moved.append(item)
            else:
                yield self.outcomes.unchanged(item.spec, item.table, done, seconds=item.seconds)
        if moved:
            for item, reading in self._landed(origin, moved, folder=self.folder):
                yield self._brought_up(origin, item, reading, folder=self.folder)

    def _look(self, origin: Origin, item: Chosen) -> ExportedTable | None:
        """What is held of a table that looks the same as then; else prepare to read it."""
        declared = [name for name, _ in origin.describe(item.table).columns]
        if declared:
            self._require(item.spec, item.table, declared)
        increment = increment_of(origin, item.spec, item.table)
        item.mark = self._mark(origin, item, increment)
        held = self._sound(item)
        failures = sync.quarantined(self.store, self.outcomes.target(item.table))
        is_due = self.retry and bool(failures)
        is_due = is_due or any(failure.kind == "environment" for failure in failures)
        if held and held.completion.made_from == item.mark and not is_due:
            return held
        known = None if failures else self._last_read(origin, item, held)
        item.request = TableRequest(increment, known, item.spec.decimal, item.spec.read.wishes)
        return None

    def _sound(self, item: Chosen) -> ExportedTable | None:
        """What is held of a table, if it is complete and its files are as they have to be."""
        held = self.outcomes.exported(item.table)
        if held is None:
            return None
        try:
            self.store.check_as_left(held.name, held.completion)
        except DamagedTablesError as error:
            damaged = ", ".join(error.errors)
            self.log(
                f"{self.source.name}/{item.table}: {damaged} is damaged: the table is read again"
            )
            return None
        return held

    def _last_read(
        self, origin: Origin, item: Chosen, held: ExportedTable | None
    ) -> LastRead | None:
        """What is held, if it has the key and recipe of now and is as the last pass left it."""
        if held is None:
            return None
        known = held.completion.read_at or {}
        if known.get("recipe") != _recipe(origin, item.table) or not _is_as_left(held):
            return None
        described = origin.describe(item.table)
        key = list(held.about.key)
        candidates = _key_candidates([name for name, _ in described.columns])
        wanted = list(item.spec.key or described.key) or candidates[:1]
        if wanted and wanted != key:
            return None
        return LastRead(
            key,
            memory=known.get("memory", ""),
            newest=lambda column: exporting.newest(held, column=column),
        )

    def _landed(
        self, origin: Origin, items: Sequence[Chosen], *, folder: Path
    ) -> Iterator[tuple[Chosen, Landed | Exception]]:
        """Land tables together; where that fails, each by itself, to tell which one fails."""
        failure: SourceError | LandingError
        stuck: Chosen | None = None
        try:
            with _timed(items):
                readings = [
                    self._reading(origin, item, name=f"t{place}", folder=folder / "together")
                    for place, item in enumerate(items)
                ]
                resources = [resource for reading in readings for resource in reading.resources]
                files = land(resources, folder=folder / "together")
        except (SourceError, LandingError) as error:
            failure = error.__cause__ if isinstance(error.__cause__, LimitError) else error
            if isinstance(failure, LimitError):
                stuck = next((item for item in items if item.table == failure.table), None)
        else:
            for item, reading in zip(items, readings, strict=True):
                yield item, reading.landed(files)
            return
        if stuck is not None:
            yield stuck, failure
            others = [item for item in items if item is not stuck]
            if others:  # not one by one: the table would be waited for again
                yield from self._landed(origin, others, folder=folder / "others")
        elif isinstance(failure, LandingError) and origin.relaxes(failure):
            self.log(f"{self.source.name}: {failure}: reading it another way")
            yield from self._landed(origin, items, folder=folder / "again")
        # One of them is to blame, and nobody says which: each by itself, so that the others land.
        elif len(items) > 1:
            for place, item in enumerate(items):
                yield from self._landed(origin, [item], folder=folder / f"alone{place}")
        else:
            yield items[0], failure

    def _reading(self, origin: Origin, item: Chosen, *, name: str, folder: Path) -> Reading:
        return origin.reading(item.table, name=name, folder=folder / name, request=item.request)

    def _brought_up(
        self, origin: Origin, item: Chosen, landed: Landed | Exception, *, folder: Path
    ) -> Export:
        """Take over what changed in one table; read it whole where the newest rows do not do."""
        work = folder / "taken" / fingerprint(item.table)
        try:
            if isinstance(landed, Exception):
                raise landed
            done = None
            with suppress(StaleKeysError), _timed([item]):
                done = self._export(origin, item, landed, work=work / "first")
            if done is None:  # not while an error is handled: it would pass for the next one's
                self.log(f"{self.source.name}/{item.table}: reading the whole table")
                item.request = replace(item.request, last=None)
                [(_, again)] = self._landed(origin, [item], folder=work / "whole")
                if isinstance(again, Exception):
                    raise again
                landed = again
                with _timed([item]):
                    done = self._export(origin, item, landed, work=work / "whole")
        except (SourceError, sync.ShrinkError) as error:
            return self.outcomes.failed(item.spec, item.table, str(error))
        except (LandingError, ContentError) as error:
            reason = (
                f"{self.source.name}/{item.table} cannot be read ({first_line(error)}): correct "
                "the table or the rights on it; it is tried again at the next refresh"
            )
            return self.outcomes.failed(item.spec, item.table, reason)
        remove_folder(work)
        return replace(done, report=replace(done.report, seconds=item.seconds))

    def _mark(self, origin: Origin, item: Chosen, increment: Increment | None) -> str | None:
        """What the table looks like, together with all that decides how it is read."""
        observed = origin.observed(item.table, increment=increment)
        self.seen[item.table] = observed or origin.glance(item.table, increment=increment)
        if observed is None:
            return None
        listed = dict(headings_of(self.headings, item.table))
        recipe = _recipe(origin, item.table)
        return fingerprint(recipe, observed, item.spec.model_dump_json(), listed)

    def _export(self, origin: Origin, item: Chosen, landed: Landed, *, work: Path) -> Export:
        spec, table = item.spec, item.table
        described = origin.describe(table)
        columns = landed.schema.names
        if not columns:
            raise SourceError(
                f"{self.source.name}/{table} has no columns: add some, or name it in `exclude`"
            )
        self._require(spec, table, columns)
        own = {} if spec.is_pattern else spec.headings
        listed = headings_of(self.headings, table)
        given = (own, listed, described.comments, landed.notes.headings)
        headings = {
            name: next((found for each in given if (found := each.get(name))), name)
            for name in columns
        }
        about = About(
            source=self.source.name,
            table=table,
            title=(None if spec.is_pattern else spec.title) or described.title or table,
            key=spec.key or described.key,
            hidden=spec.hidden,
            headings=headings,
            read=landed.notes.read,
            shown=landed.notes.shown,
            units={name: unit for name, unit in spec.units.items() if name in columns},
            decimal=spec.decimal or landed.notes.decimal,
            foreign_keys=described.foreign_keys,
        )
        return self._taken(
            item,
            exporting.ExportRequest(
                self.store,
                landed=landed,
                about=about,
                key_candidates=_key_candidates(columns),
                look=item.mark or "",
                recipe=_recipe(origin, item.table),
                work=work,
                allow_shrink=self.allow_shrink,
                log=self.log,
            ),
        )

    def _taken(self, item: Chosen, request: exporting.ExportRequest) -> Export:
        """Take over what changed in one table, and tell once what was guessed."""
        for guess in request.landed.notes.guesses:
            self.log(guess)
        done = exporting.export_table(request)
        return self.outcomes.updated(item.spec, item.table, done, request.landed)

    def _require(self, spec: TableSpec, table: str, columns: Sequence[str]) -> None:
        units = () if spec.is_pattern else spec.units
        for wanted in (*spec.key, *([spec.cursor] if spec.cursor else []), *units):
            if wanted not in columns:
                raise SourceError(
                    f"{self.source.name}/{table} has no column {wanted}: correct its key, "
                    f"cursor or units in the config; there are {', '.join(columns)}"
                )

    def _missing(self, origin: Origin, spec: TableSpec, names: Sequence[str]) -> str:
        there = ", ".join(names) if names else "none"
        what = f"no table that matches {spec.name}" if spec.is_pattern else f"no table {spec.name}"
        return (
            f"{self.source.name}: {shown(self.source)} has {what}: create it, or correct "
            f"sources.tables; the tables there: {there}{origin.hint()}"
        )


def _recipe(origin: Origin, table: str) -> str:
    """What the code reads of a table, and says of it."""
    return f"{RECIPE}, {origin.recipe(table)}"


def _is_as_left(held: ExportedTable) -> bool:
    """Whether the rows lie as the last pass left them, and can be read."""
    try:
        return held.version is not None
    except DamagedTablesError:
        return False  # read whole, the table is begun anew


def _key_candidates(columns: Sequence[str]) -> list[str]:
    """The columns that become the key if their values are unique, the first choice first."""
    return [name for wanted in KEY_NAMES for name in columns if name.lower() == wanted]
