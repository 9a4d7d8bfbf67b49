"""A long piece of work in parts: cut by size, prepared one ahead, and shown as it goes."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

BYTES_PER_TOKEN = 4
UNITS_PER_PART = 16_384
SECONDS_BETWEEN_LINES = 5.0

Item = TypeVar("Item")


def parts_of_plan(plan: pa.Table, *, tokens: int | None = None) -> Iterator[pa.Table]:
    """Cut `plan` between different texts.

    Args:
        plan: `text_hash` and `bytes` of each unit, equal texts side by side.
        tokens: About how many tokens the distinct texts of a part may have.

    Yields:
        Slices of the plan, of at most `UNITS_PER_PART` units where one text has no more.
    """
    if plan.num_rows == 0:
        return
    hashes = plan["text_hash"].combine_chunks()
    is_new = pc.not_equal(hashes[1:], hashes[:-1])
    starts = [0, *(pc.indices_nonzero(is_new).to_numpy() + 1).tolist(), plan.num_rows]
    sizes = plan["bytes"].take(pa.array(starts[:-1])).to_pylist()
    limit = tokens * BYTES_PER_TOKEN if tokens else None
    begin = held = 0
    for (start, end), size in zip(pairwise(starts), sizes, strict=True):
        is_full = end - begin > UNITS_PER_PART or (limit and held + size > limit)
        if is_full and start > begin:
            yield plan.slice(begin, start - begin)
            begin, held = start, 0
        held += size
    yield plan.slice(begin)


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """`items`, the next one being made in another thread while this one is used."""

    def take() -> Item | None:
        return next(items, None)

    with ThreadPoolExecutor(max_workers=1) as worker:
        following = worker.submit(take)
        while (item := following.result()) is not None:
            following = worker.submit(take)
            yield item


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
