"""Benchmarks in a small form: each comes to its closing line, whatever its bounds say of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
SMALL = {
    "batched_search": ("--units", "300", "--queries", "4", "--repeat", "1"),
    "chunk_stability": ("--edits", "4"),
    "holes": ("--attacks", "1", "--without-worst"),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_ends_with_what_it_found(name):
    done = subprocess.run(
        [sys.executable, REPOSITORY / "benchmarks" / f"{name}.py", *SMALL[name]],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    last = (done.stdout.splitlines() or [""])[-1]
    assert last.startswith("{"), done.stderr[-2_000:]
    found = json.loads(last)
    assert found["name"] == name
    assert found["bounds"]
