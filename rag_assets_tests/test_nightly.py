"""What runs by day and at night; what a night finds, and how to find it again."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rag_assets_tests import each_change, nightly
from rag_assets_tests.touched import CHANGED, IN_ROOM, REST_OF_ROOM

TESTS = """
import pytest
from hypothesis import given, strategies as st
from rag_assets_testing import effort

@given(st.integers())
def test_numbers_are_small(number):
    assert number < {most}

@pytest.mark.nightly
@pytest.mark.parametrize("seed", effort.seeds(2))
def test_sweep(seed):
    ...

def test_plain():
    ...
"""


@pytest.fixture
def written(tmp_path):
    """Writes a law that holds for numbers below `most`, a sweep and a plain test."""
    (tmp_path / "conftest.py").write_text("from rag_assets_tests.conftest import *")
    file = tmp_path / "test_some.py"
    return lambda most=10**40: file.write_text(TESTS.format(most=most)) and str(file)


def by_day(*arguments):
    """What pytest says, run by day."""
    command = [sys.executable, "-m", "pytest", "--no-header", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout


def at_night(path, *, seed, minutes=5.0):
    """What a night of one file finds, in a process of its own."""
    code = (
        "import json, sys; from rag_assets_tests import nightly; "
        f"found = nightly.run([sys.argv[1]], seed={seed}, processes=0, minutes={minutes}); "
        "print(json.dumps([found.passed, found.failed]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path],
        cwd=Path(path).parent,
        env={**os.environ, "PYTHONPATH": str(nightly.TESTS.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    *said, found = done.stdout.splitlines()
    return *json.loads(found), "\n".join(said)


def test_a_sweep_is_left_to_the_night_unless_it_is_named(written):
    path = written()

    assert "2 passed, 1 deselected" in by_day(path)
    assert "1 passed" in by_day(f"{path}::test_sweep")


def test_a_night_runs_sweeps_by_several_seeds_and_laws(written):
    passed, failed, _ = at_night(written(), seed=7)

    assert (passed, failed) == (3, [])


def test_what_breaks_a_law_is_told_with_the_command_that_repeats_it(written, tmp_path):
    _, [name], said = at_night(written(1_000), seed=7)

    assert "number=1000" in said
    command = nightly.repeating(name, seed=7).replace("python", shlex.quote(sys.executable), 1)
    again = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(nightly.TESTS.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1
    assert "number=1000" in again.stdout


def test_a_night_that_takes_too_long_is_red(written):
    _, [failed], _ = at_night(written(), seed=7, minutes=0.001)

    assert failed.startswith("not ended after")


class Item:
    """A test, as far as it is looked at here; it stands in for one that pytest collected."""

    def __init__(self, name, guards=None):
        self.nodeid = name
        self._mark = pytest.mark.nightly(guards=guards or ()).mark

    def get_closest_marker(self, name):
        return self._mark if name == nightly.MARK else None


def test_sweeps_that_guard_a_change_run_by_day_while_there_is_time(monkeypatch):
    known = {"a.py::test_near": 50.0, "b.py::test_far": 60.0, "c.py::test_other": 1.0}
    monkeypatch.setattr(each_change.durations, "known", lambda: known)
    items = [
        Item("rag_assets_tests/b.py::test_far"),
        Item("rag_assets_tests/a.py::test_near"),
        Item("rag_assets_tests/c.py::test_other"),
        Item("rag_assets_tests/d.py::test_untouched"),
        Item("rag_assets_tests/e.py::test_all_of_a_room", guards=["rag_assets/store"]),
    ]
    near = {
        "rag_assets_tests/a.py": CHANGED,
        "rag_assets_tests/b.py": IN_ROOM,
        "rag_assets_tests/c.py": REST_OF_ROOM,
        "rag_assets/store/store.py": CHANGED,
    }

    assert each_change.guarding(items, near=near, seconds=100) == {
        "rag_assets_tests/a.py::test_near",
        "rag_assets_tests/e.py::test_all_of_a_room",
    }
    assert each_change.guarding(items, near={}, seconds=100) == set()


def test_what_a_night_came_to_is_told_in_words():
    night = nightly.Night("abc", 7, "", 12.5, passed=3, failed=[], green="abc")

    assert nightly.summary(night) == ["Green: 3 passed in 12.5 minutes."]
