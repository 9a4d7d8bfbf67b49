"""Projects that are built once in a process: each test gets a copy of its own."""

import shutil
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory

from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project


def built_once(build: Callable[[Path], Project]) -> Callable[[Path], Project]:
    """`build`, which makes and builds a project in a folder, called once: then its work is copied.

    A copy is what a restored backup is: sources and state, with all times of change but those of
    the inodes.
    """

    @cache
    def original() -> tuple[Project, TemporaryDirectory]:
        folder = TemporaryDirectory()  # removed with the process
        return build(Path(folder.name) / "project"), folder

    @wraps(build)
    def copied(home: Path) -> Project:
        made, _ = original()
        shutil.copytree(made.home, home, dirs_exist_ok=True)
        return Project(home)

    return copied


@built_once
def small(home: Path) -> Project:
    """Three documents and six rows, whose variant `default` serves."""
    made = project.make(home, documents=3, rows=6)
    with hashing():
        refresh(made.config)
    return made


@built_once
def whole(home: Path) -> Project:
    """Eight documents and 24 rows, whose variant `default` serves."""
    made = project.make(home)
    with hashing():
        refresh(made.config)
    return made


@built_once
def two_variants(home: Path) -> Project:
    """As `whole`, with the variant `other` beside it."""
    made = whole(home)
    with hashing():
        refresh(made.config, variant="other")
    return made
