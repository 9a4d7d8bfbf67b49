"""Attacks on what once lost, mixed or hid something, at random moments; after each the law holds.

A plain refresh ends like a build from scratch, whoever opens the index meanwhile gets one complete
set and all of it, and what is damaged or left out is named.
"""

import io
import os
import random
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.retrieval.opening import OutdatedIndexError
from rag_assets.serving import cli
from rag_assets.store import Store, serving_pointer
from rag_assets.store.catalog import name_of
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.table_locations import remove_folder
from rag_assets_testing.faults import comparing, damaging, kills, project, reading
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.kills import Killing, Tally, said_by
from rag_assets_testing.faults.pipeline import Kind, Runs, clean_up_at_once, refresh
from rag_assets_testing.faults.reading import Unit

INDEX_FILES = "_indices/*/*"
DAMAGED = (
    *(("data/*", how) for how in damaging.SIZES_CHANGE),
    ("_versions/*.manifest", "zeros"),
    *((INDEX_FILES, how) for how in damaging.DAMAGES),
)
"""Files of a table, and what is done to them."""
SIZES = (40, 48, 64)
NAMES = ("small", "medium")
PARSERS = ("pdfium", "plain")
SERIALIZERS = ("full_semantic", "json", "yaml")
PARTS = ("a", "a|", "|a", "|", "\\", "\\|", "a\\", "")
"""What keys of several columns are made of."""
STOCK = ("elements__", "chunks__", "documents__", "rows__", "joint__")


class Holes:
    """A project with two editions, to which each attack is done."""

    def __init__(self, home: Path, *, runs: Runs, seed: int) -> None:
        self._killing = Killing(project.make(home), runs=runs, seed=seed)
        self._killing.prepare()
        self._random = random.Random(seed)

    @property
    def tally(self) -> Tally:
        """What was found since `begin`."""
        return self._killing.tally

    def begin(self) -> None:
        """Count anew."""
        self._killing.tally = Tally()

    def partly_readable(self) -> None:
        """A document is readable in part, and the refresh that finds out is killed."""
        self._killing.kill_a_refresh()

    def begun_anew(self) -> None:
        """Tables are retired or lost while somebody reads, and the refresh is killed."""
        held = self._killing
        reader = reading.opened(held.project.config)
        before = reading.found(reader)
        tables = held.project.config.tables_of("default")
        if self._random.random() < 0.5:
            shutil.rmtree(damaging.folder_of(held.project.store, tables.accounts))
        else:
            names = comparing.tables_of(held.project.config)
            held.project.store.retire(
                self._random.choice([name for name in names if held.project.store.exists(name)])
            )
        held.turn_over()
        held.killed("all")
        held.read()
        self._answers(reader, before)
        held.finish()
        self._answers(reader, before)

    def read_meanwhile(self) -> None:
        """The index is opened again and again while a refresh runs, and after it was killed."""
        self._killing.turn_over()
        self._killing.killed("all", is_read=True)
        self._killing.read()
        self._killing.finish()

    def damaged(self) -> None:
        """A refresh is killed and a table damaged; the remedy that is named is followed."""
        held = self._killing
        held.turn_over()
        held.killed("all")
        store = held.project.store
        names = [name for name in comparing.tables_of(held.project.config) if store.count(name)]
        is_done = False
        while not is_done:  # few tables have an index
            folder = damaging.folder_of(store, self._random.choice(names))
            files, how = self._random.choice(DAMAGED)
            is_done = damaging.damage(folder, files=files, how=how)
        what = f"{folder.stem}: {files} {how}"
        self._is_named(held.read, by="search", folder=folder, what=what)
        if files != INDEX_FILES:
            self._is_shown(folder, what=what)
        with hashing():
            is_named = self._is_named(
                lambda: refresh(held.project.config), by="refresh", folder=folder, what=what
            )
        if not is_named and files != INDEX_FILES:
            held.tally.unnamed.append(f"refresh did not name {what}")
        shutil.rmtree(folder)
        held.finish()

    def _is_named(self, deed: Callable[[], object], *, by: str, folder: Path, what: str) -> bool:
        """Whether `deed` named the table and the remedy; any other error than that is noted."""
        try:
            deed()
        except DamagedTablesError as error:
            if folder.stem not in error.errors or "delete the folder" not in str(error):
                self.tally.unnamed.append(f"{by} says of {what}: {error}")
            return True
        except Exception as error:  # a raw error of whatever library
            self.tally.unnamed.append(f"{by} says of {what}: {type(error).__name__}: {error}")
            return True
        return False

    def _is_shown(self, folder: Path, *, what: str) -> None:
        config = {configuration.PATH_VARIABLE: str(self._killing.project.file)}
        said = io.StringIO()
        with patch.dict(os.environ, config), redirect_stdout(said), redirect_stderr(said):
            code = cli.main(["status"])
        if code != 1 or folder.stem not in said.getvalue():
            self.tally.unnamed.append(f"status ({code}) did not name {what}")

    def _answers(self, reader: reading.VariantIndex, before: Sequence[Sequence[str]]) -> None:
        """An open reader answers as it did, or is told that it is outdated."""
        try:
            if reading.found(reader) != before:
                self.tally.mixed.append(f"{reader.complete_set} answers from other rows")
        except OutdatedIndexError:
            pass


class Edits:
    """A project whose config is edited, and refreshes of it that are killed."""

    def __init__(self, home: Path, *, runs: Runs, seed: int) -> None:
        self.project = project.make(home, documents=4, rows=12)
        self.project.execute(
            "CREATE TABLE pairs (a TEXT, b TEXT, note TEXT, PRIMARY KEY (a, b))",
            "INSERT INTO pairs VALUES ('a|', 'b', 'first'), ('a', '|b', 'second')",
        )
        self.tally = Tally()
        self.renamed: list[str] = []
        """Texts that were embedded because a recipe was renamed."""
        self.twins: list[str] = []
        """Keys that several rows have."""
        self.kept: list[str] = []
        """Tables that nothing names and that a clean-up left."""
        self._runs = runs
        self._random = random.Random(seed)
        self._ledger = self.project.home / "ledger"
        self._seconds: dict[Kind, float] = {"all": 2.0, "clean up": 1.0}
        """How long a run of each kind takes."""
        self._embedded: list[str] = []
        """What went through the model in this attack."""
        self._number = 0
        self._write()
        self._fresh: dict[str, tuple[comparing.Rows, frozenset[Unit]]] = {}
        self._refresh()

    def begin(self) -> None:
        """Count anew, but for texts, keys and tables."""
        self.tally = Tally()

    def edited_config(self, *, only: Sequence[str] = ()) -> None:
        """Parser, chunking or serializer of what serves are edited, or recipes renamed."""
        self._embedded.clear()
        before = self._units(self.project.config)
        text = self.project.file.read_text()
        while self.project.file.read_text() == text:
            self._write(only=only)
        config = self.project.config
        expected, after = self._built()
        if only == ("name",) and before != after:
            self.tally.lost.append("a renamed recipe has other units")
        kills.read(config, whole=[before], tally=self.tally)
        self._killed("all", whole=[before, after])
        self._finish(expected, after)
        if only == ("name",):
            self.renamed += self._embedded

    def composite_keys(self) -> None:
        """Rows with keys of several columns come and go, and documents are touched."""
        before = self._units(self.project.config)
        for _ in range(4):
            self._number += 1
            first, second = (quoted(self._random.choice(PARTS)) for _ in range(2))
            self.project.execute(
                f"INSERT OR REPLACE INTO pairs VALUES ({first}, {second}, 'note {self._number}')",
                f"DELETE FROM pairs WHERE rowid % 7 = {self._random.randrange(9)}",
            )
        for path in self.project.documents.rglob("*.md"):
            project.age(path, seconds=self._random.uniform(10, 1e8))
        self._fresh.clear()
        expected, after = self._built()
        self._killed("all", whole=[before, after])
        self._finish(expected, after)
        joint = Store.of(self.project.config).read(self.project.config.tables_of("default").joint)
        keys = [row["row_key"] for row in joint.to_pylist() if row["table"] == "pairs"]
        self.twins += {key for key in keys if keys.count(key) > 1}

    def cleaned_up(self) -> None:
        """Tables of a recipe that is gone are removed, and the clean-up is killed."""
        self.edited_config(only=("size", "serializer"))
        config = self.project.config
        _, now = self._built()
        self._killed("clean up", whole=[now])
        for _ in range(2):  # the first merges, the second frees what was merged
            clean_up_at_once(config)
            kills.read(config, whole=[now], tally=self.tally)
        store = Store.of(config)
        tables = (*comparing.tables_of(config), *comparing.tables_of(config, "other"))
        served = [pin.table for each in serving_pointer.kept(store) for pin in each.pins]
        named = {*map(store.known_as, tables), *map(name_of, served)}
        names = (name for name in store.names() if name.startswith(STOCK))
        self.kept += [name for name in names if name not in named]

    def _write(self, *, only: Sequence[str] = ()) -> None:
        """A random config; what is not in `only`, if anything is, stays."""
        choices: Mapping[str, Sequence[object]] = {
            "size": SIZES,
            "name": NAMES,
            "parser": PARSERS,
            "serializer": SERIALIZERS,
        }
        held = getattr(self, "_settings", dict[str, object]())
        self._settings = {
            name: held[name] if only and name not in only else self._random.choice(values)
            for name, values in choices.items()
        }
        size, name, parser, serializer = self._settings.values()
        recipe = f"default: {{parser: {parser}, chunking: {name}, serializer: {serializer}}}"
        text = project.CONFIG.replace("size: 48", f"size: {size}").replace("  small:", f"  {name}:")
        text = text.replace("default: {parser: pdfium, chunking: small}", recipe)
        self.project.file.write_text(f"{text}parsers: {{plain: {{engine: pdfium, ocr: none}}}}\n")

    def _built(self) -> tuple[comparing.Rows, frozenset[Unit]]:
        """What a build from scratch of the present sources and config holds."""
        text = self.project.file.read_text()
        if text not in self._fresh:
            state = self.project.home / "fresh"
            remove_folder(state)
            config = self.project.config_with(state)
            with hashing():
                refresh(config)
            self._fresh[text] = self._contents(state), self._units(config)
        return self._fresh[text]

    def _contents(self, state: Path) -> comparing.Rows:
        return comparing.contents(state, tables=comparing.tables_of(self.project.config))

    def _units(self, config: Config) -> frozenset[Unit]:
        return reading.units(config, reading.opened(config))

    def _killed(self, kind: Kind, *, whole: Sequence[frozenset[Unit]]) -> None:
        """Kill a run at a random moment; the index is opened until then, and after it."""
        committed = comparing.embedded(self.project.home / "state")
        self._ledger.unlink(missing_ok=True)
        process = self._runs.start(self.project.home, kind=kind, ledger=self._ledger)
        started = time.monotonic()
        end = started + self._random.uniform(0, self._seconds[kind])
        while process.is_alive() and time.monotonic() < end:
            kills.read(self.project.config, whole=whole, tally=self.tally)
        if kills.kill(process, after=0):
            self.tally.kills += 1
        else:
            assert process.exitcode == 0, said_by(self.project)
            self.tally.finished += 1
            self._seconds[kind] = time.monotonic() - started
        kills.read(self.project.config, whole=whole, tally=self.tally)
        self._count_embedded_again(committed)

    def _finish(self, expected: comparing.Rows, after: frozenset[Unit]) -> None:
        self._refresh()
        ours = self._contents(self.project.home / "state")
        self.tally.lost += comparing.lost(ours, expected)
        self.tally.doubled += comparing.doubled(ours, expected)
        kills.read(self.project.config, whole=[after], tally=self.tally)

    def _refresh(self) -> None:
        committed = comparing.embedded(self.project.home / "state")
        self._ledger.unlink(missing_ok=True)
        with hashing(self._ledger):
            refresh(self.project.config)
        self._count_embedded_again(committed)

    def _count_embedded_again(self, committed: set[str]) -> None:
        texts = comparing.written_down(self._ledger)
        self._embedded += texts
        self.tally.embedded_again += [text for text in texts if text in committed]


def quoted(text: str) -> str:
    """`text` in SQL."""
    return "'" + text.replace("'", "''") + "'"
