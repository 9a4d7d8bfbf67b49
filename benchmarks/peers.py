"""Peers in environments of their own: pip installs them at first use, beside the state."""

import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from bounds import REPOSITORY

FOLDER = REPOSITORY / "data" / ".state" / "peers"


def environment(name: str, *, requirements: Sequence[str], folder: Path = FOLDER) -> Path:
    """The Python of the environment called `name`, with `requirements` installed."""
    home = folder / name
    python, installed = home / "bin" / "python", home / "installed.json"
    if installed.is_file() and json.loads(installed.read_text()) == list(requirements):
        return python
    print(f"installing {', '.join(requirements)} into {home}", flush=True)
    venv.create(home, with_pip=True, clear=True)
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *requirements],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"skipped: {', '.join(requirements)} cannot be installed: {done.stderr[-500:]}")
    installed.write_text(json.dumps(list(requirements)))
    return python


class Served:
    """A script of `peer_code/` that stays: one line of JSON in, one line of JSON out."""

    def __init__(self, python: Path, script: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [python, Path(__file__).parent / "peer_code" / script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: object) -> dict:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise SystemExit("the peer has no pipes")
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise SystemExit(f"the peer ended with code {self._process.wait()}")
        return json.loads(line)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


def ask(python: Path, script: str, *, request: object) -> dict:
    """Run `script` of `peer_code/` with that Python: JSON in, JSON out."""
    done = subprocess.run(
        [python, Path(__file__).parent / "peer_code" / script],
        input=json.dumps(request),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])
