"""One examination: each table is read once, and held against what it was made from.

A table is compared with its inputs only where its record says that it was made from them as they
are now, and nothing is wrong with them: what follows from a fault further up goes with it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rag_assets.change.steps import Step
from rag_assets.index.steps import UnitVectors
from rag_assets.operations.doctor import (
    deep,
    differences,
    files,
    indexes,
    records,
    row_faults,
    side_tables,
    surroundings,
)
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice, step_tables
from rag_assets.operations.doctor.faults import Fault
from rag_assets.operations.doctor.table_scan import Census, census_of
from rag_assets.store.catalog import generation_in
from rag_assets.store.damage import DAMAGE, DamagedTablesError, is_of_files
from rag_assets.store.rows_by_id import MissingTableError
from rag_assets.store.table_locations import UnreachableTablesError


@dataclass(slots=True)
class Examination:
    """What an examination found."""

    faults: list[Fault] = field(default_factory=list)
    tables: int = 0
    """Tables that were read."""
    rows: int = 0
    """The number of rows of these tables."""

    @property
    def found(self) -> Sequence[Fault]:
        """The faults, but for notes."""
        return [each for each in self.faults if each.severity != "note"]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong; notes are as they may be."""
        return not self.found


def examine(practice: Practice) -> Examination:
    """Look for all kinds of findings that have a code of the doctor; nothing is written.

    Raises:
        UnreachableTablesError: The object store that holds the tables does not answer.
    """
    done = Examination()
    looker = _Looker(practice)
    for table in step_tables(practice):
        done.faults += looker.look_at(table)
    done.faults += looker.beside_tables()
    done.tables, done.rows = len(looker.censuses), sum(map(len, looker.censuses.values()))
    for look in (
        records.stray_records,
        records.export_faults,
        records.set_faults,
        records.pointer_faults,
        records.tags,
        side_tables.quarantine_faults,
        records.leftover_faults,
        surroundings.source_file_faults,
        surroundings.language_model_faults,
    ):
        done.faults += looker.guarded(look)
    return done


class _Looker:
    """Goes through the tables in the order in which they are built."""

    def __init__(self, practice: Practice) -> None:
        self.censuses: dict[str, Census] = {}
        """Of the tables that could be read, by what they are known as: recipes may share one."""
        self._practice = practice
        self._is_at_work = {lock.name for lock in practice.store.held_locks()}
        self._unsound: set[str] = set()
        """Tables with a fault, or that wait for a refresh: nothing is held against them."""
        self._damaged: set[str] = set()

    def look_at(self, table: ExaminedTable) -> list[Fault]:
        """The faults of one table."""
        practice, store, name = self._practice, self._practice.store, table.step.table
        if not store.exists(name):
            self._unsound.add(store.known_as(name))
            fault = files.lost(practice, table)
            return [fault] if fault else []
        practice.log(f"reading {table.subject(store)}")
        try:
            found = self._faults_of(table)
        except UnreachableTablesError:
            raise
        except MissingTableError:  # a clean-up by another process removed it meanwhile
            found = []
        except (DamagedTablesError, *DAMAGE) as error:
            if not (isinstance(error, DamagedTablesError) or is_of_files(error)):
                raise
            found = [self._damage(table, error)]
            self._damaged.add(store.known_as(name))
        if self._is_written(table):
            found = [
                Fault(
                    kind="being-written",
                    subject=table.subject(store),
                    variants=table.variants,
                )
            ]
        if found:
            self._unsound.add(store.known_as(name))
        return found

    def _damage(self, table: ExaminedTable, error: BaseException) -> Fault:
        """What an error says while a table was read: of which one, it knows best."""
        if not isinstance(error, DamagedTablesError):
            return files.damaged_by(self._practice, table.step.table, str(error), of=table)
        [(folder, wrong), *_] = error.errors.items()
        return files.damaged_by(self._practice, generation_in(folder), str(wrong), of=table)

    def _known(self, step: Step) -> list[str]:
        """What the tables of the inputs of a step are known as."""
        return [self._practice.store.known_as(each.table) for each in step.inputs]

    def beside_tables(self) -> list[Fault]:
        """The faults of accounts and pictures."""
        found: list[Fault] = []
        for name, table in files.side_tables(self._practice, step_tables(self._practice)):
            if fault := files.damaged(self._practice, name, of=table):
                found.append(fault)
        return found

    def guarded(self, look: Callable[[Practice], Iterator[Fault]]) -> list[Fault]:
        """What `look` finds; nothing where a table that it reads is damaged: that is told."""
        try:
            return list(look(self._practice))
        except DamagedTablesError as error:
            self._practice.log(f"not looked at: {error}")
            return []

    def _faults_of(self, table: ExaminedTable) -> list[Fault]:
        practice, step = self._practice, table.step
        if fault := files.damaged(practice, step.table, of=table):
            self._damaged.add(practice.store.known_as(step.table))
            return [fault]
        census = census_of(practice.store, step)
        self.censuses[practice.store.known_as(step.table)] = census
        found = list(row_faults.faults_of(practice, table, census))
        if waits := records.unfinished(practice, table):
            return [*found, waits]
        is_comparable = not self._unsound.intersection(self._known(step))
        planned = differences.plan_of(practice, table) if is_comparable else None
        if planned and (waits := differences.waiting(practice, table, planned)):
            return [*found, waits]
        if planned and not step.kind.completes:
            found += differences.faults_of(practice, table, planned)
        if is_comparable and step.kind.completes:
            found += self._union(table, census)
        elif is_comparable and not found:
            found += self._of_source(table, census)
        if not found and (step.kind.completes or isinstance(step.kind, UnitVectors)):
            found += indexes.faults_of(practice, table)
            if practice.is_deep and not found:
                found += deep.faults_of(practice, table, census)
        if not found and (fault := records.false_record(practice, table, census)):
            found.append(fault)
        return found

    def _union(self, table: ExaminedTable, census: Census) -> Iterator[Fault]:
        """How the joint table differs from its parts."""
        parts = [self.censuses[name] for name in self._known(table.step)]
        yield from row_faults.joint_faults(self._practice, table, census, parts=parts)
        yield from row_faults.mixed_parts(self._practice, table, census, parts=parts)

    def _of_source(self, table: ExaminedTable, census: Census) -> Iterator[Fault]:
        """What a table that has the right rows does not have as its inputs say."""
        yield from side_tables.faults_of(self._practice, table)
        yield from row_faults.text_faults(self._practice, table, census)
        if isinstance(table.step.kind, UnitVectors):
            [texts_of] = self._known(table.step)
            source = self.censuses[texts_of]
            yield from row_faults.other_texts(self._practice, table, census, texts=source)

    def _is_written(self, table: ExaminedTable) -> bool:
        """Whether somebody writes the table, or did since it was read."""
        store = self._practice.store
        name = store.known_as(table.step.table)
        if name in self._is_at_work:
            return True
        census = self.censuses.get(name)
        if census is None or name in self._damaged:
            return False
        return (store.generation(name), store.version(name)) != (census.table, census.version)
