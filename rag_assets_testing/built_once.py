"""Let a project be built once in a run of the tests, and give each test a copy of its own."""

import os
import shutil
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from rag_assets_testing.faults.project import Project

SHARED = "BUILT_PROJECTS"
"""The environment variable with the folder that all processes of a run share."""


def built_once(build: Callable[[Path], Project]) -> Callable[[Path], Project]:
    """`build`, which makes and builds a project in a folder, called once: then its work is copied.

    A copy is what a restored backup is: sources and state, with all times of change but those of
    the inodes. Processes of one run of the tests share the original; elsewhere each has its own.
    """

    @cache
    def original() -> Path:
        made = _shared() / f"{build.__module__}.{build.__qualname__}"
        with FileLock(f"{made}.lock"):
            if not made.is_dir():
                fresh = made.with_name(f"{made.name}.fresh")
                shutil.rmtree(fresh, ignore_errors=True)
                build(fresh)
                fresh.rename(made)
        return made

    @wraps(build)
    def copied(home: Path) -> Project:
        shutil.copytree(original(), home, dirs_exist_ok=True)
        return Project(home)

    return copied


def _shared() -> Path:
    given = os.environ.get(SHARED)
    return Path(given) if given else Path(_own().name)


@cache
def _own() -> TemporaryDirectory[str]:
    """A folder that is removed with the process."""
    return TemporaryDirectory()
