"""What a person knows of and accepts: it is no problem until it fails in another version.

`acknowledged.json` in the state folder holds what was accepted: files, rows, tables and sources
by the names under which people see them, each with its version.
"""

import json
import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

FILE = "acknowledged.json"
NUMBER = re.compile(r"\d[\d,.]*")


class Failing(NamedTuple):
    """One version of something that fails."""

    name: str
    """The file, row, table or source, as a person writes it."""
    version: str
    """The version of the input: another one as soon as it fails anew."""


def failing(label: str, reason: str, *, version: str = "") -> Failing:
    """What is called `label` in quarantine; without a version, it is another for another reason."""
    return Failing(label.removeprefix("source "), version or NUMBER.sub("0", reason))


def acknowledged(store: Store) -> set[Failing]:
    """What was accepted; nothing where the file is damaged or not there."""
    try:
        found = json.loads((store.root / FILE).read_text("utf-8"))
        return {Failing(name, version) for name, version in found}
    except (OSError, ValueError, TypeError):
        return set()


def keep(store: Store, accepted: Iterable[Failing]) -> None:
    """Replace what was accepted."""
    write_atomically(store.root / FILE, json.dumps(sorted(accepted), ensure_ascii=False, indent=1))


def how(name: str) -> str:
    """The command that acknowledges what has this name."""
    return f"`rag-assets alerts acknowledge {shlex.quote(name)}`"
