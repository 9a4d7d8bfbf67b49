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
