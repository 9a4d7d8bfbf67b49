"""A finding: one thing that is wrong, with its kind, its reason and its remedy."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import TypeAdapter

from rag_assets.config.base import read_data

Severity: TypeAlias = Literal["error", "warning", "note"]
"""An error: answers or verdicts may be wrong. A warning: something waits or is left out. A note: it
may be so."""
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
NAMED = 3
"""A finding names at most so many of the files or rows that it is about."""


@dataclass(frozen=True, slots=True)
class FindingKind:
    """A kind of findings, as `kinds.yaml` describes it."""

    name: str
    severity: Severity
    says: str
    """What is wrong, for a reader who has not seen it yet."""
    remedy: str = ""
    """What to do, where no finding says it better."""
    code: str = ""
    """A short name that stays: `D` and digits of the doctor, `E` of evaluations."""


@cache
def kinds() -> Mapping[str, FindingKind]:
    """All kinds by their names, in the order of the file."""
    listed = read_data(Path(__file__).with_name("kinds.yaml"))
    return {kind.name: kind for kind in TypeAdapter(list[FindingKind]).validate_python(listed)}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong until somebody or something mends it."""

    kind: str
    """The name of its kind: one of `kinds`."""
    subject: str
    """The source, table, asset, run or files that it is about, as a person writes it."""
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
    """The time when it was first seen, or began (UTC)."""
    reason: str = ""
    """What happened, one sentence or a few lines; empty where the kind says it all."""
    remedy: str = ""
    """What to do about it: that of its kind unless given."""
    assets: tuple[str, ...] = ()
    """Keys of the assets that are not brought up to date because of it, as a person writes them."""
    run_id: str = ""
    """The run of Dagster that it is about, if it is about one."""
    names: tuple[str, ...] = ()
    """The files, rows or units that fail alike, each of which begins and ends by itself."""
    items: str = ""
    """What these are called: `documents`."""
    count: int | None = None
    """How many rows, files or questions show it; None where nobody counted."""
    examples: Sequence[str] = ()
    """Some of these."""
    severity: Severity | None = None
    """How much it counts: as its kind does unless given."""

    def __post_init__(self) -> None:
        """Take from the kind what was not given.

        Raises:
            ValueError: There is no such kind.
        """
        kind = kinds().get(self.kind)
        if kind is None:
            raise ValueError(f"there is no kind of findings called {self.kind!r}")
        if self.names and self.count is None:
            object.__setattr__(self, "count", len(self.names))
        object.__setattr__(self, "examples", tuple(self.examples))
        object.__setattr__(self, "remedy", self.remedy or kind.remedy)
        object.__setattr__(self, "severity", self.severity or kind.severity)

    @property
    def code(self) -> str:
        """The short name of its kind; empty where it has none."""
        return kinds()[self.kind].code

    @property
    def says(self) -> str:
        """What is wrong, as its kind says it."""
        return kinds()[self.kind].says

    @property
    def key(self) -> str:
        """What no other finding has at the same time."""
        return f"{self.kind}:{self.subject}"

    @property
    def keys(self) -> tuple[str, ...]:
        """What stays the same while it lasts, of each file or row that it is about."""
        return tuple(f"{self.kind}:{name}" for name in self.names or (self.subject,))

    def without(self, keys: Collection[str]) -> Self | None:
        """The finding without what has these `keys`; None if nothing is left."""
        left = [key not in keys for key in self.keys]
        if all(left) or not any(left):
            return self if all(left) else None
        names = [name for name, is_left in zip(self.names, left, strict=True) if is_left]
        subject = named(names, items=self.items)
        return replace(self, names=tuple(names), subject=subject, count=len(names))


def named(names: Sequence[str], *, items: str) -> str:
    """Files or rows in a few words: the one, or `4 documents: a.pdf, b.pdf, c.pdf, ...`."""
    if len(names) == 1:
        return names[0]
    more = ", ..." if len(names) > NAMED else ""
    return f"{len(names):,} {items}: {', '.join(names[:NAMED])}{more}"
