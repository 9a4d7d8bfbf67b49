"""A long piece of work in parts: cut by size, and shown as it goes."""

import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from rag_assets.keys import begins_run

TEXT = ("text_high", "text_low")
"""Columns of a plan that tell its texts apart: their digests take a fifth of their hashes."""
BYTES_PER_TOKEN = 4
UNITS_PER_PART = 16_384
SECONDS_BETWEEN_LINES = 5.0


def parts_of_plan(plan: pa.Table, *, tokens: int | None = None) -> Iterator[pa.Table]:
    """Cut `plan` between different texts.

    Args:
        plan: `TEXT` and `bytes` of each unit, equal texts side by side.
        tokens: About how many tokens the distinct texts of a part may have.

    Yields:
        Slices of the plan, of at most `UNITS_PER_PART` units where one text has no more.
    """
    starts = text_starts(plan)
    sizes = np.cumsum(plan["bytes"].to_numpy()[starts])
    ends = np.append(starts[1:], plan.num_rows)
    limit = tokens * BYTES_PER_TOKEN if tokens else np.inf
    first = 0
    while first < len(starts):
        begin, before = starts[first], sizes[first - 1] if first else 0
        full = np.searchsorted(ends, begin + UNITS_PER_PART, side="right")
        heavy = np.searchsorted(sizes, before + limit, side="right")
        first = max(first + 1, min(full, heavy))
        yield plan.slice(begin, ends[first - 1] - begin)


def text_starts(plan: pa.Table) -> np.ndarray:
    """Where each text of a plan begins: equal ones lie side by side."""
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
