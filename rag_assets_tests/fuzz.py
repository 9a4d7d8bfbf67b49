"""A long random search by all laws, the property-based tests: `make fuzz`.

usage: python -m rag_assets_tests.fuzz [--minutes 60] [--processes 2] [PATH ...]

`make test` draws the same examples each time, so that chance stops nobody's work. Here each round
runs all laws with a seed of its own, until the time is used up; a round that has begun is finished.
Each failure is printed with the example that shows it and the command that repeats it. Keep the
example as an `@example` of the law: `make test` finds it from then on.
"""

import argparse
import random
import re
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parent
PASSED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files or folders of tests; all unless given")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    paths = asked.paths or [str(TESTS)]
    until = time.monotonic() + asked.minutes * 60
    found: list[str] = []
    rounds = 0
    while rounds == 0 or time.monotonic() < until:
        rounds += 1
        seed = random.randrange(2**32)
        left = max(0.0, until - time.monotonic()) / 60
        print(f"Round {rounds}, seed {seed}, {left:.0f} minutes left", flush=True)
        found += searched(paths, seed=seed, processes=asked.processes)
    print(*summary(found, rounds=rounds), sep="\n")
    sys.exit(1 if found else 0)


def command(paths: list[str], *, seed: int) -> list[str]:
    """What runs the laws in `paths` once, with the examples of this seed."""
    options = ["-m", "hypothesis", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}"]
    return [sys.executable, "-m", "pytest", "--no-header", *options, *paths]


def searched(paths: list[str], *, seed: int, processes: int) -> list[str]:
    """Run all laws once; the commands that repeat what failed, which is printed."""
    at_once = ["--numprocesses", str(processes), "--dist", "loadfile", "--max-worker-restart", "0"]
    run = [*command(paths, seed=seed), "--tb=short", *at_once]
    done = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == PASSED:
        print(f"  {done.stdout.strip().splitlines()[-1]}", flush=True)
        return []
    print(done.stdout, flush=True)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    repeat = [" ".join(command([f"'{name}'"], seed=seed)) for name in failed]
    return repeat or [" ".join(command(paths, seed=seed))]  # it ended before any test


def summary(found: list[str], *, rounds: int) -> list[str]:
    """What is told at the end."""
    if not found:
        return [f"No law failed in {rounds} rounds."]
    return [f"Failed in {rounds} rounds: {len(found)}. Each is repeated by:", *found]


if __name__ == "__main__":
    main()
