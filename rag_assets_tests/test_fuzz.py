"""A random search finds what breaks a law, and says how to find it again."""

import shlex
import subprocess

import pytest

from rag_assets_tests import fuzz

LAW = """
from hypothesis import given, strategies as st

@given(st.integers())
def test_numbers_are_small(number):
    assert number < {most}

def test_that_is_no_law():
    raise AssertionError
"""


@pytest.fixture
def law(tmp_path):
    """Writes a law that holds for numbers below `most`."""
    (tmp_path / "conftest.py").write_text("from rag_assets_tests.conftest import *")
    file = tmp_path / "test_law.py"
    return lambda most: file.write_text(LAW.format(most=most)) and str(file)


def test_what_breaks_a_law_is_told_with_the_command_that_repeats_it(law, capsys):
    [command] = fuzz.searched([law(1_000)], seed=7, processes=0)

    assert "number=1000" in capsys.readouterr().out
    assert "--hypothesis-seed=7" in command
    again = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "number=1000" in again.stdout
    assert fuzz.summary([command], rounds=3) == [
        "Failed in 3 rounds: 1. Each is repeated by:",
        command,
    ]


def test_a_law_that_holds_is_a_line(law, capsys):
    assert fuzz.searched([law(10**40)], seed=7, processes=0) == []
    assert "1 passed, 1 deselected" in capsys.readouterr().out
