"""Removes runs and arms that were not used for a long time, as part of the clean-up.

A run is used when it is made, found again or replayed; an arm when it is run or found by an
experiment. The newest run of each experiment of the config always stays, and so do all arms of runs
that stay: when an experiment is run again, only changed arms are run. A running experiment is
waited for.
"""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rag_assets.config import Config
from rag_assets.evaluation.experiment_runs import (
    ARM_RECORD,
    ARMS,
    RECORD,
    Run,
    lock_of,
    root_of,
    runs_of,
)
from rag_assets.store import Store
from rag_assets.store.atomic import remove_folder


@dataclass(frozen=True, slots=True)
class RemovedRuns:
    """What was removed."""

    runs: int
    arms: int
    bytes_freed: int


def remove_unused(store: Store, config: Config, *, log: Callable[[str], None]) -> RemovedRuns:
    """Remove the runs and arms unused for `clean_up.keep_records_days` that need not stay.

    `log` receives a line if a running experiment must be waited for.
    """
    root, configured = root_of(store), config.experiments
    names = {folder.name for folder in root.glob("[!.]*/")}
    oldest = time.time() - timedelta(days=config.clean_up.keep_records_days).total_seconds()
    with store.lock(*map(lock_of, names.union(configured)), log=log):
        kept = [
            run
            for name in names
            for place, run in enumerate(runs_of(store, name))
            if (place == 0 and name in configured) or _last_use(run.folder) >= oldest
        ]
        old_runs = _old(root, RECORD, kept={run.folder for run in kept}, oldest=oldest)
        compared = set(_compared(kept, root=root))
        old_arms = _old(root, ARM_RECORD, kept=compared, oldest=oldest)
        unfinished = [folder for folder in root.glob("*/.*/") if _last_use(folder) < oldest]
        freed = sum(map(remove_folder, [*old_runs, *old_arms, *unfinished]))
        for name in names:
            if not any((root / name).iterdir()):
                (root / name).rmdir()
    return RemovedRuns(len(old_runs), len(old_arms), freed)


def _compared(kept: Collection[Run], *, root: Path) -> Iterator[Path]:
    """Folders of the arms of the runs `kept`."""
    for run in kept:
        for arm in run.record.arms.values():
            yield root / ARMS / arm.run.key


def _old(root: Path, record: str, *, kept: Collection[Path], oldest: float) -> list[Path]:
    """Folders with a file called `record` that are not `kept`, in order."""
    found = (file.parent for file in sorted(root.glob(f"*/[!.]*/{record}")))
    return [folder for folder in found if folder not in kept and _last_use(folder) < oldest]


def _last_use(folder: Path) -> float:
    return folder.stat().st_mtime
