"""After any edits and faults a repair leaves nothing to find, and loses nothing."""

import random
import shutil
from pathlib import Path

from typing_extensions import override

from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.examining import examine
from rag_assets.operations.doctor.repairing import repair
from rag_assets.store import Store
from rag_assets_testing import effort
from rag_assets_testing.faults import comparing, damaging, project
from rag_assets_testing.faults.chaos import Chaos
from rag_assets_testing.faults.harming import HARMS, Built
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import Runs

SECONDS = 60.0 if effort.is_night() else 6.0
OF_THE_WHOLE = ("folder of chunks gone", "table begun")
"""Harms that the chaos does in its own way."""


class Treated(Chaos):
    """Anything may happen to a project, and the doctor is called before each refresh."""

    def __init__(self, made: project.Project, *, runs: Runs, seed: int) -> None:
        super().__init__(made, runs=runs, seed=seed)
        self._dice = random.Random(seed + 1)
        self.left: list[str] = []
        """What a repair did not mend, or a second look found."""
        self.treated = 0
        self._faults += [self.harmed, self.harmed]

    def harmed(self) -> None:
        """One of the faults that the doctor knows, done to a state that is whole."""
        super()._recovered()
        harm = self._dice.choice([name for name in HARMS if name not in OF_THE_WHOLE])
        HARMS[harm][1](Built(self.project.store, self.project.config))
        self._treat(harm)

    @override
    def damaged_files(self) -> None:
        """Any table of the index, in any way; nothing is removed by hand."""
        store, config = Store(self._state), self.project.config
        tables = [each for each in comparing.tables_of(config) if store.exists(each)]
        table = self._dice.choice(tables)
        how = self._dice.choice(damaging.SIZES_CHANGE)
        damaging.damage(damaging.folder_of(store, table), files="data/*", how=how)
        self._treat(f"{table} {how}")

    @override
    def _recovered(self) -> None:
        if (self._state / "completed").exists():
            self._treat("a deed of chaos")
        super()._recovered()

    def _treat(self, harm: str) -> None:
        config = self.project.config
        practice = Practice(Store.of(config), config, list(config.variants)[:1], lambda _: None)
        with hashing():
            done = repair(practice)
            again = examine(practice)
        self.treated += 1
        for fault in (*done.left.found, *again.found):
            self.left.append(f"after {harm}: {fault}")


@effort.sweep(4)
def test_a_repair_leaves_nothing_and_loses_nothing(tmp_path: Path, runs: Runs, seed: int):
    made = project.make(tmp_path / "project", documents=6, rows=12)
    treated = Treated(made, runs=runs, seed=seed)
    tally = treated.run(seconds=SECONDS)
    assert treated.treated
    assert treated.left == []
    assert tally.lost == tally.doubled == tally.mixed == []
    shutil.rmtree(made.home, ignore_errors=True)
