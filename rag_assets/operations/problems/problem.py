"""What a problem is: found by whoever looks, told by alerts, shown by `status`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rag_assets.config import ProblemKind

NAMED = 3
"""A problem names at most so many of the files or rows that it is about."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong until somebody or something mends it."""

    kind: ProblemKind
    subject: str
    """The source, table, asset, run or files that it is about, as a person writes it."""
    since: datetime
    """The time when it was first seen, or began (UTC)."""
    reason: str
    """What happened, one sentence or a few lines."""
    remedy: str
    """What to do about it."""
    assets: tuple[str, ...] = ()
    """Keys of the assets that are not brought up to date because of it, as a person writes them."""
    run_id: str = ""
    """The run of Dagster that it is about, if it is about one."""
    names: tuple[str, ...] = ()
    """The files, rows or units that fail alike, each of which begins and ends by itself."""
    items: str = ""
    """What these are called: `documents`."""

    @property
    def key(self) -> str:
        """What no other problem has at the same time."""
        return f"{self.kind}:{self.subject}"

    @property
    def keys(self) -> tuple[str, ...]:
        """What stays the same while it lasts, of each file or row that it is about."""
        return tuple(f"{self.kind}:{name}" for name in self.names or (self.subject,))

    def without(self, keys: Collection[str]) -> "Problem | None":
        """The problem without what has these `keys`; None if nothing is left."""
        left = [key not in keys for key in self.keys]
        if all(left) or not any(left):
            return self if all(left) else None
        names = [name for name, is_left in zip(self.names, left, strict=True) if is_left]
        return replace(self, names=tuple(names), subject=named(names, items=self.items))


def named(names: Sequence[str], *, items: str) -> str:
    """Files or rows in a few words: the one, or `4 documents: a.pdf, b.pdf, c.pdf, ...`."""
    if len(names) == 1:
        return names[0]
    more = ", ..." if len(names) > NAMED else ""
    return f"{len(names):,} {items}: {', '.join(names[:NAMED])}{more}"
