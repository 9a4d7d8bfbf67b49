"""What is held back: an index that its gate did not let pass.

The newest index of the variant that serves is a problem, which `status` tells. Another variant is
held `beside`: the last one on which a person asked for the verdict, by a backfill or `promote`.
The check `gate` tells both.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.store import Store
from rag_assets.store.atomic import take_away, write_atomically
from rag_assets.store.serving_pointer import FOLDER

FILE = "held.json"
BESIDE = "held_beside.json"


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A candidate that may not serve, while yesterday's index does."""

    variant: str
    since: str
    """ISO 8601, UTC: when one was first held, since something was last promoted."""
    reasons: tuple[str, ...]
    """Sentences, the most important first."""
    remedy: str
    verdict: Verdict | None
    """The verdict of the gate; None where the index was not complete or not consistent, so that
    nobody judged it."""

    @property
    def outcome(self) -> str:
        """FAIL or HOLD."""
        return self.verdict.outcome if self.verdict else "HOLD"


def read(store: Store) -> HeldBack | None:
    """What is held back now; None if nothing is, or the record is damaged."""
    return _read(_file(store))


def read_beside(store: Store) -> HeldBack | None:
    """The variant that is held beside what serves; None as for `read`."""
    return _read(_file(store, BESIDE))


def record(store: Store, held: HeldBack) -> None:
    """Note what is held back."""
    write_atomically(_file(store), _json(held))


def record_beside(store: Store, held: HeldBack) -> None:
    """Note that a variant is held beside what serves."""
    write_atomically(_file(store, BESIDE), _json(held))


def clear(store: Store) -> None:
    """Nothing is held back any more."""
    take_away(_file(store))


def clear_beside(store: Store, variant: str | None = None) -> None:
    """No variant is held beside what serves any more, or not this one."""
    held = read_beside(store)
    if variant is None or (held and held.variant == variant):
        take_away(_file(store, BESIDE))


def clear_all(store: Store, variant: str) -> None:
    """Nothing newer than what serves is held any more, nor `variant`."""
    clear(store)
    clear_beside(store, variant)


def _read(file: Path) -> HeldBack | None:
    try:
        return TypeAdapter(HeldBack).validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None


def _json(held: HeldBack) -> str:
    return json.dumps(asdict(held), indent=1, ensure_ascii=False)


def _file(store: Store, name: str = FILE) -> Path:
    return store.root / FOLDER / name
