"""The state of a project: LanceDB tables, their locks and the record of finished passes.

Nothing else opens a table. Every commit is atomic: a reader sees the table before it or after
it, never in between. A lock dies with the process that holds it, so that a killed run blocks
nobody. Tables may lie in an object store; locks and records lie in the state folder even then, and
whoever writes mounts that folder: another one is refused (see `owners`). LanceDB is imported on
first use of a table, not before: whoever only asks what was finished does not pay for it.
"""

import errno
import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from rag_assets.columns.gathered import ROWS_AT_ONCE, gathered
from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.config import Config
from rag_assets.identity import fingerprint
from rag_assets.process.memory import share_arenas
from rag_assets.store import former_state, state_format
from rag_assets.store.atomic import take_away, write_atomically
from rag_assets.store.catalog import Catalog, folder_of, generation_in, name_of, number_of
from rag_assets.store.completions import PassRecord
from rag_assets.store.damage import (
    DAMAGE,
    DamagedTablesError,
    data_files,
    difference,
    is_of_files,
    is_panic,
)
from rag_assets.store.locks import HeldLock, held_locks, locked, locked_if_free
from rag_assets.store.owners import own
from rag_assets.store.rows_by_id import ROW_ID, MissingTableError, rows_of
from rag_assets.store.table_locations import Bucket, Folder, Place, Stamp

if TYPE_CHECKING:
    from lance import LanceDataset, LanceOperation, Session
    from lance.fragment import FragmentMetadata
    from lancedb.db import DBConnection
    from lancedb.table import Table as LanceTable

LOCKS = "locks"
"""Folder of the locks, below the state."""
HEADS_BYTES = 32 * 2**20
"""How much a store remembers of manifests, file footers and indexes."""

BATCHES_AHEAD = 4
"""Batches that are read while one is used: each takes memory."""

RUN = "rag_assets.run"
"""The property of a commit that names the run of Dagster which made it."""
ROW_BITS = np.uint64(32)
"""The upper bits of a row's id name its fragment."""
KEYS_NAMED_TO_DELETE = 500
"""More keys than this are deleted by a join, in one commit: a statement that names 5,000 takes 300
bytes a row."""


class Store:
    """All tables below one state folder."""

    def __init__(
        self,
        root: Path,
        *,
        tables: str | None = None,
        work: str | None = None,
        run: str | None = None,
    ) -> None:
        """Open the state at `root`; the folder is made when something is first written.

        Args:
            root: Folder of locks, records and everything that is no table.
            tables: URL of an object store that holds the tables; they lie in `root` without one.
            work: What this process works on, for people who wait for its locks.
            run: Id of the run that it works for; each commit of rows is marked with it.
        """
        share_arenas()
        self.root = root
        self._work = work
        self._properties = {RUN: run} if run else {}
        self._tables: Place = Bucket(tables) if tables else Folder(root / "lance")
        self._is_local = tables is None
        self._is_own = self._is_local
        self._looked_at: set[str] = set()
        """Generations whose files were found as long as they have to be."""
        self._catalog = Catalog(
            root / "tables.json",
            written=self.generations,
            lock=lambda: locked(root / LOCKS / "tables.lock", log=lambda _: None),
        )
        self.encoders = root / "encoders"
        """What is derived from weights: their hashes, the chosen paths, exported graphs."""

    @classmethod
    def of(cls, config: Config, *, work: str | None = None, run: str | None = None) -> Self:
        """The state that belongs to `config`.

        Raises:
            StateFormatError: It is of a form that this release does not know.
            ConfigError: It was built by defaults that are gone, and `config` names none.
        """
        store = cls(config.state_dir, tables=config.tables_url, work=work, run=run)
        is_noted = state_format.is_noted(store.root)
        if not is_noted and "defaults" not in config.model_fields_set:
            former_state.check(config)
        return store

    @cached_property
    def _database(self) -> "DBConnection":
        return self._tables.connect()

    @cached_property
    def _session(self) -> "Session":
        """What was read of manifests and file footers: one refresh opens a table many times."""
        from lance import Session

        return Session(index_cache_size_bytes=HEADS_BYTES, metadata_cache_size_bytes=HEADS_BYTES)

    def exists(self, name: str) -> bool:
        """Whether the table was ever written; a run that was killed before leaves only folders."""
        return self._tables.exists(self._folder(name))

    def names(self) -> list[str]:
        """All tables, sorted."""
        named = {name_of(each) for each in self.generations()}
        return sorted(name for name in named if self.exists(name))

    def generations(self) -> list[str]:
        """All generations of all tables that lie here, those that are retired included, sorted."""
        return sorted(map(generation_in, self._tables.names()))

    def stock(self, *prefixes: str, log: Callable[[str], None]) -> list[str]:
        """Generations whose names begin so and that can be read: what they hold may be reused.

        One that is damaged is named through `log` and left out: nobody may need it.
        """
        found = []
        for generation in self.generations():
            if generation.startswith(prefixes):
                try:
                    self._dataset(generation)
                except DamagedTablesError as error:
                    log(f"a damaged table is not used: {error}")
                else:
                    found.append(generation)
        return found

    def generation(self, name: str) -> str:
        """The generation that a table's name means now: what stays the same is to be read there."""
        return self._catalog.generation(name)

    def uri(self, name: str) -> str:
        """The place of the table: a folder, or a URL of the object store."""
        return self._tables.uri(self._folder(name))

    def known_as(self, name: str) -> str:
        """The name under which the records of a table are kept, whatever its recipe is called."""
        return name_of(self.generation(name))

    def open(self, name: str, *, version: int | None = None, apart: bool = False) -> "LanceTable":
        """The table itself, for searching and for its indexes; at `version` if one is given.

        What Lance remembers of its indexes, up to 6 GB, stays for whoever opens it next; of a table
        that is opened `apart` it goes with it.

        Raises:
            MissingTableError: No refresh has built it yet.
            DamagedTablesError: Its files cannot be read.
        """
        from lancedb.table import LanceTable

        self._dataset(name, version=version)
        database = self._tables.connect() if apart else self._database
        table = database.open_table(self._folder(name))
        assert isinstance(table, LanceTable), "the store opens local and object-store tables only"
        if version is not None:
            table.checkout(version)
        return table

    def dataset(self, name: str, *, version: int | None = None) -> "LanceDataset":
        """A version, or the newest, as Lance has it: for whoever looks at its versions and files.

        Raises:
            MissingTableError, DamagedTablesError: As for `open`.
        """
        return self._dataset(name, version=version)

    def _dataset(self, name: str, *, version: int | None = None) -> "LanceDataset":
        """The table for reading, without the import of LanceDB, which takes three times as long."""
        import lance

        generation = self.generation(name)
        if not self._tables.exists(folder_of(generation)):
            raise MissingTableError(name)
        with self._naming(generation):
            dataset = lance.dataset(
                self._tables.uri(folder_of(generation)), version=version, session=self._session
            )
        if not dataset.schema.names:  # how Lance reads a manifest that a power cut left as zeros
            raise DamagedTablesError({folder_of(generation): "its manifest is empty"})
        if self._is_local and generation not in self._looked_at:
            self._check(generation, dict(data_files(dataset.get_fragments())))
            self._looked_at.add(generation)
        return dataset

    def check(self, name: str, *, version: int | None = None) -> None:
        """Look whether all files of the table's rows are as long as they have to be.

        Raises:
            MissingTableError: No refresh has built it yet.
            DamagedTablesError: One is gone or cut short.
        """
        dataset = self._dataset(name, version=version)
        self._check(self.generation(name), dict(data_files(dataset.get_fragments())))

    def check_as_left(self, name: str, left: PassRecord) -> None:
        """Check the files of the table as the pass `left` them; only a folder is looked at.

        Raises:
            DamagedTablesError: A file is gone or cut short.
        """
        if self._is_local:
            self._check(self.generation(name), left.sizes)

    def sizes(self, name: str) -> dict[str, int]:
        """How long each file of the table's rows is, in bytes, by its path below the folder."""
        return dict(data_files(self._dataset(name).get_fragments()))

    def gone(self, name: str, paths: Sequence[str]) -> frozenset[str]:
        """Those of these files of a table, by their path below its folder, that are not there."""
        found = self._tables.sizes(folder_of(self.generation(name)), paths)
        return frozenset(path for path, size in found.items() if size is None)

    def _check(self, generation: str, sizes: Mapping[str, int]) -> None:
        folder = folder_of(generation)
        if wrong := difference(sizes, self._tables.sizes(folder, list(sizes))):
            raise DamagedTablesError({folder: wrong})

    @contextmanager
    def _naming(self, generation: str) -> Generator[None]:
        """What Lance raises of damaged files says of which table."""
        try:
            yield
        except DAMAGE as error:
            if not self._is_local or not is_of_files(error):
                raise
            raise DamagedTablesError({folder_of(generation): error}) from error
        except BaseException as error:  # a panic of Lance is no Exception; all else goes on
            if not is_panic(error):
                raise
            raise DamagedTablesError({folder_of(generation): error}) from error

    def version(self, name: str) -> int:
        """The newest version of the table, to pin what a run reads."""
        return self._dataset(name).version

    def count(self, name: str, *, where: str | None = None) -> int:
        """Number of rows, 0 if there is no such table yet; a finished table is not opened."""
        ended = None if where else self.ended(name)
        if ended:
            return ended.rows
        return self._dataset(name).count_rows(where) if self.exists(name) else 0

    def versions(self, name: str) -> list[int]:
        """All versions that can still be read, oldest first."""
        return sorted(int(each["version"]) for each in self._dataset(name).versions())

    def files(self, name: str, *, version: int | None = None) -> str | None:
        """A hash of what a version of the table lies in, no other's; None if it is gone.

        The newest version unless one is given.
        """
        try:
            fragments = self._dataset(name, version=version).get_fragments()
        except (MissingTableError, ValueError):
            if version is None and self.exists(name):
                raise
            return None
        described = [fragment.metadata.to_json() for fragment in fragments]
        return fingerprint(
            [[each["id"], each["files"], each["deletion_file"]] for each in described]
        )

    def stamp(self, name: str, *, version: int) -> Stamp | None:
        """What tells a version at a glance from another of the same number; None in a bucket."""
        return self._tables.stamp(self._folder(name), version)

    def schema(self, name: str, *, version: int | None = None) -> pa.Schema:
        """The table's schema as it stands on disk."""
        return self._dataset(name, version=version).schema

    def read(
        self,
        name: str,
        *,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        version: int | None = None,
    ) -> pa.Table:
        """Rows as Arrow, only the named `columns` read from disk."""
        dataset = self._dataset(name, version=version)
        with self._naming(self.generation(name)):
            return dataset.to_table(columns=list(columns) if columns else None, filter=where)

    def batches(
        self,
        name: str,
        *,
        columns: Sequence[str] | dict[str, str] | None = None,
        where: str | None = None,
        version: int | None = None,
        rows: int = 8_192,
        with_row_ids: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Read rows in batches of at most `rows`, for tables larger than memory.

        `columns` may also be expressions by name. The column `ROW_ID` comes last if asked for.
        """
        chosen = columns if columns is None or isinstance(columns, dict) else list(columns)
        batches = self._dataset(name, version=version).to_batches(
            columns=chosen,
            filter=where,
            batch_size=rows,
            batch_readahead=BATCHES_AHEAD,
            with_row_id=with_row_ids,
        )
        generation = self.generation(name)
        while True:
            with self._naming(generation):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def take(
        self,
        name: str,
        row_ids: np.ndarray,
        *,
        columns: Sequence[str] | dict[str, str],
        version: int,
    ) -> pa.Table:
        """The rows of these `row_ids`, in that order: `batches` tells them, at the same version."""
        dataset = self._dataset(name, version=version)
        with self._naming(self.generation(name)):
            return rows_of(dataset, row_ids, columns=columns)

    def read_keys(
        self,
        name: str,
        *,
        column: str,
        keys: Sequence[str],
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """The rows whose `column` is one of `keys`, in no particular order."""
        parts = [
            self.read(name, columns=columns, where=is_one_of(column, part))
            for part in parts_of(keys)
        ]
        if parts:
            return pa.concat_tables(parts)
        return self.read(name, columns=columns, where="false")

    def append(self, name: str, rows: pa.Table, *, schema: pa.Schema) -> None:
        """Add `rows` in one commit; the table is made with `schema` if there is none.

        Raises:
            OSError: The disk is full; a table that was to be made is not there.
        """
        if self.exists(name):
            if rows.num_rows:
                self._add(name, rows)
            return
        self._catalog.register(name)
        folder, first = self._folder(name), rows.cast(schema)
        made = self._database.create_table(folder, data=first, schema=schema)
        try:
            self.check_written(name, [part.metadata for part in made.to_lance().get_fragments()])
        except OSError:
            self.drop(name)
            raise

    def _add(self, name: str, rows: pa.Table) -> None:
        """Add `rows` in one commit, which names the run."""
        import lance

        dataset = self._dataset(name)
        fitting = rows.select(dataset.schema.names).cast(dataset.schema)
        change = lance.LanceOperation.Append(self._written(name, fitting, dataset))
        self._commit(dataset, change)

    def _written(
        self, name: str, rows: pa.Table, dataset: "LanceDataset"
    ) -> "list[FragmentMetadata]":
        """The parts of the table with `rows`, which no version names yet.

        Raises:
            OSError: The disk is full.
        """
        from lance.fragment import write_fragments

        fresh = write_fragments(rows, dataset, mode="append")
        self.check_written(name, fresh)
        return fresh

    def check_written(self, name: str, parts: "Sequence[FragmentMetadata]") -> None:
        """Look whether the files of `parts` are whole, before a version names them.

        Raises:
            OSError: The disk is full. Lance does not notice where only the end of a file had no
                room. (pylance 14.0)
        """
        folder, sizes = folder_of(self.generation(name)), dict(data_files(parts))
        if self._is_local and (wrong := difference(sizes, self._tables.sizes(folder, [*sizes]))):
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {wrong}", self.uri(name))

    def _commit(self, dataset: "LanceDataset", change: "LanceOperation.BaseOperation") -> None:
        """Let a version that follows on `dataset` have the `change`, and name the run."""
        import lance
        from lance.dataset import Transaction

        marked = Transaction(dataset.version, change, transaction_properties=self._properties)
        lance.LanceDataset.commit(dataset, marked)

    def run_of(self, name: str, *, version: int) -> str | None:
        """Id of the run whose commit made a version; None if it names none."""
        transaction = self._dataset(name).read_transaction(version)
        return (transaction.transaction_properties or {}).get(RUN) if transaction else None

    def written_at(self, name: str, *, row_id: int, version: int) -> datetime | None:
        """When the file was written that a row lies in; None in a bucket, or if it is gone."""
        fragment = self._dataset(name, version=version).get_fragment(row_id >> int(ROW_BITS))
        if not self._is_local or fragment is None:
            return None
        files = [Path(self.uri(name)) / "data" / file.path for file in fragment.data_files()]
        with suppress(FileNotFoundError):
            return datetime.fromtimestamp(max(file.stat().st_mtime for file in files), UTC)
        return None

    def upsert(self, name: str, rows: pa.Table, *, on: Sequence[str]) -> None:
        """Put `rows` in the place of those that agree in the columns `on`, in one commit."""
        merge = self._dataset(name).merge_insert(list(on))
        merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def row_ids(
        self, name: str, *, column: str, keys: pa.Array | pa.ChunkedArray, version: int
    ) -> np.ndarray:
        """The ids (uint64) of the rows whose `column` is one of `keys`; one column is read."""
        index = KeyIndex(keys)
        batches = self.batches(
            name, columns=[column], version=version, rows=ROWS_AT_ONCE, with_row_ids=True
        )
        found = [
            part[ROW_ID].to_numpy()[index.places(part[column]) != ABSENT]
            for part in gathered(batches)
        ]
        return np.concatenate([np.empty(0, np.uint64), *found])

    def replace(self, name: str, rows: pa.Table, *, group: str, groups: Sequence[str]) -> None:
        """Let `rows` be all there is of `groups` (values of the column `group`), in one commit.

        LanceDB's own way, a merge that deletes what the source lacks, joins the whole table with
        `rows`: at a million rows that takes 0.4 GB and twice the time.
        """
        import lance

        dataset = self._dataset(name)
        replaced = self.row_ids(
            name, column=group, keys=pa.array(groups, pa.string()), version=dataset.version
        )
        updated, emptied = [], []
        for fragment in dataset.get_fragments():
            named = replaced[replaced >> ROW_BITS == fragment.fragment_id].tolist()
            if not named:
                continue
            left = fragment.delete(f"{ROW_ID} IN ({', '.join(map(str, named))})")
            if left is None:
                emptied.append(fragment.fragment_id)
            else:
                updated.append(left)
        fresh = self._written(name, rows, dataset) if rows.num_rows else []
        change = lance.LanceOperation.Update(
            removed_fragment_ids=emptied, updated_fragments=updated, new_fragments=fresh
        )
        self._commit(dataset, change)

    def delete(self, name: str, *, column: str, keys: Sequence[str]) -> None:
        """Delete the rows whose `column` is one of `keys`."""
        if not self.exists(name):
            return
        if len(keys) <= KEYS_NAMED_TO_DELETE:
            for part in parts_of(keys):
                self._dataset(name).delete(is_one_of(column, part))
            return
        named = pa.table({column: pa.array(dict.fromkeys(keys), pa.string())})
        self._dataset(name).merge_insert(column).when_matched_delete().execute(named)

    def retire(self, name: str) -> None:
        """Have a table begun anew, as the next generation; the one writer of the table calls.

        What it holds stays for those who read it, until a clean-up finds that nobody names it.
        """
        self.reopen(name)
        current = self.generation(name)
        numbers = [
            number_of(each) for each in self.generations() if name_of(each) == name_of(current)
        ]
        # Past every number that was ever used: a generation that is still read keeps its folder.
        self._catalog.succeed(name, by=max([number_of(current), *numbers]) + 1)

    def drop(self, name: str) -> None:
        """Remove a table for good, or one generation of it; a killed run leaves it whole or gone.

        With it go its versions and tags. What is only to be begun anew is retired.
        """
        generation = self.generation(name)
        if self.generation(name_of(generation)) == generation:
            self.reopen(name)
        self._tables.drop(folder_of(generation))
        self._looked_at.discard(generation)

    def sweep(self) -> None:
        """Remove what killed runs left of tables that they began or dropped; nobody may write."""
        self._tables.sweep()

    def begun(self) -> list[str]:
        """Generations that a killed run had only begun: there is no version of them."""
        return sorted(map(generation_in, self._tables.begun()))

    def forget(self, name: str) -> None:
        """Remove a generation that nobody names any more, and all that is known of it."""
        generation = self.generation(name)
        self.drop(generation)
        self._catalog.forget(generation)

    def completion(self, name: str) -> PassRecord | None:
        """What the last pass over the table was made from, if it left nothing and still holds."""
        ended = self.ended(name)
        return ended if ended and ended.is_settled and not ended.is_due else None

    def ended(self, name: str) -> PassRecord | None:
        """What the last pass over the table was made from, whether or not it left something."""
        try:
            record = json.loads(self._completion_file(name).read_text("utf-8"))
            completion = PassRecord(**record)
        except (OSError, ValueError, TypeError):
            return None
        return completion if self.exists(name) else None

    def ended_at(self, name: str) -> datetime | None:
        """When the last finished pass over the table ended, one that found nothing to do too.

        In UTC; None while a pass is under way, or if none was finished.
        """
        try:
            seconds = self._completion_file(name).stat().st_mtime
        except FileNotFoundError:
            return None
        return datetime.fromtimestamp(seconds, UTC)

    def found_unchanged(self, name: str) -> None:
        """Note that a pass over the table has just ended that found nothing to do."""
        with suppress(FileNotFoundError):
            os.utime(self._completion_file(name))

    def complete(self, name: str, completion: PassRecord) -> None:
        """Record a pass that went through all its inputs."""
        write_atomically(self._completion_file(name), json.dumps(asdict(completion), indent=1))

    def reopen(self, name: str) -> None:
        """Forget the last pass, before a table is changed."""
        take_away(self._completion_file(name))

    def index_file(self, name: str) -> Path:
        """The file that records how the search indexes of a table stand."""
        return self.root / "indexes" / f"{self.known_as(name)}.json"

    def _completion_file(self, name: str) -> Path:
        return self.root / "completed" / f"{self.known_as(name)}.json"

    def _folder(self, name: str) -> str:
        return folder_of(self.generation(name))

    @contextmanager
    def lock_if_free(self, name: str) -> Generator[bool]:
        """Be the one writer of `name` if nobody is: whether that is so."""
        with locked_if_free(self.root / LOCKS / f"{self.known_as(name)}.lock") as is_free:
            yield is_free

    def own(self, *, takes_over: bool = False) -> None:
        """Be the one state that writes the tables; of those in its own folder it is.

        Raises:
            OtherStateError: Another one is, unless this one `takes_over`.
            UnreachableTablesError: The object store that holds the tables does not answer.
        """
        if not self._is_own:
            own(self._tables, self.root, locks=self.root / LOCKS, takes_over=takes_over)
            self._is_own = True

    @contextmanager
    def lock(self, *names: str, log: Callable[[str], None]) -> Generator[None]:
        """Be the one writer of `names`; wait for whoever is, and say so through `log`.

        Raises:
            OtherStateError: Another state writes the tables.
            StateFormatError: It is of a form that this release does not know.
        """
        self.own()
        state_format.note(self.root)
        for name in names:
            self._catalog.register(name)
        with ExitStack() as locks:
            # In one order for all processes, so that no two of them wait for each other.
            for name in sorted({self.known_as(name) for name in names}):
                path = self.root / LOCKS / f"{name}.lock"
                locks.enter_context(locked(path, log=log, work=self._work))
            yield

    def held_locks(self) -> list[HeldLock]:
        """What is being worked on now, by any process."""
        return list(held_locks(self.root / LOCKS))
