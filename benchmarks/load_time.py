"""Load time of the code location: `dagster definitions validate` here and on an empty project.

usage: load_time.py [--runs 7]

Both commands run in turn, so that a busy machine slows both. The ratio of the medians is the
result. The modules that loading imports are listed in a process of their own.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bounds import REPOSITORY, at_most, equal, finish

HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "FlagEmbedding",
    "great_expectations",
    "pymupdf",
    "pypdfium2",
    "docling",
    "docling_core",
)
LISTING = f"import sys, rag_assets.definitions; print([m for m in {HEAVY!r} if m in sys.modules])"
EMPTY = "import dagster as dg\n\ndefs = dg.Definitions()\n"


def seconds(module: str, *, folder: Path) -> float:
    command = [sys.executable, "-m", "dagster", "definitions", "validate", "-m", module]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    started = time.monotonic()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        empty = Path(name)
        (empty / "empty_project.py").write_text(EMPTY)
        pairs = [
            (
                seconds("rag_assets.definitions", folder=REPOSITORY),
                seconds("empty_project", folder=empty),
            )
            for _ in range(runs + 1)
        ][1:]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"rag_assets {ours:.2f} s, empty project {theirs:.2f} s (medians of {runs})")
    listed = subprocess.run(
        [sys.executable, "-c", LISTING], cwd=REPOSITORY, check=True, capture_output=True, text=True
    )
    print(f"heavy modules imported: {listed.stdout.strip()}")
    finish(
        "load_time",
        [
            at_most("validate, rag_assets / empty project", ours / theirs, 1.4),
            equal("heavy modules imported", len(eval(listed.stdout)), 0),
        ],
    )


if __name__ == "__main__":
    main()
