"""Random edits and faults for a given time, then a plain refresh against a build from scratch."""

import random
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.repairing import repair
from rag_assets.store import Store
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.table_locations import remove_folder
from rag_assets_testing.documents import making
from rag_assets_testing.faults import comparing, damaging, project, reading
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.kills import kill, said_by
from rag_assets_testing.faults.pipeline import Runs, clean_up_at_once, refresh
from rag_assets_testing.faults.project import Project

ROUNDS_BETWEEN_LOOKS = 4
FEWEST_DOCUMENTS = 4
READ_LATER = ("documents__", "rows__", "accounts__")
"""Tables of vectors, and what parsers said: a refresh reads them where something changed there."""
LARGE = 1_100_000
"""Bytes of a text that is parsed in a process of its own."""
SECONDS_A_LINE = 0.01
"""Between two lines of a log: with more of them it grows by megabytes while one run is at work."""


@dataclass
class Tally:
    """What happened, and what was found wrong."""

    done: Counter[str] = field(default_factory=Counter)
    """How often each edit and fault was done."""
    kills: int = 0
    looks: int = 0
    """Comparisons with a build from scratch."""
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    embedded_again: list[str] = field(default_factory=list)
    unequal_quarantine: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    """Units that a reader found in the joint table alone, or in its domain alone."""
    unnamed: list[str] = field(default_factory=list)
    """Damaged tables that a refresh did not name."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost, doubled, mixed, embedded twice, blamed wrongly or unnamed."""
        wrong = (self.lost, self.doubled, self.mixed, self.embedded_again)
        return not any((*wrong, self.unequal_quarantine, self.unnamed))


class Chaos:
    """A project to which anything may happen."""

    def __init__(self, made: Project, *, runs: Runs, seed: int) -> None:
        self.project = made
        self.tally = Tally()
        self._runs = runs
        self._random = random.Random(seed)
        self._ledger = made.home / "ledger"
        self._state = made.home / "state"
        self._number = 0
        self._is_robbed = False
        self._seconds = 3.0
        self._edits: list[Callable[[], None]] = [
            self.new_document,
            self.edited_document,
            self.renamed_document,
            self.deleted_document,
            self.swapped_documents,
            self.touched_document,
            self.hostile_document,
            self.half_copied_document,
            self.partly_readable_document,
            self.link_out_of_the_root,
            self.new_rows,
            self.edited_rows,
            self.deleted_rows,
            self.other_columns,
            self.other_type,
            self.twin_keys,
            self.vanished_table,
            self.edited_list,
            self.other_config,
        ]
        self._faults: list[Callable[[], None]] = [
            self.killed_run,
            self.killed_run,
            self.killed_run,
            self.two_runs_and_a_kill,
            self.run_on_a_full_disk,
            self.run_without_documents,
            self.run_on_a_locked_database,
            self.edit_during_a_run,
            self.document_that_grows,
            self.damaged_records,
            self.damaged_files,
            self.overwritten_indexes,
            self.killed_commit,
            self.clean_up,
            self.table_begun_anew,
        ]

    def run(self, *, seconds: float) -> Tally:
        """Do so for `seconds`, and end with a look."""
        deadline = time.monotonic() + seconds
        self._runs.warm_up()
        self._recovered()
        rounds = 0
        while time.monotonic() < deadline and self.tally.is_clean:
            self.edit(times=self._random.randint(1, 4))
            self._do(self._random.choice(self._faults))
            self._read()
            rounds += 1
            if rounds % ROUNDS_BETWEEN_LOOKS == 0:
                self.look()
        self.look()
        return self.tally

    def edit(self, *, times: int) -> None:
        """Do so many random edits."""
        for _ in range(times):
            self._do(self._random.choice(self._edits))

    def look(self) -> None:
        """A plain refresh must end like a build from scratch, but for documents told as stale."""
        self._recovered()
        fresh = self.project.home / "fresh"
        remove_folder(fresh)
        with hashing():
            refresh(self.project.config_with(fresh), allow_shrink=True)
        tables = comparing.tables_of(self.project.config)
        elements = self.project.config.tables_of("default").elements
        stale = comparing.stale(self._state, elements=elements)
        ours, theirs = (
            comparing.contents(each, tables=tables, besides=stale) for each in (self._state, fresh)
        )
        self.tally.looks += 1
        self.tally.lost += comparing.lost(ours, theirs)
        self.tally.doubled += comparing.doubled(ours, theirs)
        ours, theirs = (comparing.quarantine(each, tables=tables) for each in (self._state, fresh))
        blamed = {*ours} ^ {*theirs}
        self.tally.unequal_quarantine += map(str, sorted(blamed))

    def new_document(self) -> None:
        self.project.write(f"new/{self._next()}.md", project.report(self._next()))

    def edited_document(self) -> None:
        path = self._document()
        edition = self._next()
        self._put(path, project.report(edition, edition=edition))

    def renamed_document(self) -> None:
        path = self._document()
        path.rename(path.with_name(f"renamed{self._next()}{path.suffix}"))

    def deleted_document(self) -> None:
        if len(self._documents()) > FEWEST_DOCUMENTS:
            self._document().unlink()

    def swapped_documents(self) -> None:
        first, second = self._random.sample(self._documents(), 2)
        aside = self.project.home / "aside"
        first.rename(aside)
        second.rename(first)
        aside.rename(second)

    def touched_document(self) -> None:
        project.age(self._document(), seconds=self._random.uniform(10, 1e8))

    def hostile_document(self) -> None:
        content = self._random.choice(
            [
                b"nul \x00 byte",
                b"\xed\xa0\x80 alone",
                "עברית 👩‍👩‍👧 \u202e".encode(),
                b"",
                b"%PDF-1.7\nbroken",
                b"large text " * (LARGE // 11),
            ]
        )
        self.project.write(f"hostile{self._next() % 5}.md", content)

    def half_copied_document(self) -> None:
        content = self._random.choice([b"", b"PK\x03\x04 half a file", b"%PDF-1.7\nhalf a file"])
        path = self._document()
        path.write_bytes(content)
        project.age(path, seconds=self._random.uniform(5, 500))

    def partly_readable_document(self) -> None:
        path = self.project.documents / f"partly{self._next() % 3}.pdf"
        project.age(making.partly_readable(path, f"The page that is left, {self._next()}"))

    def link_out_of_the_root(self) -> None:
        link = self.project.documents / f"link{self._next()}.md"
        link.symlink_to(self._random.choice([self.project.file, self.project.documents, link]))

    def new_rows(self) -> None:
        first = 100_000 + 10 * self._next()
        rows = ", ".join(f"({first + n}, 'new {first + n}')" for n in range(4))
        self._execute(f"INSERT INTO tests (id, name) VALUES {rows}")

    def edited_rows(self) -> None:
        rest = self._random.randrange(7)
        text = f"edited {self._next()}"
        self._execute(f"UPDATE tests SET name = '{text} ' || id WHERE id % 7 = {rest}")

    def deleted_rows(self) -> None:
        self._execute(
            f"DELETE FROM tests WHERE id % 11 = {self._random.randrange(11)} "
            "AND (SELECT count(*) FROM tests) > 12"
        )

    def other_columns(self) -> None:
        with sqlite3.connect(self.project.database) as database:
            columns = [row[1] for row in database.execute("PRAGMA table_info(tests)")]
        extra = [name for name in columns if name.startswith("extra")]
        if not extra:
            self._execute(f"ALTER TABLE tests ADD COLUMN extra{self._next()} TEXT DEFAULT 'x'")
        elif self._random.random() < 0.5:
            self._execute(f"ALTER TABLE tests RENAME COLUMN {extra[0]} TO extra{self._next()}")
        else:
            self._execute(f"ALTER TABLE tests DROP COLUMN {extra[0]}")

    def other_type(self) -> None:
        value = self._random.choice(["'text'", "7", "7.5", "NULL"])
        self._execute(f"UPDATE tests SET grade = {value} WHERE id % 9 = 1")

    def twin_keys(self) -> None:
        self._execute(
            "CREATE TABLE IF NOT EXISTS twins (id INTEGER, name TEXT)",
            f"INSERT INTO twins VALUES ({self._next() % 5}, 'twin {self._next()}')",
        )

    def vanished_table(self) -> None:
        self._execute("DROP TABLE IF EXISTS twins")

    def edited_list(self) -> None:
        path = self.project.home / "lists/suppliers.csv"
        with path.open("a") as file:
            file.write(f"{self._next()},Supplier {self._next()},City {self._next() % 3}\n")
        project.age(path)

    def other_config(self) -> None:
        size = self._random.choice([40, 48, 64])
        cells = self._random.choice(["keep", "drop"])
        name = self._random.choice(["small", "medium"])
        text = project.CONFIG.replace("size: 48", f"size: {size}").replace("small", name)
        self.project.file.write_text(f"{text}tables: {{empty_cells: {cells}}}\n")

    def killed_run(self) -> None:
        process = self._started()
        self.tally.kills += kill(process, after=self._random.uniform(0, self._seconds))

    def two_runs_and_a_kill(self) -> None:
        first, second = self._started(), self._started()
        self.tally.kills += kill(first, after=self._random.uniform(0, self._seconds))
        second.join()
        assert second.exitcode == 0, said_by(self.project)

    def run_on_a_full_disk(self) -> None:
        process = self._started(most_bytes=self._random.choice([500, 5_000, 50_000]))
        process.join()
        assert process.exitcode in (0, 1), said_by(self.project)

    def run_without_documents(self) -> None:
        away = self.project.home / "away"
        self.project.documents.rename(away)
        process = self._started()
        process.join(self._random.uniform(0, self._seconds))
        away.rename(self.project.documents)
        process.join()
        assert process.exitcode == 0, said_by(self.project)

    def run_on_a_locked_database(self) -> None:
        with sqlite3.connect(self.project.database) as database:
            database.execute("BEGIN EXCLUSIVE")
            self.tally.kills += kill(self._started(), after=self._random.uniform(0, self._seconds))
            database.rollback()

    def edit_during_a_run(self) -> None:
        process = self._started()
        process.join(self._random.uniform(0, self._seconds / 2))
        self.edit(times=3)
        process.join()
        assert process.exitcode == 0, said_by(self.project)

    def document_that_grows(self) -> None:
        """As a log does: the run ends all the same, whatever it read of that one."""
        path, process = self._document(), self._started()
        while process.is_alive():
            with path.open("a") as file:
                file.write(f"\n\nLine {self._next()} of a log.\n")
            time.sleep(SECONDS_A_LINE)
        process.join()
        assert process.exitcode == 0, said_by(self.project)

    def damaged_records(self) -> None:
        records = [
            *self._state.glob("completed/*.json"),
            *self._state.glob("indexes/*.json"),
            *self._state.glob("looks/*.parquet"),
        ]
        whole = [path for path in records if path.is_file()]  # an earlier deed left a folder
        for path in self._random.sample(whole, min(4, len(whole))):
            if self._random.random() < 0.25:
                path.unlink()
                path.mkdir()
            else:
                path.write_bytes(self._random.choice([b"", b"[1]", b"\xff\x00"]))

    def damaged_files(self) -> None:
        """Cut a file of a table that is needed; the remedy that the refresh names is followed."""
        store, config = Store(self._state), self.project.config
        tables = [each for each in comparing.tables_of(config) if store.count(each)]
        table = self._random.choice([each for each in tables if not each.startswith(READ_LATER)])
        folder = damaging.folder_of(store, table)
        damaging.damage(folder, files="data/*", how="half")
        try:
            with hashing(self._ledger):
                refresh(config, allow_shrink=True)
        except DamagedTablesError as error:
            if folder.stem not in error.errors:
                self.tally.unnamed.append(f"{table}: {error}")
        else:
            self.tally.unnamed.append(table)
        shutil.rmtree(folder)
        self._is_robbed = True

    def overwritten_indexes(self) -> None:
        """Their sizes stay, as after a bad disk; doctor names them and builds them anew."""
        self._recovered()
        store, config = Store(self._state), self.project.config
        folder = damaging.folder_of(store, config.tables_of("default").joint)
        damaging.damage(folder, files="_indices/*/*.lance", how="noise")
        practice = Practice(store, config, variants=["default"], log=lambda _: None)
        with hashing(self._ledger):
            done = repair(practice)
        if not done.left.is_clean or "text-index" not in [fault.kind for fault in done.mended]:
            self.tally.unnamed.append(f"indexes of {folder.stem}: {done}")

    def clean_up(self) -> None:
        """Everything that nothing names goes at once, stock and versions."""
        clean_up_at_once(self.project.config)

    def table_begun_anew(self) -> None:
        store = Store(self._state)
        tables = [each for each in comparing.tables_of(self.project.config) if store.exists(each)]
        store.retire(self._random.choice(tables))

    def killed_commit(self) -> None:
        """Leave what kills leave in the middle of the first and the last commit of a table."""
        store = Store(self._state)
        names = [name for name in store.names() if name.startswith(("chunks", "joint"))]
        if names:
            name = self._random.choice(names)
            store.reopen(name)
            folder = damaging.folder_of(store, name)
            shutil.rmtree(folder)
            (folder / "_versions").mkdir(parents=True)
            self._is_robbed = True

    def _do(self, deed: Callable[[], None]) -> None:
        self.tally.done[deed.__name__] += 1
        committed = comparing.embedded(self._state)
        self._ledger.unlink(missing_ok=True)
        deed()
        self._count_embedded_again(committed)

    def _read(self) -> None:
        """Whoever opens the index now finds something, and all of one piece.

        Nobody can after a deed that removed files from outside, until a refresh has ended.
        """
        if self._is_robbed:
            return
        config = self.project.config
        index = reading.opened(config)
        self.tally.mixed += reading.mixed(config, index)
        assert all(reading.found(index))

    def _recovered(self) -> None:
        committed = comparing.embedded(self._state)
        self._ledger.unlink(missing_ok=True)
        started = time.monotonic()
        with hashing(self._ledger):
            refresh(self.project.config, allow_shrink=True)
        self._is_robbed = False
        self._seconds = min(max(time.monotonic() - started, 1.0), 6.0)
        self._count_embedded_again(committed)

    def _count_embedded_again(self, committed: set[str]) -> None:
        texts = comparing.written_down(self._ledger)
        self.tally.embedded_again += [text for text in texts if text in committed]

    def _started(self, *, most_bytes: int | None = None) -> BaseProcess:
        return self._runs.start(
            self.project.home, ledger=self._ledger, most_bytes=most_bytes, allow_shrink=True
        )

    def _execute(self, *statements: str) -> None:
        self.project.execute(*statements)

    def _put(self, path: Path, text: str) -> None:
        """Write in one of the ways that editors have: in place, or beside and renamed."""
        if self._random.random() < 0.5:
            path.write_text(text)
        else:
            fresh = path.with_name(f".{path.name}")
            fresh.write_text(text)
            fresh.replace(path)
        project.age(path, seconds=self._random.uniform(5, 500))

    def _documents(self) -> list[Path]:
        return sorted(
            path
            for path in self.project.documents.rglob("*.md")
            if path.is_file() and not path.is_symlink()
        )

    def _document(self) -> Path:
        return self._random.choice(self._documents())

    def _next(self) -> int:
        self._number += 1
        return self._number


def chaos(home: Path, *, runs: Runs, seconds: float, seed: int) -> Tally:
    """Chaos over a new project at `home`."""
    return Chaos(project.make(home), runs=runs, seed=seed).run(seconds=seconds)
