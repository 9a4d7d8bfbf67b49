"""The night: all sweeps, and a random search by all laws (property-based tests): `make nightly`.

usage: python -m rag_assets_tests.nightly [--seed N] [--minutes 60] [--processes 2] [PATH ...]

Each night has a seed of its own: laws draw 500 examples, sweeps of kills and chaos their moments
and edits, all from it. Each failure is printed with the command that repeats it; keep the example
of a law as an `@example`, and `make test` finds it from then on. The result is written to
`nightly.json`, whose last green commit says what `make test` need not look at again.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag_assets_testing import effort
from rag_assets_tests import durations

TESTS = Path(__file__).parent
RESULT = TESTS.parent / "nightly.json"
MARK = "nightly"
"""The marker of tests that are left to the night. `guards` names folders and files whose changes
bring such a test back into `make test`, beside those that it imports."""
SELECTED = f"{MARK} or {effort.SWEEP} or hypothesis"
BY_DAY = pytest.StashKey[set[str]]()
"""The ids of those that run all the same."""
WRITTEN = (RESULT.name, str(durations.FILE.relative_to(TESTS.parent)))
"""Files of the repository that runs of tests write."""


@dataclass(frozen=True)
class Night:
    """What one came to."""

    commit: str
    seed: int
    finished: str
    minutes: float
    passed: int
    failed: list[str]
    """The commands that repeat what failed."""
    green: str | None
    """The commit of the last night in which nothing failed: this one, or an earlier one."""


def last_green() -> str | None:
    """The commit of the last green night; None before the first."""
    return json.loads(RESULT.read_text("utf-8"))["green"] if RESULT.is_file() else None


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """By day, leave out what the night runs, but for tests that were named or taken from it."""
    if any("::" in named for named in config.args):
        return
    taken = config.stash.get(BY_DAY, set())
    left = [item for item in items if item.get_closest_marker(MARK) and item.nodeid not in taken]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


class Recorder:
    """A plugin of pytest: what passed and what failed."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self.stopwatch = durations.Stopwatch()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if MARK in report.keywords:  # laws take longer than by day
            self.stopwatch.pytest_runtest_logreport(report)
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
        self.passed += report.when == "call" and report.passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files or folders of tests; all unless given")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--minutes", type=float, default=60.0, help="the most that it may take")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    commit = committed()
    print(f"Night of {commit:.8}, seed {asked.seed}", flush=True)
    started = time.monotonic()
    found = run(asked.paths, seed=asked.seed, processes=asked.processes, minutes=asked.minutes)
    minutes = (time.monotonic() - started) / 60
    night = Night(
        commit=commit,
        seed=asked.seed,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        minutes=round(minutes, 1),
        passed=found.passed,
        failed=[repeating(name, seed=asked.seed) for name in found.failed],
        green=last_green() if found.failed else commit,
    )
    print(*summary(night), sep="\n")
    if not asked.paths:
        RESULT.write_text(json.dumps(asdict(night), indent=1) + "\n", "utf-8")
        found.stopwatch.write()
    sys.exit(1 if night.failed else 0)


def committed() -> str:
    """The commit that is tested: a night is of what everybody can fetch."""
    others = [f":(exclude){name}" for name in WRITTEN]
    changed = subprocess.run(
        ["git", "diff", "--name-only", "HEAD", "--", ".", *others],
        cwd=RESULT.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if changed.returncode or changed.stdout:
        names = ", ".join(changed.stdout.split()) or changed.stderr.strip()
        sys.exit(f"A night is of a commit: commit or put aside what is changed here ({names}).")
    head = ["git", "rev-parse", "HEAD"]
    return subprocess.check_output(head, cwd=RESULT.parent, text=True).strip()


def run(paths: Iterable[str], *, seed: int, processes: int, minutes: float) -> Recorder:
    """Run sweeps and laws once, the longest files first; time that is used up is a failure."""
    os.environ[effort.VARIABLE] = str(seed)
    recorder = Recorder()
    at_once = [
        *("--numprocesses", str(processes), "--max-worker-restart", "0"),
        *("--dist", "loadfile", "--no-loadscope-reorder"),
    ]
    options = ["-m", SELECTED, f"--hypothesis-seed={seed}", "--no-header"]
    started = time.monotonic()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, minutes * 60)
    try:
        status = pytest.main(
            [*options, *at_once, "--tb=short", *(paths or [str(TESTS)])],
            plugins=[recorder],
        )
    except KeyboardInterrupt:  # before pytest looks for one
        status = pytest.ExitCode.INTERRUPTED
    signal.setitimer(signal.ITIMER_REAL, 0)
    if status == pytest.ExitCode.INTERRUPTED:
        took = (time.monotonic() - started) / 60
        recorder.failed.append(f"not ended after {took:.1f} minutes")
    elif status != pytest.ExitCode.OK and not recorder.failed:
        recorder.failed.append(f"ended before any test, with {status!r}")
    return recorder


def repeating(name: str, *, seed: int) -> str:
    """The command that runs a test again, with the examples of this seed; or what else failed."""
    if ".py" not in name:
        return name
    return f"{effort.VARIABLE}={seed} python -m pytest --hypothesis-seed={seed} '{name}'"


def summary(night: Night) -> list[str]:
    """What is told at the end."""
    if not night.failed:
        return [f"Green: {night.passed} passed in {night.minutes:g} minutes."]
    head = f"Red: {len(night.failed)} failed, {night.passed} passed in {night.minutes:g} minutes."
    return [head, "Each is repeated by:", *night.failed]


if __name__ == "__main__":
    main()
