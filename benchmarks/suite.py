"""What `make test` costs at the last commit against another one, each in a fresh clone.

usage: suite.py --before COMMIT [--runs 1]

The two run one after the other: CPU of all processes that end, installation apart, and the largest
memory of any process. It takes over an hour on two quiet cores; nothing else should run.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
from bounds import REPOSITORY, at_most, equal, finish

say = partial(print, flush=True)
MOST_OF_BEFORE = 0.55
MOST_MEMORY = 3.0
"""GB of one process."""
INTERVAL = 1.0


@dataclass(frozen=True)
class Cost:
    """Of one run of `make test`."""

    commit: str
    code: int
    cpu: float
    """Minutes."""
    minutes: float
    memory: float
    """GB of the largest process."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True, help="the commit to compare with")
    parser.add_argument("--runs", type=int, default=1, help="runs of the last commit")
    asked = parser.parse_args()
    before = cost_of(asked.before)
    after = [cost_of("HEAD") for _ in range(asked.runs)]
    share = max(each.cpu for each in after) / before.cpu
    finish(
        "suite",
        [
            at_most("CPU of make test / before", share, MOST_OF_BEFORE),
            equal("failed runs", sum(each.code != 0 for each in after), 0),
            at_most("GB of a process", max(each.memory for each in after), MOST_MEMORY),
        ],
    )


def cost_of(commit: str) -> Cost:
    """Clone, install, and run `make test` once."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        run("git", "clone", "--quiet", str(REPOSITORY), str(clone), at=REPOSITORY)
        run("git", "checkout", "--quiet", commit, at=clone)
        run("make", ".venv/installed-dev", f"PYTHON={sys.executable}", at=clone)
        started, cpu = time.monotonic(), cpu_of_children()
        largest = Largest()
        done = subprocess.Popen(["make", "test"], cwd=clone, env=environment())
        while done.poll() is None:
            largest.look(done.pid)
            time.sleep(INTERVAL)
        cost = Cost(
            commit=commit,
            code=done.returncode,
            cpu=(cpu_of_children() - cpu) / 60,
            minutes=(time.monotonic() - started) / 60,
            memory=largest.bytes / 1e9,
        )
    say(
        f"{commit:.10}: {cost.cpu:.1f} CPU minutes, {cost.minutes:.1f} minutes, "
        f"{cost.memory:.2f} GB, exit {cost.code}"
    )
    return cost


class Largest:
    """The memory of the largest process that was seen."""

    def __init__(self) -> None:
        self.bytes = 0

    def look(self, root: int) -> None:
        """At all that `root` started."""
        try:
            for process in psutil.Process(root).children(recursive=True):
                self.bytes = max(self.bytes, process.memory_info().rss)
        except psutil.NoSuchProcess:
            return


def cpu_of_children() -> float:
    """Seconds of all ended children of this process."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(*command: str, at: Path) -> None:
    subprocess.run(command, cwd=at, check=True, env=environment())


def environment() -> dict[str, str]:
    """That of a shell: nothing of the environment of this process leads to this repository."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


if __name__ == "__main__":
    main()
