"""The types of this package: expectations, measures and outcomes.

All of them can be stored as JSON and read back unchanged.
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
"""Columns of an example that are shown without their name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Something that must hold; `kind` names the class of Great Expectations that tests it."""

    name: str
    description: str
    kind: str
    arguments: Mapping[str, Canonical]
    severity: Severity = "error"
    total: str | None = None
    """The measured number that it is about; None if it is about columns of the table."""
    columns: Sequence[str] = field(default_factory=list)
    """The columns of the table that it reads."""
    remedy: str = ""
    """What to do if it fails."""


def example_line(example: Example) -> str:
    """An example in one line: the first column names it, the others describe it."""
    (_, subject), *others = example.items()
    description = ", ".join(
        str(value) if name in REASONS else f"{name} {value}"
        for name, value in others
        if value is not None
    )
    line = f"{subject}: {description}" if description else str(subject)
    return " ".join(line.split())  # the text of a chunk has lines of its own


@dataclass(frozen=True, slots=True)
class Profile:
    """A table in a few numbers, for comparison with another run."""

    rows: int
    null_shares: Mapping[str, float] = field(default_factory=dict)
    """The share of empty cells by column, from 0 to 1."""
    mean_length: float | None = None
    """The mean length of the texts, in tokens or characters."""
    languages: Mapping[str, float] = field(default_factory=dict)
    """The share of the texts in each language, by its code, `other` included."""
    mean_norm: float | None = None
    """The mean norm of the vectors."""
    centroid: Sequence[float] = ()
    """Mean of the vectors."""


@dataclass(frozen=True, slots=True)
class TableMeasures:
    """What was measured of a table in one pass."""

    totals: Mapping[str, Number]
    examples: Mapping[str, Sequence[Example]]
    """The worst or the first few units of a total, by its name."""
    profile: Profile

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.profile.rows


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one expectation."""

    passed: bool
    observed: str | Number | None = None
    """The measured number, if the expectation is about one."""
    unexpected: int | None = None
    """How many values break the expectation, if it tests each value."""
    measured: int = 0
    """The number of values or rows that were tested."""
    examples: Sequence[Example] = field(default_factory=list)
    note: str | None = None
    """Why there is nothing to test, or why the test failed."""

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
