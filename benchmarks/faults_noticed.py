"""Faults put into the code, one after the other: do the tests that a change meets notice them?

usage: faults_noticed.py [--only ROOM ...] [--day 300] [--night 600]

`faults_noticed.yaml` has 24 faults, two in each of the twelve largest rooms; who chose them had not
read the tests. Each is put into a clone of the last commit. There it meets the tests that
`touched.py` selects from `make test`, stopped at the first failure, for five minutes at most; what
they do not notice meets the tests of the night that it selects, for ten minutes at most. A failure
counts only if its test passes once the fault is taken out again. It takes one to two hours.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from bounds import REPOSITORY, at_least, equal, finish

say = partial(print, flush=True)
FAULTS = Path(__file__).with_suffix(".yaml")
ROOMS, EACH = 12, 2
FEWEST_NOTICED = 22
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", re.MULTILINE)
OVER = 1.3
"""A test that has begun is finished: a run may take so many times as long as it is given."""


@dataclass(frozen=True)
class Fault:
    """An edit that takes something from users."""

    room: str
    file: str
    what: str
    suffers: str
    before: str
    after: str

    def put_into(self, clone: Path) -> None:
        """Write it into the clone.

        Raises:
            SystemExit: The code is not as it was when the fault was chosen.
        """
        path = clone / self.file
        text = path.read_text("utf-8")
        if text.count(self.before) != 1:
            sys.exit(f"{self.file} has changed: choose the fault anew ({self.what})")
        path.write_text(text.replace(self.before, self.after), "utf-8")


@dataclass(frozen=True)
class Noticed:
    """Which test noticed a fault, and how soon."""

    when: str
    """`day`, `night` or `never`."""
    test: str
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", metavar="ROOM", help="faults of these rooms")
    parser.add_argument("--day", type=float, default=300.0, help="seconds for tests of make test")
    parser.add_argument("--night", type=float, default=600.0, help="seconds for those of the night")
    asked = parser.parse_args()
    faults = [Fault(**entry) for entry in yaml.safe_load(FAULTS.read_text("utf-8"))]
    faults = [fault for fault in faults if not asked.only or fault.room in asked.only]
    found: list[Noticed] = []
    with TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        git("clone", "--quiet", str(REPOSITORY), str(clone), at=REPOSITORY)
        for number, fault in enumerate(faults, start=1):
            found.append(noticed(fault, clone=clone, day=asked.day, night=asked.night))
            last = found[-1]
            say(f"{number:2} {fault.room:13} {last.when:6} {last.seconds:4.0f} s  {fault.what}")
            say(f"{'':17}{last.test or fault.suffers}")
    whens = [each.when for each in found]
    few = FEWEST_NOTICED if len(faults) == ROOMS * EACH else len(faults)
    finish(
        "faults_noticed",
        [
            at_least(f"of {len(faults)} faults, noticed", len(faults) - whens.count("never"), few),
            equal("noticed by the night alone", whens.count("night"), 0),
        ],
    )


def noticed(fault: Fault, *, clone: Path, day: float, night: float) -> Noticed:
    """Put one fault into the clone, run tests until one fails, and take it out again."""
    started = time.monotonic()
    for when, seconds, options in (("day", day, []), ("night", night, ["--night"])):
        fault.put_into(clone)
        said = run("rag_assets_tests.touched", clone, seconds, *options)
        git("checkout", "--quiet", "--", ".", at=clone)
        failed = FAILED.findall(said)
        if failed and passes(failed[0], clone=clone, is_night=when == "night"):
            return Noticed(when, failed[0], time.monotonic() - started)
    return Noticed("never", "", time.monotonic() - started)


def run(module: str, clone: Path, seconds: float, *options: str) -> str:
    """What the tests that the change selects say."""
    command = [sys.executable, "-m", module, "--base", "HEAD", "--first-failure", *options]
    return output([*command, "--seconds", str(seconds)], clone=clone, limit=OVER * OVER * seconds)


def passes(test: str, *, clone: Path, is_night: bool) -> bool:
    """Whether a test that failed passes without the fault."""
    environment = {"NIGHT_SEED": "0"} if is_night else {}
    command = [sys.executable, "-m", "pytest", "--no-header", test]
    return " passed" in output(command, clone=clone, limit=600, **environment)


def output(command: list[str], *, clone: Path, limit: float, **environment: str) -> str:
    """What a command says in the clone, as far as it comes within the limit (seconds)."""
    try:
        done = subprocess.run(
            command,
            cwd=clone,
            env={**os.environ, "PYTHONPATH": str(clone), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return (error.output or b"").decode("utf-8", "replace")
    return done.stdout


def git(*arguments: str, at: Path) -> None:
    subprocess.run(["git", *arguments], cwd=at, check=True)


if __name__ == "__main__":
    main()
