"""The tests that a change touches, the nearest first, in less than a minute: `make quick`.

usage: python -m rag_assets_tests.touched [ROOM] [--base main] [--seconds 35] [--night]
                                          [--first-failure] [--list]

What changed is what differs from the merge base with `--base`, with new files. Tests are taken in
this order, until the time is used up:

1. tests that changed, and `test_MODULE.py` of each changed `MODULE.py`
2. tests of the same room (the folder of the changed module) that import it
3. the other tests of the room
4. tests of other rooms that import it

A test imports what its helpers import, too, and what the `__init__` of a package hands on. Tests
that reach the change through further modules are left out, and those for which there is no time:
both are named at the end. How long a test takes stands in `durations.json`. Tests that are left to
the night are not among them; `--night` takes them, and the laws as they are at night.
"""

import argparse
import ast
import os
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path

import pytest

from rag_assets_testing import effort
from rag_assets_tests import durations, nightly

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE, TESTS = "rag_assets", "rag_assets_tests"
HELPERS = (TESTS, "rag_assets_testing")
"""Folders of modules that only tests and benchmarks use."""
SECONDS = 35.0
"""What the tests may take together, by `durations.json`, unless told otherwise."""
OVERTIME = 1.3
"""No further test begins after so many times as long, whatever the tests were thought to take."""
SHOWN = 5
CHANGED, IN_ROOM, REST_OF_ROOM, ELSEWHERE = range(4)


@dataclass(frozen=True)
class Tree:
    """The modules of the package, of its tests and of what they share, and what they import."""

    root: Path

    @cached_property
    def files(self) -> dict[str, Path]:
        """Module name -> file, relative to the root."""
        found = chain.from_iterable((self.root / top).rglob("*.py") for top in (PACKAGE, *HELPERS))
        files = (path.relative_to(self.root) for path in sorted(found))
        return {module_of(file): file for file in files}

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """Module -> the modules that it imports or names in a string, anywhere in its code."""
        return {name: set(self._imports(name)) for name in self.files}

    def _imports(self, name: str) -> Iterator[str]:
        for node in ast.walk(ast.parse((self.root / self.files[name]).read_text("utf-8"))):
            match node:
                case ast.Import(names=names):
                    found = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module), names=names):
                    found = [f"{module}.{alias.name}" for alias in names]
                case ast.Constant(value=str(text)) if text.startswith(PACKAGE):
                    found = re.findall(rf"^{PACKAGE}\w*(?:\.\w+)+", text)
                case _:
                    continue
            yield from filter(None, map(self._module, found))

    def _module(self, name: str) -> str | None:
        """The longest beginning of a dotted name that is a module: `rag_assets.store.Store`."""
        while name and name not in self.files:
            name = name.rpartition(".")[0]
        return name or None

    def importers(self, module: str) -> tuple[set[Path], set[Path]]:
        """Test files that import `module` themselves, and those that reach it through others."""
        importing: dict[str, set[str]] = {name: set() for name in self.files}
        for name, imported in self.imports.items():
            for one in imported:
                importing[one].add(name)
        steps = {module: 0}
        waiting = deque([module])
        while waiting:
            name = waiting.popleft()
            through = 0 if name == module or self._hands_on(name) else 1
            for other in importing[name]:
                if steps[name] + through < steps.get(other, len(self.files)):
                    steps[other] = steps[name] + through
                    (waiting.append if through else waiting.appendleft)(other)
        tests = {name: far for name, far in steps.items() if is_test(self.files[name])}
        near = {self.files[name] for name, far in tests.items() if far == 0}
        return near, {self.files[name] for name in tests} - near

    def _hands_on(self, name: str) -> bool:
        """Whether to import this module is to import what it imports."""
        file = self.files[name]
        return file.name == "__init__.py" or (file.parts[0] in HELPERS and not is_test(file))

    def tests_in(self, folder: Path) -> set[Path]:
        return {file for file in self.files.values() if is_test(file) and folder in file.parents}

    def tests_that_name(self, file: Path) -> set[Path]:
        """Tests with the name of a file that is no module in quotes; without one, of its folder."""
        texts = {
            test: (self.root / test).read_text("utf-8")
            for test in filter(is_test, self.files.values())
        }
        by_name = {test for test, text in texts.items() if f'"{file.name}"' in text}
        return by_name or {test for test, text in texts.items() if f'"{file.parts[0]}"' in text}


@dataclass
class Selection:
    """Test files with their place in the order, and what is left out."""

    places: dict[Path, int] = field(default_factory=dict)
    farther: set[Path] = field(default_factory=set)

    def add(self, files: Iterable[Path], place: int) -> None:
        for file in files:
            self.places[file] = min(place, self.places.get(file, place))

    @property
    def files(self) -> list[Path]:
        """The nearest first."""
        return sorted(self.places, key=lambda file: (self.places[file], file))

    @property
    def left_out(self) -> list[Path]:
        return sorted(self.farther - self.places.keys())


def module_of(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_test(file: Path) -> bool:
    return file.parts[0] == TESTS and file.name.startswith("test_")


def room_of(file: Path, *, root: Path) -> Path | None:
    """The folder of tests that mirrors the folder of a module, or the next above; no room: None."""
    folder = Path(TESTS, *file.parts[1:-1])
    while not (root / folder).is_dir():
        folder = folder.parent
    return folder if folder != Path(TESTS) else None


def touched(changed: Iterable[Path], tree: Tree) -> Selection:
    """The tests that a change of these files touches; paths are relative to the root."""
    selection = Selection()
    for file in changed:
        if file.suffix != ".py" or file.parts[0] not in (PACKAGE, TESTS):
            selection.add(tree.tests_that_name(file), ELSEWHERE)
        elif is_test(file):
            selection.add({file} & set(tree.files.values()), CHANGED)
        else:
            _add_module(selection, file, tree)
    return selection


def _add_module(selection: Selection, file: Path, tree: Tree) -> None:
    room = room_of(file, root=tree.root)
    inside = tree.tests_in(room) if room else set()
    module = module_of(file)
    near, far = tree.importers(module) if module in tree.files else (set(), set())
    mirror = f"test_{file.stem}.py"
    selection.add((test for test in inside | near if test.name == mirror), CHANGED)
    selection.add(near & inside, IN_ROOM)
    selection.add(inside, REST_OF_ROOM)
    selection.add(near, ELSEWHERE)
    selection.farther |= far


class UnknownCommitError(Exception):
    """Git does not know it here."""


def changed_files(base: str, *, root: Path) -> list[Path]:
    """What differs from the merge base with `base`, with files that git does not know yet.

    Raises:
        UnknownCommitError: `base` is not in this clone.
    """
    merge_base = _git("merge-base", "HEAD", base, root=root)
    names = _git("diff", "--name-only", "--no-renames", merge_base[0], root=root)
    names += _git("ls-files", "--others", "--exclude-standard", root=root)
    return sorted(map(Path, names))


def _git(*arguments: str, root: Path) -> list[str]:
    command = ["git", "-c", "core.quotePath=false", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnknownCommitError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


class Budget:
    """A plugin of pytest: takes tests in their order until the time is used up."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = time.monotonic()
        self.left_out: list[str] = []

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        known, left, taken, over = durations.known(), self._seconds, [], []
        for item in items:
            seconds = known.get(durations.name_of(item.nodeid), durations.UNKNOWN)
            (taken if seconds <= left else over).append(item)
            left -= seconds if seconds <= left else 0
        self.left_out += [item.nodeid for item in over]
        config.hook.pytest_deselected(items=over)
        items[:] = taken

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if time.monotonic() - self._started > OVERTIME * self._seconds:
            self.left_out.append(item.nodeid)
            pytest.skip("the time is used up")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("room", nargs="?", help="a folder of tests, such as retrieval")
    parser.add_argument("--base", default="main")
    parser.add_argument("--list", action="store_true", help="only say which tests would run")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the most it may take")
    parser.add_argument("--first-failure", action="store_true", help="end with the first failure")
    parser.add_argument("--night", action="store_true", help="the tests of the night")
    asked = parser.parse_args()
    tree = Tree(REPOSITORY)
    if asked.room:
        selection = room(asked.room, tree)
    else:
        try:
            changed = changed_files(asked.base, root=REPOSITORY)
        except UnknownCommitError as error:
            sys.exit(str(error))
        selection = touched(changed, tree)
        print(f"{len(changed)} files differ from {asked.base}.")
    print(f"{len(selection.files)} files of tests, the nearest first:")
    print(*(f"  {file}" for file in selection.files), sep="\n", flush=True)
    if selection.files and not asked.list:
        options = ["--exitfirst"] if asked.first_failure else []
        if asked.night:
            os.environ.setdefault(effort.VARIABLE, "0")
            options += ["-m", nightly.SELECTED]
        sys.exit(run(selection, seconds=asked.seconds, options=options))


def room(name: str, tree: Tree) -> Selection:
    """All tests of a room that the user names."""
    folder = Path(TESTS, name)
    if not (tests := tree.tests_in(folder)):
        sys.exit(f"there are no tests in {folder}/: name a folder of {TESTS}/")
    return Selection(dict.fromkeys(tests, IN_ROOM))


def run(selection: Selection, *, seconds: float, options: Sequence[str] = ()) -> int:
    """Run the selection and say what was left out; the exit status of pytest."""
    budget = Budget(seconds)
    files = [str(REPOSITORY / file) for file in selection.files]
    status = pytest.main(["--no-header", *options, *files], plugins=[budget])
    print(*told(selection, budget.left_out), sep="\n")
    return 0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else int(status)


def told(selection: Selection, over: Sequence[str]) -> Iterator[str]:
    """What did not run, in words."""
    if over:
        names = ", ".join(sorted({durations.name_of(node_id) for node_id in over})[:SHOWN])
        yield f"Left out for lack of time: {len(over)} tests, such as {names}."
    if selection.left_out:
        names = ", ".join(file.name for file in selection.left_out[:SHOWN])
        yield (
            f"Left out because they use the change only through other modules: "
            f"{len(selection.left_out)} files of tests, such as {names}."
        )
    if over or selection.left_out:
        yield "make test runs them all."


if __name__ == "__main__":
    main()
