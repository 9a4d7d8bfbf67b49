"""The first command of the README on a fresh clone: `make demo`, twice.

usage: demo.py

Clones the repository into a temporary folder (committed state only), installs, and times
`make demo` after the installation; a second `make demo` may embed nothing.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path

from bounds import REPOSITORY, at_most, equal, finish

MINUTES = 4


def make(target: str, *, folder: Path) -> tuple[float, str]:
    started = time.monotonic()
    done = subprocess.run(
        ["make", "-C", str(folder), target], stdout=subprocess.PIPE, text=True, check=True
    )
    print(done.stdout, flush=True)
    return time.monotonic() - started, done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        clone = Path(name) / "rag_assets"
        subprocess.run(["git", "clone", "-q", REPOSITORY, clone], check=True)
        install, _ = make("install", folder=clone)
        first, _ = make("demo", folder=clone)
        second, _ = make("demo", folder=clone)
        last = json.loads((clone / "data/.state/last_refresh.json").read_text())
    print(f"install {install:.0f} s, first demo {first:.0f} s, second demo {second:.0f} s")
    embedded = sum(counts.get("embedded", 0) for counts in last["assets"].values())
    finish(
        "demo",
        [
            at_most("make demo after the installation, minutes", first / 60, MINUTES),
            equal("texts embedded by the second make demo", embedded, 0),
        ],
    )


if __name__ == "__main__":
    main()
