"""What every benchmark shares: bounds that it holds, the closing JSON line, and the shared data."""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NoReturn

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("RAG_ASSETS_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))

# Commands are timed as users have them: Python keeps what it has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@dataclass(frozen=True, slots=True)
class Bound:
    """One claim: `value` was measured and held against `bound`.

    A miss may be known: then it is written down why, and no second look is needed. It stays a miss.
    """

    what: str
    value: float
    bound: str
    ok: bool
    known: bool = False
    reason: str = ""
    """Why a known miss is one, and how far it may go."""
    note: str = ""
    """What else has to be known of it."""


def at_most(what: str, value: float, limit: float) -> Bound:
    return Bound(what=what, value=round(value, 4), bound=f"<= {limit:g}", ok=value <= limit)


def at_least(what: str, value: float, limit: float) -> Bound:
    return Bound(what=what, value=round(value, 4), bound=f">= {limit:g}", ok=value >= limit)


def not_worse(what: str, low: float | None, high: float | None, *, margin: float) -> Bound:
    """Of a difference, ours less theirs: a loss of more than `margin` is ruled out.

    That is so where the lower end of the 95 % interval lies above minus the margin. An upper end
    above it only says that no loss is proved; a lower end that is not above 0, that no gain is.
    """
    ends = (math.nan if end is None else float(end) for end in (low, high))
    least, most = ends
    bound = at_least(f"{what}: lower end", least, -margin)
    if bound.ok:
        smaller = f"a smaller loss is shown: upper end {most:+.3f}"
        return replace(bound, note="" if least > 0 else smaller if most < 0 else "no gain shown")
    told = f"a loss is shown: upper end {most:+.3f}"
    if not most < -margin:
        told = f"cannot be told by these questions: upper end {most:+.3f}"
    return replace(bound, note=told)


def equal(what: str, value: float, expected: float) -> Bound:
    return Bound(what=what, value=value, bound=f"== {expected:g}", ok=value == expected)


def within(what: str, value: float, least: float, most: float) -> Bound:
    """For a value that is too low to be good, or too high to be true."""
    ok = least <= value <= most
    return Bound(what=what, value=round(value, 4), bound=f"{least:g} to {most:g}", ok=ok)


def known_miss(bound: Bound, *, worst: float, reason: str) -> Bound:
    """`bound`, of which a miss by a value of at most `worst` is known, for `reason`.

    What holds needs no excuse, and what is worse than `worst` is news: both stay as they are.
    """
    if bound.ok or bound.value > worst:
        return bound
    return replace(bound, known=True, reason=f"{reason} (known up to {worst:g})")


def finish(name: str, bounds: Sequence[Bound]) -> NoReturn:
    """Print the closing JSON line and exit 0 only if every bound holds: a known miss is a miss."""
    for bound in bounds:
        print(f"{_mark(bound)} {bound.what}: {bound.value} (bound {bound.bound})")
        if bound.known:
            print(f"      known: {bound.reason}")
        if bound.note:
            print(f"      {bound.note}")
    print(json.dumps({"name": name, "bounds": [asdict(bound) for bound in bounds]}))
    sys.exit(0 if all(bound.ok for bound in bounds) else 1)


def _mark(bound: Bound) -> str:
    if bound.ok:
        return "ok  "
    return "miss" if bound.known else "FAIL"


def interpreter_of(parser: str) -> Path | None:
    """The Python in which `make parsers` has installed a parser, if it has."""
    python = REPOSITORY / f".venv-{parser}" / "bin" / "python"
    return python if python.is_file() else None


def dataset(name: str) -> Path:
    """Folder of a shared dataset; the benchmark ends with a clear message where it is absent."""
    folder = SHARED_DATA / name
    if not folder.is_dir():
        sys.exit(f"skipped: the dataset {name} is not at {folder} (set RAG_ASSETS_SHARED_DATA)")
    return folder


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ran."""

    code: int
    output: str
    seconds: float

    @property
    def json(self) -> dict:
        """The JSON object that ends the output."""
        return json.loads(self.output.strip().splitlines()[-1])


def rag_assets(*arguments: str, config: Path, environment: Mapping[str, str] = {}) -> Finished:
    """Run the command line on `config`; progress goes to the terminal."""
    command = [Path(sys.executable).with_name("rag-assets"), *arguments]
    print("$ rag-assets", *arguments, flush=True)
    started = time.monotonic()
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "RAG_ASSETS_CONFIG": str(config), **environment},
    )
    return Finished(done.returncode, done.stdout, time.monotonic() - started)
