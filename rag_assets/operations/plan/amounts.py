"""Numbers that are known exactly, lie between two bounds, are estimated, or are not known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan

from rag_assets.change.sync import Report

NOT_KNOWN = "not known yet"


@dataclass(frozen=True, slots=True)
class Amount:
    """A number that is planned for."""

    expected: float
    """NaN where nothing is known."""
    low: float
    high: float
    """Infinite of an estimate, of which nobody knows how far it is off."""

    @classmethod
    def of(cls, number: float) -> "Amount":
        """A number that is known exactly."""
        return cls(number, number, number)

    @classmethod
    def estimate(cls, number: float) -> "Amount":
        """What a number is about."""
        return cls(number, 0, inf)

    @property
    def is_exact(self) -> bool:
        """Whether it is known exactly."""
        return self.low == self.high

    @property
    def is_estimate(self) -> bool:
        """Whether it has no bounds, or is not known at all."""
        return self.high == inf

    @property
    def is_known(self) -> bool:
        """Whether anything is known of it."""
        return not isnan(self.expected)

    @property
    def is_zero(self) -> bool:
        """Whether there is surely nothing."""
        return self.high == 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.expected + other.expected, self.low + other.low, self.high + other.high)

    def less(self, other: "Amount") -> "Amount":
        """This without `other`, at least nothing."""
        return Amount(
            max(self.expected - other.expected, 0),  # in this order NaN stays
            max(self.low - other.high, 0),
            max(self.high - other.low, 0),
        )

    def over(self, each: Sequence[float]) -> "Amount":
        """This divided by what each takes: for few, the usual number and many."""
        few, usual, many = each
        return Amount(self.expected / usual, self.low / few, self.high / many)

    def holds(self, number: float) -> bool:
        """Whether `number` lies within the bounds, rounded to whole ones."""
        return round(self.low) <= number <= (self.high if self.is_estimate else round(self.high))

    def __str__(self) -> str:
        if self.is_exact:
            return f"{round(self.expected):,}"
        if self.is_estimate:
            return f"about {round(self.expected):,}" if self.is_known else NOT_KNOWN
        return f"{round(self.low):,} to {round(self.high):,}"


NOTHING = Amount.of(0)
UNKNOWN = Amount.estimate(nan)


def total(amounts: Iterable[Amount]) -> Amount:
    """All of them together."""
    return sum(amounts, NOTHING)


@dataclass(frozen=True, slots=True)
class Changes:
    """How many things of one kind will be added, changed and removed."""

    added: Amount = NOTHING
    changed: Amount = NOTHING
    removed: Amount = NOTHING

    @classmethod
    def of(cls, added: float, changed: float, removed: float) -> "Changes":
        """Numbers that are known exactly."""
        return cls(Amount.of(added), Amount.of(changed), Amount.of(removed))

    @property
    def is_nothing(self) -> bool:
        """Whether there is surely nothing to do."""
        return self.added.is_zero and self.changed.is_zero and self.removed.is_zero

    def __add__(self, other: "Changes") -> "Changes":
        return Changes(
            self.added + other.added,
            self.changed + other.changed,
            self.removed + other.removed,
        )

    def hold(self, report: Report) -> bool:
        """Whether what a pass did lies within them."""
        return (
            self.added.holds(report.added)
            and self.changed.holds(report.changed)
            and self.removed.holds(report.removed)
        )


@dataclass(frozen=True, slots=True)
class Embedding:
    """What goes through a model, and what need not."""

    texts: Amount = NOTHING
    """Texts that no table has a vector of."""
    reused: Amount = NOTHING
    """Units whose text is embedded already."""
    tokens: Amount | None = NOTHING
    """The tokens of the texts, as the model counts them; None if nothing is known of them."""

    def __add__(self, other: "Embedding") -> "Embedding":
        is_known = self.tokens is not None and other.tokens is not None
        return Embedding(
            self.texts + other.texts,
            self.reused + other.reused,
            self.tokens + other.tokens if is_known else None,
        )
