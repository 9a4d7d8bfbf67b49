"""A long piece of work in parts: cut by size, and shown as it goes."""

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from rag_assets.columns.keys import DigestIndex, Digests, begins_run

TEXT = ("text_high", "text_low")
"""Columns of a plan that tell its texts apart: their digests take a fifth of their hashes."""
LONGEST_FIRST = [("bytes", "descending"), *((name, "ascending") for name in TEXT)]
"""The order of a stretch: equal texts stand side by side."""
BYTES_PER_STRETCH = 16_000_000
BYTES_PER_TOKEN = 4
UNITS_PER_PART = 16_384
SECONDS_BETWEEN_LINES = 5.0


def texts_of(plan: pa.Table) -> Digests:
    """The texts of what is planned."""
    high, low = (plan[name].to_numpy() for name in TEXT)
    return high, low


def side_by_side(plan: pa.Table) -> pa.Table:
    """The rows of `plan`, equal texts together where the first of them stands."""
    texts = texts_of(plan)
    index = DigestIndex(texts)
    if not index.has_repeats:
        return plan
    return plan.take(pa.array(np.argsort(index.places(texts), kind="stable")))


def stretches(plan: pa.Table) -> Iterator[pa.Table]:
    """Cut `plan` into neighbours that are read at once, each sorted by length.

    Sorted as a whole, neighbours in the plan would lie all over the table: of five million units,
    each would take a page of its own to read.

    Args:
        plan: `TEXT` and `bytes` of each unit, in the order of their table, but for equal texts,
            which stand side by side.

    Yields:
        Slices of the plan, whose texts have `BYTES_PER_STRETCH`, and what the last one has beyond;
        equal ones are never parted.
    """
    begins, sizes = text_starts(plan), plan["bytes"].to_numpy()
    numbers = ((np.cumsum(sizes) - sizes) // BYTES_PER_STRETCH)[begins]
    starts = begins[np.flatnonzero(np.diff(numbers, prepend=-1))]
    for start, end in pairwise([*starts.tolist(), plan.num_rows]):
        yield plan.slice(start, end - start).sort_by(LONGEST_FIRST)


def parts_of_plan(plan: pa.Table, *, tokens: int | None = None) -> Iterator[pa.Table]:
    """Cut `plan` between different texts.

    Args:
        plan: `TEXT` and `bytes` of each unit, equal texts side by side.
        tokens: About how many tokens the distinct texts of a part may have.

    Yields:
        Slices of the plan, of at most `UNITS_PER_PART` units where one text has no more.
    """
    limit = tokens * BYTES_PER_TOKEN if tokens else np.inf
    begin = 0
    while begin < plan.num_rows:
        rows = _first_part(plan.slice(begin), limit=limit)
        yield plan.slice(begin, rows)
        begin += rows


def _first_part(plan: pa.Table, *, limit: float) -> int:
    """How many rows of `plan` are its first part, of about `limit` bytes: no more is looked at."""
    window = UNITS_PER_PART
    while True:
        seen = plan.slice(0, window + 1)
        starts = text_starts(seen)
        ends = starts[1:] if seen.num_rows < plan.num_rows else np.append(starts[1:], len(seen))
        if len(ends):
            break
        window *= 2
    sizes = np.cumsum(seen["bytes"].to_numpy()[starts[: len(ends)]])
    full = np.searchsorted(ends, UNITS_PER_PART, side="right")
    heavy = np.searchsorted(sizes, limit, side="right")
    return int(ends[max(1, min(full, heavy)) - 1])


def text_starts(plan: pa.Table) -> np.ndarray:
    """The positions at which the texts of a plan begin: equal texts lie side by side."""
    return np.flatnonzero(begins_run(*(plan[name] for name in TEXT)))


class Progress:
    """Says how far an embedding is, how fast it goes and how long it will take."""

    def __init__(
        self,
        name: str,
        *,
        texts: int,
        size: int,
        started: float,
        log: Callable[[str], None],
    ) -> None:
        """`texts` of together `size` bytes are embedded for the table `name` since `started`."""
        self._name = name
        self._log = log
        self._all_texts, self._all_bytes = texts, size
        self._texts = self._bytes = self._tokens = 0
        self._started = started
        self._spoken = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return max(time.monotonic() - self._started, 1e-9)

    def advance(self, *, texts: int, size: int, tokens: int) -> None:
        """Count what is done; say so every few seconds and at the end."""
        self._texts += texts
        self._bytes += size
        self._tokens += tokens
        now = time.monotonic()
        is_last = self._texts >= self._all_texts
        if is_last or now - self._spoken >= SECONDS_BETWEEN_LINES:
            self._spoken = now
            seconds = self.seconds
            left = seconds * (self._all_bytes - self._bytes) / max(self._bytes, 1)
            self._log(
                f"{self._name}: {self._texts:,} of {self._all_texts:,} texts embedded, "
                f"{self._texts / seconds:,.0f} texts/s, {self._tokens / seconds:,.0f} tokens/s"
                + ("" if is_last else f", about {left:,.0f} s left")
            )
