"""The walks of CONTRIBUTING.md are true: each is applied to a copy of the project and used."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from rag_assets_testing import effort

REPOSITORY = Path(__file__).parents[1]
COPIED = (
    *("rag_assets", "rag_assets_tests", "rag_assets_testing", "docs", "deploy", "skills"),
    *("pyproject.toml", "server.json"),
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
)
MOST_FILES = 5
WALKS = ("a file format", "a serializer", "a retriever", "a check", "a step", "a source")
_EDIT = re.compile(
    r"^`([\w./]+)`:(?:(?!\n\n).)+\n\n```(diff|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
"""A paragraph that begins with the name of a file, and the lines below it."""
_COMMAND = re.compile(r"^\.venv/bin/python -m pytest (.+)$", re.MULTILINE)


class Edit(NamedTuple):
    """What a walk does to one file: lines to add to it, or all of a new one."""

    file: str
    kind: str
    text: str


class Walk(NamedTuple):
    edits: list[Edit]
    tests: list[str]


def walks() -> Iterator[tuple[str, Walk]]:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    for section in text.split("\n## Add ")[1:]:
        edits = [Edit(*found) for found in _EDIT.findall(section)]
        yield section.partition("\n")[0], Walk(edits, _COMMAND.findall(section)[0].split())


def apply(edit: Edit, *, root: Path) -> None:
    file = root / edit.file
    if edit.kind == "python":
        assert not file.exists(), f"{edit.file} is there already"
        file.write_text(edit.text, "utf-8")
        return
    text, place = file.read_text("utf-8"), 0
    for hunk in re.split(r"^@@\n", edit.text, flags=re.MULTILINE):
        lines = [line or " " for line in hunk.splitlines()]
        before = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        after = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        place = text.find(before, place)
        assert place >= 0, f"{edit.file} has no such lines:\n{before}"
        text = text[:place] + after + text[place + len(before) :]
        place += len(after)
    file.write_text(text, "utf-8")


def run(*command: str | Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy, whose package comes before the installed one, as by day."""
    environment = {name: value for name, value in os.environ.items() if name != effort.VARIABLE}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env={**environment, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The project with all walks applied."""
    root = tmp_path_factory.mktemp("contributed")
    for name in COPIED:
        if (REPOSITORY / name).is_file():
            shutil.copy(REPOSITORY / name, root)
        else:
            left_out = shutil.ignore_patterns("__pycache__", "*.tar.gz")
            shutil.copytree(REPOSITORY / name, root / name, ignore=left_out)
    for _, walk in walks():
        for edit in walk.edits:
            apply(edit, root=root)
    return root


@pytest.fixture(scope="module")
def passed(copy) -> dict[str, int]:
    """How many tests passed in the copy, by module, once none has failed."""
    files = dict.fromkeys(file for _, walk in walks() for file in walk.tests)
    done = run("pytest", "-p", "no:cacheprovider", "--junitxml=found.xml", *files, root=copy)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
    found: dict[str, int] = {}
    for case in ElementTree.parse(copy / "found.xml").iter("testcase"):
        file = f"{case.attrib['classname'].replace('.', '/')}.py"
        found[file] = found.get(file, 0) + (case.find("skipped") is None)
    return found


def test_there_is_a_walk_for_each_thing_that_is_added():
    assert tuple(name for name, _ in walks()) == WALKS


@pytest.mark.nightly(guards=["CONTRIBUTING.md"])
@pytest.mark.parametrize(("name", "walk"), walks(), ids=WALKS)
def test_what_a_walk_adds_is_used(name, walk, passed):
    assert len({edit.file for edit in walk.edits}) <= MOST_FILES
    tested = [edit.file for edit in walk.edits if edit.file.startswith("rag_assets_tests/")]
    assert tested, "a walk ends with a test"
    assert set(tested) <= set(walk.tests)
    assert all(passed[file] for file in walk.tests)


@pytest.mark.nightly(guards=["CONTRIBUTING.md"])
def test_what_the_walks_add_is_clean(copy):
    for command in (
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("ty", "check", "rag_assets", "--python", sys.prefix),
    ):
        done = run(*command, root=copy)
        assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-1_000:]
