"""What is expected of a table, what was measured of it, and how it went.

All of it survives a round through JSON: what is read back equals what was kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rag_assets.identity import Canonical

Number: TypeAlias = int | float
Example: TypeAlias = Mapping[str, str | int | float | None]
Severity: TypeAlias = Literal["error", "warning"]

EXAMPLES_SHOWN = 5
REASONS = ("reason", "why")
"""Columns of an example that speak for themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One thing that must hold, by the name of the Great Expectations class that tests it."""

    name: str
    description: str
    kind: str
    arguments: Mapping[str, Canonical]
    severity: Severity = "error"
    total: str | None = None
    """The measured number that it is on; None where it is on the table itself."""
    columns: Sequence[str] = field(default_factory=list)
    """The columns of the table that it reads."""
    remedy: str = ""
    """What to do where it does not hold."""


def told(example: Example) -> str:
    """An example in one line: what it is, by its first column, then what was seen of it."""
    (_, subject), *seen = example.items()
    said = ", ".join(
        str(value) if name in REASONS else f"{name} {value}"
        for name, value in seen
        if value is not None
    )
    return f"{subject}: {said}" if said else str(subject)


@dataclass(frozen=True, slots=True)
class Profile:
    """A table in a few numbers, to be held against those of another run."""

    rows: int
    null_shares: Mapping[str, float] = field(default_factory=dict)
    """Share of empty cells by column, from 0 to 1."""
    mean_length: float | None = None
    """Of the texts, in tokens or characters."""
    languages: Mapping[str, float] = field(default_factory=dict)
    """Share of the texts by language code, `other` included."""
    mean_norm: float | None = None
    """Of the vectors."""
    centroid: Sequence[float] = ()
    """Mean of the vectors."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured of a table in one pass."""

    totals: Mapping[str, Number]
    examples: Mapping[str, Sequence[Example]]
    """Units behind a total, the worst or the first few, by its name."""
    profile: Profile

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.profile.rows


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one expectation went."""

    passed: bool
    observed: str | Number | None = None
    """The number itself, where the expectation is on one."""
    unexpected: int | None = None
    """Values that do not meet the expectation, where it looks at each."""
    measured: int = 0
    """Values or rows that were looked at."""
    examples: Sequence[Example] = field(default_factory=list)
    note: str | None = None
    """Why there is nothing to judge, or why it could not be judged."""

    @property
    def summary(self) -> str:
        """What was found, in a few words."""
        if self.note is not None:
            return self.note
        if self.unexpected is not None:
            return f"{self.unexpected:,} of {self.measured:,} values are unexpected"
        if isinstance(self.observed, float):
            return f"observed {self.observed:.4g}"
        return f"observed {self.observed}"
