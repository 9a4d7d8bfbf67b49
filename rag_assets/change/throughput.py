"""How fast this state's machine does what: kept by the passes themselves, for whoever plans.

Of each kind of work the largest pass is kept, since what a pass costs apart from its items weighs
least there; one of half its size replaces it, so that a new machine is noticed. A cache that may be
lost.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass

from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

FILE = "throughput.json"
REPLACED_FROM_SHARE = 1 / 2


@dataclass(frozen=True, slots=True)
class Throughput:
    """What one pass took."""

    items: float
    """Inputs that it did, or tokens."""
    seconds: float

    @property
    def seconds_an_item(self) -> float:
        """Wall time for each item."""
        return self.seconds / self.items


def kind_of(table: str) -> str:
    """The kind of work that a table takes: the first word of its name."""
    return table.partition("__")[0].partition("-")[0]


def note(store: Store, kind: str, *, items: float, seconds: float) -> None:
    """Write down what a pass took, unless a much larger one is known."""
    known = throughput(store)
    before = known.get(kind)
    if items <= 0 or (before and items < before.items * REPLACED_FROM_SHARE):
        return
    fresh = {**known, kind: Throughput(items, seconds)}
    with suppress(OSError):  # nothing depends on it
        write_atomically(
            store.root / FILE,
            json.dumps({name: asdict(each) for name, each in fresh.items()}, indent=1),
        )


def throughput(store: Store) -> Mapping[str, Throughput]:
    """What is known, by kind of work."""
    try:
        record = json.loads((store.root / FILE).read_text("utf-8"))
        return {name: Throughput(**each) for name, each in record.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
