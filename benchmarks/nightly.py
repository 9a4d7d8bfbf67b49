"""`rag-assets refresh` on the project's own data with nothing changed: one process, start to end.

usage: nightly.py [--state FOLDER] [--runs 5]

Builds the demo in FOLDER first (a temporary one unless given; minutes, once), then refreshes it.
Wall and CPU seconds are those of the whole command as a shell sees it, the start of Python
included. One more run, with clocks in it, tells where the time goes: each second is counted once,
for the innermost of the parts that were running.

What the checks of data quality cost where nothing changed is the difference to the same refresh
with none defined, run in turn: the median over pairs, because a busy machine changes from minute
to minute; in the first build it is that and the time in their own code.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

from bounds import REPOSITORY, at_most, equal, finish, rag_assets
from clocks import Clocks

SECONDS = 12
SECONDS_OF_CHECKS = 0.2
SHARE_OF_CHECKS = 0.05
DONE = (0, 3)
"""Exit codes; 3 says that the demo holds a scan without text, which waits in quarantine."""
START = "start of Python"
IMPORTS = "imports"
COMMAND = "command line: config, answer"
DEFINITIONS = "definitions"
DAGSTER = "Dagster: instance, run, events"
ASSETS = "assets"
CHECKS = "checks of data quality"
PARTS = (START, IMPORTS, COMMAND, DEFINITIONS, DAGSTER, ASSETS, CHECKS)


def refresh_with_clocks(began: float, *, with_checks: bool) -> None:
    """Refresh in this process and print the seconds of each part; `began` is when it was made."""
    clocks = Clocks(time.monotonic, rest=COMMAND, since=time.monotonic())
    clocks.seconds[START] = time.time() - began
    clocks.watch(sys.modules["_frozen_importlib"], "_find_and_load", name=IMPORTS)

    from rag_assets.serving import cli, job_runs, refresh_run

    with job_runs.lasting():
        import dagster as dg
        from dagster._core.execution.plan import compute_generator

        from rag_assets import asset_checks, definitions

    if not with_checks:
        patch.object(asset_checks, "definitions", lambda *_: dg.Definitions()).start()
    clocks.watch(asset_checks, "result_of", name=CHECKS)
    clocks.watch(asset_checks, "delete_unused_results", name=CHECKS)
    clocks.watch(compute_generator, "invoke_compute_fn", name=ASSETS)
    clocks.watch(definitions, "definitions", name=DEFINITIONS)
    clocks.watch(refresh_run, "refresh", name=DAGSTER)
    code = cli.main(["refresh", "--json"])
    clocks.stop()
    print(json.dumps(clocks.seconds))
    sys.exit(code)


def measured(state: Path) -> tuple[float, float, Mapping]:
    """Wall seconds, CPU seconds and the answer of one refresh."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = rag_assets(
        "refresh",
        "--json",
        config=REPOSITORY / "rag_assets.yaml",
        environment={"RAG_ASSETS__STATE_DIR": str(state)},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.code not in DONE:
        sys.exit(f"the refresh ended with exit code {done.code}: {done.output}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.seconds, cpu, done.json


def shares(state: Path, *, with_checks: bool = True) -> Mapping[str, float]:
    """Wall seconds of each part of one refresh."""
    command = [sys.executable, str(Path(__file__).resolve()), "--clocks", str(time.time())]
    if not with_checks:
        command.append("--without-checks")
    environment = {
        **os.environ,
        "RAG_ASSETS_CONFIG": str(REPOSITORY / "rag_assets.yaml"),
        "RAG_ASSETS__STATE_DIR": str(state),
    }
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    if done.returncode not in DONE:
        sys.exit(f"the refresh with clocks ended with exit code {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def cost_of_checks(pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]) -> float:
    """Median of the wall seconds by which a refresh is longer than the next one, without checks."""
    return statistics.median(
        sum(with_checks.values()) - sum(without.values()) for with_checks, without in pairs
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, help="where the demo is built and kept")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--clocks", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--without-checks", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.clocks:
        refresh_with_clocks(options.clocks, with_checks=not options.without_checks)
    with tempfile.TemporaryDirectory() as name:
        state = (options.state or Path(name)).resolve()
        is_first = not state.is_dir() or not any(state.iterdir())
        build = shares(state)
        runs = [measured(state) for _ in range(options.runs)]
        pairs = [(shares(state), shares(state, with_checks=False)) for _ in range(options.runs)]
    parts, _ = pairs[-1]
    of_checks = cost_of_checks(pairs)
    wall, cpu = (statistics.median(column) for column in list(zip(*runs, strict=True))[:2])
    touched = sum(
        counts.get(name, 0)
        for _, _, answer in runs
        for counts in answer["assets"].values()
        for name in ("added", "changed", "removed", "embedded")
    )
    print(f"wall {wall:.2f} s, CPU {cpu:.2f} s (medians of {options.runs}); where it goes:")
    total = sum(parts.values())
    for part in PARTS:
        print(f"  {part:32} {parts.get(part, 0):6.2f} s  {parts.get(part, 0) / total:5.0%}")
    print(f"  {'all':32} {total:6.2f} s")
    bounds = [
        at_most("nightly refresh, nothing changed, wall seconds", wall, SECONDS),
        equal("units touched", touched, 0),
        at_most("checks where nothing changed, wall seconds", of_checks, SECONDS_OF_CHECKS),
    ]
    if is_first:
        share = (build[CHECKS] + of_checks) / sum(build.values())
        bounds.append(at_most("checks, share of the first build", share, SHARE_OF_CHECKS))
    finish("nightly", bounds)


if __name__ == "__main__":
    main()
