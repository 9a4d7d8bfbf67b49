"""What is held back: an index that its gate did not let pass.

The newest index of the variant that serves is a problem, which `status` tells. Another variant is
held `beside`: the last one on which a person asked for the verdict, by a backfill or `promote`.
The check `gate` tells both.
"""

import json
from dataclasses import asdict, dataclass, replace
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


def read(store: Store, *, is_beside: bool = False) -> HeldBack | None:
    """What is held back now, or beside what serves; None if nothing is, or it cannot be read."""
    try:
        return TypeAdapter(HeldBack).validate_json(_file(store, is_beside).read_bytes())
    except (OSError, ValueError):
        return None


def hold(store: Store, held: HeldBack, *, is_beside: bool = False) -> None:
    """Note that a variant is held; it stays so since its first night, whatever the reasons are."""
    before = read(store, is_beside=is_beside)
    if before and before.variant == held.variant:
        held = replace(held, since=before.since)
    text = json.dumps(asdict(held), indent=1, ensure_ascii=False)
    write_atomically(_file(store, is_beside), text)


def clear(store: Store) -> None:
    """Nothing is held back any more."""
    take_away(_file(store, is_beside=False))


def clear_beside(store: Store, variant: str | None = None) -> None:
    """No variant is held beside what serves any more, or not this one."""
    held = read(store, is_beside=True)
    if variant is None or (held and held.variant == variant):
        take_away(_file(store, is_beside=True))


def clear_all(store: Store, variant: str) -> None:
    """Nothing newer than what serves is held any more, nor `variant`."""
    clear(store)
    clear_beside(store, variant)


def _file(store: Store, is_beside: bool) -> Path:
    return store.root / FOLDER / (BESIDE if is_beside else FILE)
