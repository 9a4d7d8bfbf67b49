"""Collapse: a unit is left out if it repeats a better one of the same ranking.

Copies are units of equal `text_hash`. Near duplicates are those whose vectors have at least the
configured cosine with a unit that was kept.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.config import Collapse
from rag_assets.retrieval.rankings import Ranking, ranking_of
from rag_assets.retrieval.search_context import SearchCall

if TYPE_CHECKING:
    import numpy as np

RANKINGS_AT_ONCE = 64
"""Rankings whose units are read together: this bounds the memory for vectors."""
WHOLE = "whole"
"""Name of the stage before duplicates were left out."""


def collapsed(
    call: SearchCall, rankings: Sequence[Ranking], *, settings: Collapse, top_k: int
) -> list[Ranking]:
    """The best `top_k` units of each ranking that repeat none above them."""
    columns = ["unit_id", "text_hash", *(["vector"] if settings.near else [])]
    found: list[Ranking] = []
    for start in range(0, len(rankings), RANKINGS_AT_ONCE):
        part = rankings[start : start + RANKINGS_AT_ONCE]
        units = sorted({unit for ranking in part for unit in ranking.unit_ids})
        content = UnitContent(call.read(units, columns)) if units else None
        for ranking in part:
            kept = list(_kept(ranking, content, near=settings.near, top_k=top_k)) if content else []
            positions = ranking.positions()
            entries = [(unit, positions[unit].score) for unit in kept]
            found.append(ranking_of(entries, arms={WHOLE: ranking}))
    return found


class UnitContent:
    """Text hashes of units, and their vectors if these were read."""

    def __init__(self, units: pa.Table) -> None:
        """Hold the columns `unit_id` and `text_hash` of `units`, and `vector` if it is there."""
        names = units["unit_id"].to_pylist()
        self.hashes = dict(zip(names, units["text_hash"].to_pylist(), strict=True))
        self._places = {unit: place for place, unit in enumerate(names)}
        self._vectors: np.ndarray | None = None
        if "vector" in units.column_names:
            flat = units["vector"].combine_chunks().flatten().to_numpy()
            self._vectors = flat.reshape(len(names), -1)

    def cosine(self, unit: str, others: Sequence[str]) -> float:
        """The largest cosine of a unit with any of `others`; unit vectors are compared."""
        if self._vectors is None or not others:
            return -1.0
        compared = self._vectors[[self._places[other] for other in others]]
        return float((compared @ self._vectors[self._places[unit]]).max())


def _kept(
    ranking: Ranking, content: UnitContent, *, near: float | None, top_k: int
) -> Iterator[str]:
    kept: list[str] = []
    hashes: set[str] = set()
    for unit in ranking.unit_ids:
        if len(kept) == top_k:
            return
        text_hash = content.hashes[unit]
        is_copy = text_hash in hashes
        if is_copy or (near is not None and content.cosine(unit, kept) >= near):
            continue
        hashes.add(text_hash)
        kept.append(unit)
        yield unit
