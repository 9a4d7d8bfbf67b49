"""How long each test takes: `durations.json`, which `make test` and `make nightly` write.

`make quick` knows by it what there is time for, and the others which files take longest.
"""

import json
import statistics
from collections import Counter
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("durations.json")
TESTS = Path(__file__).parent.name
UNKNOWN = 0.05
"""Seconds of a test that the file does not name: it names those that take longer."""


def name_of(node_id: str) -> str:
    """`change/test_sync.py::test_x` of `rag_assets_tests/change/test_sync.py::test_x[one]`."""
    return node_id.partition("[")[0].removeprefix(f"{TESTS}/")


def known() -> dict[str, float]:
    """Test -> seconds of one of its cases, with its share of what the test sets up."""
    return json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}


def put_longest_first(items: list[pytest.Item]) -> None:
    """Put the longest files first, so that no process is left alone with one at the end.

    The tests of each stay in their order.
    """
    durations = known()
    of_files: Counter[Path] = Counter()
    for item in items:
        of_files[item.path] += durations.get(name_of(item.nodeid), UNKNOWN)
    items.sort(key=lambda item: -of_files[item.path])


class Stopwatch:
    """A plugin of pytest: what each test took, with what it alone had to set up."""

    def __init__(self) -> None:
        self._took: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._took[report.nodeid] = self._took.get(report.nodeid, 0) + report.duration

    @property
    def durations(self) -> dict[str, float]:
        """The mean of each test's cases; short ones are not worth a line."""
        cases: dict[str, list[float]] = {}
        for node_id, seconds in self._took.items():
            cases.setdefault(name_of(node_id), []).append(seconds)
        means = {name: round(statistics.fmean(cases[name]), 1) for name in sorted(cases)}
        return {name: mean for name, mean in means.items() if mean > UNKNOWN}

    def write(self) -> None:
        """Keep what was measured; a test that did not run keeps its line while it is there."""
        measured = {name_of(node_id) for node_id in self._took}
        kept = {
            name: seconds
            for name, seconds in known().items()
            if name not in measured and _is_there(name)
        }
        merged = dict(sorted({**kept, **self.durations}.items()))
        FILE.write_text(json.dumps(merged, indent=1) + "\n", "utf-8")


def _is_there(name: str) -> bool:
    file, _, test = name.partition("::")
    path = FILE.parent / file
    return path.is_file() and f"def {test}(" in path.read_text("utf-8")
