"""Choices by hashes: an option is as likely as any other, and the same one is chosen again.

Each option has a weight of its own, and the least is chosen. So an option that comes or goes leaves
all other weights as they are: a choice moves to an option that came, or away from one that went,
and else not at all.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from hashlib import blake2b
from typing import TypeVar

import numpy as np

T = TypeVar("T", bound=str | int | Decimal | tuple[Decimal | int, ...])
"""An option, whose text is the same in any process."""

FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(1))
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
"""The shifts of splitmix64 (Steele, Lea and Flood, 2014)."""


def hashes(texts: Iterable[str]) -> np.ndarray:
    """A hash of each text (uint64), the same on any machine."""
    digests = (blake2b(each.encode(errors="replace"), digest_size=8).digest() for each in texts)
    return np.frombuffer(b"".join(digests), "<u8")


def weights(options: np.ndarray, *seed: str | int) -> np.ndarray:
    """The weight (uint64) of each option, given by its hash, in the choice that `seed` names."""
    mixed = options ^ hashes(["\x1f".join(map(str, seed))])
    for shift, factor in zip(SHIFTS, FACTORS, strict=True):
        mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed


def in_order(options: Sequence[T], *seed: str | int) -> Sequence[T]:
    """All options, told apart as texts, the chosen one first."""
    order = np.argsort(weights(hashes(map(str, options)), *seed), kind="stable")
    return [options[place] for place in order]


def shares(names: Sequence[str], draws: int) -> Counter[str]:
    """How many of `draws` fall to each name: each draw is one choice among all names."""
    own = hashes(names)
    places = (int(np.argmin(weights(own, number))) for number in range(draws if names else 0))
    return Counter(names[place] for place in places)
