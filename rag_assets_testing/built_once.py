"""Let a project be built once in a run of the tests, and give each test a copy of its own."""

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from rag_assets.config.headings import read_headings
from rag_assets.sources.entries import increment_of, spec_of
from rag_assets.sources.exports import Chosen, ExportPass
from rag_assets.sources.opening import open_origin
from rag_assets.store import exports
from rag_assets_testing.faults.project import Project

SHARED = "BUILT_PROJECTS"
"""The environment variable with the folder that all processes of a run share."""


def built_once(build: Callable[[Path], Project]) -> Callable[[Path], Project]:
    """`build`, which makes and builds a project in a folder, called once: then its work is copied.

    A copy is sources and state, with all times of change but those of the inodes. Tables would
    look as if they had moved, and the next refresh would read them again, as in a restored backup:
    their looks are noted anew. Processes of one run of the tests share the original; elsewhere
    each has its own.
    """

    @cache
    def original() -> Path:
        made = _shared() / f"{build.__module__}.{build.__qualname__}"
        with FileLock(f"{made}.lock"):
            if not made.is_dir():
                fresh = made.with_name(f"{made.name}.fresh")
                shutil.rmtree(fresh, ignore_errors=True)
                unmoved = _unmoved(build(fresh))
                made.with_name(f"{made.name}.json").write_text(json.dumps(unmoved))
                fresh.rename(made)
        return made

    @wraps(build)
    def copied(home: Path) -> Project:
        made = original()
        shutil.copytree(made, home, dirs_exist_ok=True)
        _note_looks(Project(home), of=json.loads(made.with_name(f"{made.name}.json").read_text()))
        return Project(home)

    return copied


def _unmoved(project: Project) -> list[str]:
    """The exported tables whose sources look as they did when they were read."""
    read = {name: project.store.ended(name) for name in exports.names(project.store)}
    return [
        name for name, look in _looks(project) if (done := read[name]) and done.made_from == look
    ]


def _note_looks(project: Project, *, of: Collection[str]) -> None:
    """Let the tables `of` a copy look as they did when they were read."""
    if not of:
        return
    store = project.store
    for name, look in _looks(project):
        if name in of and (done := store.ended(name)):
            ended_at = store.ended_at(name).timestamp()
            store.complete(name, replace(done, made_from=look))
            os.utime(store._completion_file(name), (ended_at, ended_at))


def _looks(project: Project) -> Iterator[tuple[str, str | None]]:
    """What each exported table looks like at its source."""
    for source in project.config.sources.tables:
        looking = ExportPass(
            project.store,
            source,
            read_headings(source),
            allow_shrink=False,
            log=str,
            warn=str,
            retry=False,
        )
        with closing(open_origin(source, log=str)) as origin:
            for table in exports.tables_of(project.store, source.name):
                if spec := spec_of(source, table):
                    chosen, increment = Chosen(spec, table), increment_of(origin, spec, table)
                    name = exports.table_name(source.name, table)
                    yield name, looking._mark(origin, chosen, increment)


def _shared() -> Path:
    given = os.environ.get(SHARED)
    return Path(given) if given else Path(_own().name)


@cache
def _own() -> TemporaryDirectory[str]:
    """A folder that is removed with the process."""
    return TemporaryDirectory()
