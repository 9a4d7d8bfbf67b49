"""kill -9 at random points of a run, and what is left of it."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeAlias

from rag_assets.config import Config
from rag_assets_testing.documents import making
from rag_assets_testing.faults import comparing, reading
from rag_assets_testing.faults.comparing import Rows
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import Kind, Runs, refresh
from rag_assets_testing.faults.project import Project, report
from rag_assets_testing.faults.reading import Unit

Failed: TypeAlias = set[tuple[str, str, str]]
EDITED = 1_700_000_000
"""Unix time of the files of an edition, less its number."""
INDEX = ("documents__", "rows__", "joint__")


@dataclass
class Tally:
    """What some kills cost."""

    kills: int = 0
    """Runs that were killed while they worked."""
    finished: int = 0
    """Runs that had ended before their kill."""
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    embedded_again: list[str] = field(default_factory=list)
    """Texts that went through the model although their vector was committed."""
    forgotten: list[str] = field(default_factory=list)
    """What failed, or failed in part, and is not in quarantine."""
    searches: int = 0
    """Indexes that were opened and searched."""
    mixed: list[str] = field(default_factory=list)
    """What a reader got that is not of one complete set."""
    unnamed: list[str] = field(default_factory=list)
    """Damages that whoever met them did not name."""


class Killing:
    """A project with two editions of its sources, and runs that die between them."""

    def __init__(self, project: Project, *, runs: Runs, seed: int) -> None:
        self.project = project
        self.tally = Tally()
        self.random = random.Random(seed)
        self._runs = runs
        self._ledger = project.home / "ledger"
        self._fresh: dict[int, Rows] = {}
        self._whole: list[frozenset[Unit]] = []
        """What an index of each edition holds."""
        self._failed: dict[int, Failed] = {}
        self._edition = 1
        self._seconds: dict[Kind, float] = {}
        """How long a run of each kind takes."""

    def prepare(self) -> None:
        """Build both editions undisturbed; measure how long a run from one to the other takes."""
        for edition in (2, 1):
            self._fresh[edition] = self._built(edition)
        shutil.copytree(self.project.home / "fresh1", self.project.home / "state")
        self._runs.warm_up()
        self._seconds = dict.fromkeys(("all", "index"), self._timed())

    def kill_a_refresh(self, *, times: int = 1) -> None:
        """Change the sources, kill the refresh `times` times, then let one finish."""
        self.turn_over()
        for _ in range(times):
            self.killed("all")
            self.read()
        self.finish()

    def kill_an_index_build(self, *, times: int = 1) -> None:
        """Throw the index away, kill its build `times` times, then let one finish."""
        without_index(self.project.home / "state")
        for _ in range(times):
            self.killed("index")
        self.finish()

    def turn_over(self) -> None:
        """Let the sources be the other edition."""
        self._edition = 3 - self._edition
        write_edition(self.project, self._edition)

    def _built(self, edition: int) -> Rows:
        write_edition(self.project, edition)
        state = self.project.home / f"fresh{edition}"
        config = self.project.config_with(state)
        with hashing():
            refresh(config)
        self._failed[edition] = self._quarantine(state)
        self._whole.append(reading.units(config, reading.opened(config)))
        return self._contents(state)

    def _contents(self, state: Path) -> Rows:
        return comparing.contents(state, tables=comparing.tables_of(self.project.config))

    def _quarantine(self, state: Path) -> Failed:
        tables = comparing.tables_of(self.project.config)
        return set(comparing.quarantine(state, tables=tables))

    @property
    def fresh(self) -> Rows:
        """What a build of the present edition holds."""
        return self._fresh[self._edition]

    def _timed(self) -> float:
        self.turn_over()
        started = time.monotonic()
        process = self._runs.start(self.project.home)
        process.join()
        assert process.exitcode == 0, said_by(self.project)
        return time.monotonic() - started

    def killed(self, kind: Kind, *, is_read: bool = False) -> None:
        """Kill a run at a random moment; until then read again and again, if told to."""
        committed = comparing.embedded(self.project.home / "state")
        self._ledger.unlink(missing_ok=True)
        started = time.monotonic()
        process = self._runs.start(self.project.home, kind=kind, ledger=self._ledger)
        after = self.random.uniform(0, self._seconds[kind])
        while is_read and process.is_alive() and time.monotonic() < started + after:
            self.read()
        if kill(process, after=max(0.0, started + after - time.monotonic())):
            self.tally.kills += 1
        else:
            assert process.exitcode == 0, said_by(self.project)
            self.tally.finished += 1
            self._seconds[kind] = time.monotonic() - started
        self._count_embedded_again(committed)

    def finish(self) -> None:
        """A plain refresh must end as if nothing had happened."""
        committed = comparing.embedded(self.project.home / "state")
        self._ledger.unlink(missing_ok=True)
        with hashing(self._ledger):
            refresh(self.project.config)
        self._count_embedded_again(committed)
        ours = self._contents(self.project.home / "state")
        self.tally.lost += comparing.lost(ours, self.fresh)
        self.tally.doubled += comparing.doubled(ours, self.fresh)
        failed = self._quarantine(self.project.home / "state")
        self.tally.forgotten += map(str, self._failed[self._edition] - failed)
        self.read()

    def read(self) -> None:
        """Whoever opens the index now finds one of the editions, and all of it."""
        read(self.project.config, whole=self._whole, tally=self.tally)

    def _count_embedded_again(self, committed: set[str]) -> None:
        texts = comparing.written_down(self._ledger)
        self.tally.embedded_again += [text for text in texts if text in committed]


def read(config: Config, *, whole: Collection[frozenset[Unit]], tally: Tally) -> None:
    """Open the index as it stands: it is one of those in `whole`, and each retriever answers."""
    index = reading.opened(config)
    tally.searches += 1
    tally.mixed += reading.mixed(config, index)
    if reading.units(config, index) not in whole:
        tally.mixed.append(f"{index.complete_set} is no complete set")
    if not all(reading.found(index)):
        tally.mixed.append(f"{index.complete_set} answers nothing")


def kill(process: BaseProcess, *, after: float) -> bool:
    """Kill `process`, and nothing that it started; False if it ended by itself before."""
    process.join(after)
    assert process.pid is not None
    if process.exitcode is None:
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode == -signal.SIGKILL


def said_by(project: Project) -> str:
    """The end of what the runs of a project said."""
    return (project.home / "run.log").read_text("utf-8", "replace")[-8_000:]


def without_index(state: Path) -> None:
    """Throw the vectors away, with the records of their passes."""
    for table in (state / "lance").glob("*.lance"):
        if table.name.startswith(INDEX):
            shutil.rmtree(table)
            (state / "completed" / f"{table.stem}.json").unlink(missing_ok=True)


def write_edition(project: Project, edition: int) -> None:
    """Let the sources hold one of two editions: some items are in both, some are not."""
    making.partly_readable(project.documents / "partly.pdf", f"Edition {edition} of it")
    for number in range(8):
        path = f"series{number % 3}/report{number}.md"
        if number % 4 != edition:
            project.write(path, report(number, edition=1 if number % 2 else edition))
        else:
            (project.documents / path).unlink(missing_ok=True)
    for file in filter(Path.is_file, project.documents.rglob("*")):
        os.utime(file, (EDITED + edition, EDITED + edition))  # as when that edition was built
    project.execute(
        f"UPDATE tests SET name = 'steel ' || id || ' of edition {edition}' WHERE id % 3 = 0",
        f"DELETE FROM tests WHERE id > 1000 AND id <> 1000 + {edition}",
        f"INSERT OR IGNORE INTO tests VALUES (1000 + {edition}, 'new', 1.5, 0)",
    )


def until(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
