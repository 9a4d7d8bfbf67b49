"""Faults of every kind, really done: nothing is lost, nothing doubled, nothing embedded twice.

usage: faults.py [--kills 50] [--command-kills 10] [--bad-inputs 200] [--files 100000]
                 [--minutes 30] [--seed 0]

Kills refreshes and index builds at random points, and the command line itself; feeds damaged files
to the parsers; refreshes a folder of that many tiny files; runs the tests of faults (disks that are
full or read only, a PostgreSQL that stops, drifting schemas, hostile texts, clocks, links, state of
the previous release); and lets random edits and faults reign for that many minutes: among them are
documents that grow while they are read or are half copied, tables that vanish from a pattern,
overwritten indexes, and folders in the place of records. After each, the next plain refresh is held
against a build from scratch. Vectors are hashes of the texts, so that what is measured is not a
model. A `pytest` and what the tests need must be installed.
"""

import argparse
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dagster as dg
from bounds import REPOSITORY, Bound, at_most, equal, finish

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.store import Store
from rag_assets_testing.faults import chaos, comparing, project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.kills import Killing, Tally, kill, write_edition
from rag_assets_testing.faults.pipeline import Runs, refresh

DOCUMENTS = REPOSITORY / "data" / "documents"
SUFFIXES = (".pdf", ".docx", ".pptx", ".html", ".md")
LARGEST = 300_000
TESTS = "rag_assets_tests/faults"
ENDED_WELL = (0, 3)
"""Exit codes of a refresh: all done, or done with something left out that is named."""
say = partial(print, flush=True)
TINY = """\
state_dir: state
sources: {documents: documents}
variants: {default: {parser: pdfium, chunking: fixed_256, model: minilm}}
"""


def kills(home: Path, *, runs: Runs, count: int, seed: int) -> list[Bound]:
    """Half of the kills one after another, half in twos."""
    killing = Killing(project.make(home), runs=runs, seed=seed)
    killing.prepare()
    started = time.monotonic()
    while killing.tally.kills < count:
        killing.kill_a_refresh(times=1 + killing.tally.kills % 2)
    refreshes = killing.tally.kills
    while killing.tally.kills < refreshes + count:
        killing.kill_an_index_build(times=1 + killing.tally.kills % 2)
    tally = killing.tally
    say(
        f"{refreshes} refreshes and {tally.kills - refreshes} index builds killed, "
        f"{tally.finished} had ended before, in {time.monotonic() - started:.0f} s"
    )
    show("forgotten", tally.forgotten)
    forgotten = equal("kill -9: failures that were forgotten", len(tally.forgotten), 0)
    return [*tally_bounds("kill -9", tally), forgotten]


def command_kills(home: Path, *, runs: Runs, count: int, seed: int) -> list[Bound]:
    """The command line with all that belongs to it: Dagster, checks and evaluation."""
    made = project.make(home)
    random_ = random.Random(seed)
    command(made, runs=runs)
    write_edition(made, 1)
    seconds = command(made, runs=runs)
    tally, number = Tally(), 0
    state, ledger = made.home / "state", made.home / "ledger"
    while tally.kills < count:
        number += 1
        write_edition(made, 1 + number % 2)
        for after in (random_.uniform(0, seconds), None):
            committed = comparing.embedded(state)
            ledger.unlink(missing_ok=True)
            if after is None:
                command(made, runs=runs)
            else:
                process = started(made, runs=runs)
                tally.kills += kill(process, after=after)
            texts = comparing.written_down(ledger)
            tally.embedded_again += [text for text in texts if text in committed]
        fresh = made.home / f"fresh{number % 2}"
        if not fresh.exists():
            with hashing():
                refresh(made.config_with(fresh))
        ours, theirs = comparing.contents(state), comparing.contents(fresh)
        ours.pop("questions")
        tally.lost += comparing.lost(ours, theirs)
        tally.doubled += comparing.doubled(ours, theirs)
    with dg.DagsterInstance.from_config(str(state / "dagster")) as instance:
        open_runs = [run for run in instance.get_runs() if not run.is_finished]
    say(f"{tally.kills} of {number} commands killed; all plain ones after them ended well")
    return [
        *tally_bounds("kill -9 of the command", tally),
        equal("runs that a killed command left open", len(open_runs), 0),
    ]


def started(made: project.Project, *, runs: Runs) -> BaseProcess:
    ledger = made.home / "ledger"
    return runs.start(made.home, kind="command", ledger=ledger, arguments=["--allow-shrink"])


def command(made: project.Project, *, runs: Runs) -> float:
    """Seconds of a plain `rag-assets refresh`, which must end well: one page is never readable."""
    begun = time.monotonic()
    process = started(made, runs=runs)
    process.join()
    if process.exitcode not in ENDED_WELL:
        sys.exit(f"the refresh failed: {(made.home / 'run.log').read_text()[-4_000:]}")
    return time.monotonic() - begun


def bad_inputs(home: Path, *, count: int, seed: int) -> list[Bound]:
    """Documents cut short, with bytes turned over, doubled or mixed: each is read or named."""
    random_ = random.Random(seed)
    made = tiny(home)
    originals = [
        path
        for path in sorted(DOCUMENTS.rglob("*"))
        if path.suffix in SUFFIXES and path.stat().st_size < LARGEST
    ]
    for number in range(count):
        original = random_.choice(originals)
        content = damaged(original.read_bytes(), random_=random_)
        (home / "documents" / f"{number}{original.suffix}").write_bytes(content)
    started = time.monotonic()
    with hashing():
        refresh(made)
        again = refresh(made)
    store = Store(made.state_dir)
    tables = made.tables_of("default")
    chunked = set(store.read(tables.chunks, columns=["uri"])["uri"].to_pylist())
    named = {
        label
        for _, label, _ in comparing.quarantine(made.state_dir, tables=comparing.tables_of(made))
    }
    files = {path.name for path in (home / "documents").iterdir()}
    say(
        f"{count} damaged files: {len(chunked)} read, {len(named)} named, "
        f"in {time.monotonic() - started:.0f} s"
    )
    return [
        equal("damaged files neither read nor named", len(files - chunked - named), 0),
        equal(
            "damaged files parsed again by a second refresh",
            sum(report.added + report.changed for report in again),
            0,
        ),
    ]


def damaged(content: bytes, *, random_: random.Random) -> bytes:
    """`content`, broken in one of several ways."""
    place = random_.randrange(1, len(content))
    match random_.randrange(5):
        case 0:
            return content[:place]
        case 1:
            turned = bytearray(content)
            for _ in range(1 + len(content) // 200):
                turned[random_.randrange(len(turned))] = random_.randrange(256)
            return bytes(turned)
        case 2:
            return content[place:] + content[:place]
        case 3:
            return content[:place] + bytes(random_.randrange(1, 5_000)) + content[place:]
        case _:
            return content[:place] + content[place // 2 :]


def tiny_files(home: Path, *, count: int) -> list[Bound]:
    """A refresh of that many files of a few words, a second without a change, one with one."""
    made = tiny(home)
    for number in range(count):
        path = home / "documents" / str(number % 100) / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"tiny text number {number}")
        project.age(path)
    with hashing():
        cold, no_op = timed(made), timed(made)
        project.age(home / "documents/7/7.txt", seconds=5)
        (home / "documents/8/8.txt").write_text("another tiny text")
        changed = timed(made)
    held = Store(made.state_dir).count(made.tables_of("default").joint)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(
        f"{count:,} tiny files: cold {cold:.0f} s, nothing changed {no_op:.1f} s, one changed "
        f"{changed:.1f} s; peak memory of the process {memory:,.0f} MB"
    )
    return [
        equal("tiny files that are not in the index", count - held, 0),
        at_most("refresh after one changed tiny file / cold build", changed / cold, 0.5),
    ]


def tiny(home: Path) -> Config:
    (home / "documents").mkdir(parents=True)
    (home / "rag_assets.yaml").write_text(TINY)
    return configuration.load(home / "rag_assets.yaml")


def timed(made: Config) -> float:
    started = time.monotonic()
    refresh(made)
    return time.monotonic() - started


def tests() -> list[Bound]:
    """The short forms of all other faults."""
    say(f"$ pytest {TESTS}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", TESTS, "--deselect", f"{TESTS}/test_chaos.py"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    last = done.stdout.strip().splitlines()[-1]
    say(last)
    passed, failed = (int(found[1]) if found else 0 for found in counted(last))
    return [
        Bound("tests of faults passed", passed, "> 0", ok=passed > 0 and done.returncode == 0),
        equal("tests of faults failed", failed, 0),
    ]


def counted(line: str) -> Iterator[re.Match[str] | None]:
    for word in ("passed", "failed"):
        yield re.search(rf"(\d+) {word}", line)


def reign(home: Path, *, runs: Runs, minutes: float, seed: int) -> list[Bound]:
    tally = chaos.chaos(home, runs=runs, seconds=60 * minutes, seed=seed)
    deeds = ", ".join(f"{count} x {name}" for name, count in tally.done.most_common())
    say(f"chaos: {tally.kills} kills, {tally.looks} comparisons; {deeds}")
    return [
        *tally_bounds("chaos", tally),
        equal("chaos: mixed or silent", len([*tally.mixed, *tally.unnamed]), 0),
        equal("chaos: inputs blamed otherwise", len(tally.unequal_quarantine), 0),
    ]


def tally_bounds(what: str, tally: Tally | chaos.Tally) -> list[Bound]:
    for name in ("lost", "doubled", "embedded_again", "mixed", "unnamed"):
        show(name, getattr(tally, name))
    return [
        Bound(f"{what}: runs killed", tally.kills, "> 0", ok=tally.kills > 0),
        equal(f"{what}: units lost", len(tally.lost), 0),
        equal(f"{what}: units doubled or stale", len(tally.doubled), 0),
        equal(f"{what}: texts embedded again", len(tally.embedded_again), 0),
    ]


def show(what: str, found: Sequence[str]) -> None:
    for line in found[:10]:
        say(f"{what}: {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50, help="of refreshes, and of index builds")
    parser.add_argument("--command-kills", type=int, default=10)
    parser.add_argument("--bad-inputs", type=int, default=200)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=30, help="of chaos")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    runs = Runs()
    bounds: list[Bound] = []
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        seed = arguments.seed
        bounds += kills(home / "kills", runs=runs, count=arguments.kills, seed=seed)
        bounds += command_kills(
            home / "commands", runs=runs, count=arguments.command_kills, seed=seed
        )
        bounds += bad_inputs(home / "bad", count=arguments.bad_inputs, seed=seed)
        bounds += tiny_files(home / "tiny", count=arguments.files)
        bounds += tests()
        bounds += reign(home / "chaos", runs=runs, minutes=arguments.minutes, seed=seed)
    finish("faults", bounds)


if __name__ == "__main__":
    main()
