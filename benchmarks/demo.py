"""The first command of the README on a fresh clone: `make demo`, twice.

usage: demo.py

Clones the repository into a temporary folder (committed state only), installs, and times
`make demo` after the installation; a second `make demo` may embed nothing.
"""

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


def embedded_in(answer: str) -> int:
    """The texts that were embedded, from the table that a refresh prints."""
    lines = [line.split() for line in answer.splitlines()]
    columns = next(line for line in lines if line[:1] == ["asset"] and "embedded" in line)
    place = columns.index("embedded") - len(columns)  # from the right: other cells may be empty
    found = [line for line in lines if line[:1] in (["chunk_vectors"], ["row_vectors"])]
    assert len(found) == 2, "both domains have vectors"
    return sum(int(line[place].replace(",", "")) for line in found)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        clone = Path(name) / "rag_assets"
        subprocess.run(["git", "clone", "-q", REPOSITORY, clone], check=True)
        install, _ = make("install", folder=clone)
        first, _ = make("demo", folder=clone)
        second, answer = make("demo", folder=clone)
    print(f"install {install:.0f} s, first demo {first:.0f} s, second demo {second:.0f} s")
    finish(
        "demo",
        [
            at_most("make demo after the installation, minutes", first / 60, MINUTES),
            equal("texts embedded by the second make demo", embedded_in(answer), 0),
        ],
    )


if __name__ == "__main__":
    main()
