"""What is held back: the newest index of the serving variant that its gate did not let pass."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.store import Store
from rag_assets.store.atomic import take_away, write_atomically
from rag_assets.store.serving_pointer import FOLDER

FILE = "held.json"


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
    """None where it was not complete or not consistent, so that nobody judged it."""

    @property
    def outcome(self) -> str:
        """FAIL or HOLD."""
        return self.verdict.outcome if self.verdict else "HOLD"


def read(store: Store) -> HeldBack | None:
    """What is held back now; None if nothing is, or the record is damaged."""
    try:
        return TypeAdapter(HeldBack).validate_json(_file(store).read_bytes())
    except (OSError, ValueError):
        return None


def record(store: Store, held: HeldBack) -> None:
    """Note what is held back."""
    write_atomically(_file(store), json.dumps(asdict(held), indent=1, ensure_ascii=False))


def clear(store: Store) -> None:
    """Nothing is held back any more."""
    take_away(_file(store))


def _file(store: Store) -> Path:
    return store.root / FOLDER / FILE
