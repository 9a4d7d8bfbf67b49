"""How much a test tries: little for each change, and far more at night.

`make test` draws the same 25 examples of each law (each property-based test) every time, and one
seed of each sweep (kills at random moments, random edits and faults), so that chance stops
nobody's work. `make nightly` sets `NIGHT_SEED`, and all that is drawn follows from it.
"""

import os
import random
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

VARIABLE = "NIGHT_SEED"
BY_DAY, AT_NIGHT = 25, 500
"""Examples of a law that names no number of its own."""
SWEEP = "sweep"
"""The marker of tests that run by day with one seed, and at night with several."""

Test = TypeVar("Test", bound=Callable)


def is_night() -> bool:
    """Whether this is a run of `make nightly`."""
    return VARIABLE in os.environ


def seeds(count: int) -> list[int]:
    """One seed by day, always the same; at night `count` that follow from the night's seed."""
    if not is_night():
        return [0]
    return random.Random(int(os.environ[VARIABLE])).sample(range(2**32), count)


def sweep(count: int) -> Callable[[Test], Test]:
    """Give a test its `seed`: one by day, `count` at night."""
    drawn = pytest.mark.parametrize("seed", seeds(count))
    return lambda test: pytest.mark.sweep(drawn(test))


def examples(by_day: int, *, at_night: int, **others: Any) -> settings:
    """How many examples a law draws whose examples are costly; `others` are hypothesis's own."""
    return settings(max_examples=at_night if is_night() else by_day, **others)
