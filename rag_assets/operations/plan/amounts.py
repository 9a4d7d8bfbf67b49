"""Numbers that are known exactly, or lie between two bounds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_assets.change.sync import Report


@dataclass(frozen=True, slots=True)
class Amount:
    """A number that is planned for."""

    expected: float
    low: float
    high: float

    @classmethod
    def of(cls, number: float) -> "Amount":
        """A number that is known exactly."""
        return cls(number, number, number)

    @property
    def is_exact(self) -> bool:
        """Whether it is known exactly."""
        return self.low == self.high

    @property
    def is_zero(self) -> bool:
        """Whether there is surely nothing."""
        return self.high == 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.expected + other.expected, self.low + other.low, self.high + other.high)

    def less(self, other: "Amount") -> "Amount":
        """This without `other`, at least nothing."""
        return Amount(
            max(0, self.expected - other.expected),
            max(0, self.low - other.high),
            max(0, self.high - other.low),
        )

    def over(self, each: Sequence[float]) -> "Amount":
        """This divided by what each takes: for few, the usual number and many."""
        few, usual, many = each
        return Amount(self.expected / usual, self.low / few, self.high / many)

    def at_least(self, number: float) -> "Amount":
        """This, where so many are to be expected: the lower bound stays."""
        return Amount(max(number, self.expected), self.low, max(number, self.high))

    def holds(self, number: float) -> bool:
        """Whether `number` lies within the bounds, rounded to whole ones."""
        return round(self.low) <= number <= round(self.high)

    def __str__(self) -> str:
        if self.is_exact:
            return f"{round(self.expected):,}"
        return f"{round(self.low):,} to {round(self.high):,}"


NOTHING = Amount.of(0)


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
    """Of the texts, as the model counts them; None if nothing is known of them."""

    def __add__(self, other: "Embedding") -> "Embedding":
        is_known = self.tokens is not None and other.tokens is not None
        return Embedding(
            self.texts + other.texts,
            self.reused + other.reused,
            self.tokens + other.tokens if is_known else None,
        )
