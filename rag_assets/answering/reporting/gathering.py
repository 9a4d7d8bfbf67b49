"""The units of a report: searched for each sub-question, merged, and filled fairly.

Sub-questions take turns: the first unit of each, then the second of each, so that no topic fills
the report before the others are heard. The best `units_each` of each sub-question come first; what
room is left is filled from their other candidates. A unit counts once, and so does one that
repeats it: an exact copy, or a passage whose vector is as close as `near`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rag_assets.answering.reporting.decomposition import SubQuestion
from rag_assets.config import Collapse, ReportSettings, Retriever, RetrieverName
from rag_assets.retrieval.duplicates import UnitContent
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.search import VariantIndex

NEVER = 2.0
"""A cosine that no two vectors have."""
Taken = TypeVar("Taken")


@dataclass(frozen=True, slots=True)
class FoundFor:
    """What was found for a sub-question."""

    part: SubQuestion
    candidates: tuple[Hit, ...]
    """All that were looked at, best first."""
    hits: tuple[Hit, ...]
    """Those of the report that it found, in its own order."""


@dataclass(frozen=True, slots=True)
class GatheredUnits:
    """The units of a report."""

    units: tuple[Hit, ...]
    """In the order in which they were taken; none repeats another."""
    by_part: tuple[FoundFor, ...]
    """For each sub-question, in their order."""
    retriever: str
    searched: int
    """Units that the searches ranked, each counted once."""


def gather(
    index: VariantIndex,
    parts: Sequence[SubQuestion],
    *,
    settings: ReportSettings,
    retriever: RetrieverName | None = None,
    filters: Filters | None = None,
    progress: Callable[[str], None] = lambda _line: None,
) -> GatheredUnits:
    """Search `index` for each of `parts`, and merge what is found.

    Args:
        index: What is searched.
        parts: At least one sub-question. A single one is a broad query: it takes all the units.
        settings: How many units are looked at, taken from each, and taken in all.
        retriever: What searches; that of the config unless given. It reranks as many candidates
            as `settings` says.
        filters: What may be found.
        progress: Is told of each search before it begins.

    Raises:
        ValueError: There is no such retriever.
        EmptyQueryError, ModelMismatchError, MissingTextIndexError, RerankerError,
        OutdatedIndexError: As `VariantIndex.search`.
    """
    name, chosen = _chosen(index, retriever)
    if len(parts) == 1:
        alone = {"candidates": settings.broad_candidates, "units_each": settings.units}
        settings = settings.model_copy(update=alone)
    chosen = chosen.model_copy(update={"candidates": settings.candidates})
    found = [
        index.search(part.question, retriever=chosen, top_k=settings.candidates, filters=filters)
        for part in _told(parts, progress)
    ]
    same = _repeats(index, [results.hits for results in found], near=settings.near)
    rankings = [_distinct(results.hits, same) for results in found]
    units = fairly(
        [[hit.unit_id for hit in ranking] for ranking in rankings],
        each=settings.units_each,
        most=settings.units,
    )
    hits = {hit.unit_id: hit for ranking in reversed(rankings) for hit in ranking}
    ranked = {unit for results in found for unit in results.ranking.unit_ids}
    return GatheredUnits(
        units=tuple(hits[unit] for unit in units),
        by_part=tuple(
            FoundFor(part, results.hits, tuple(hit for hit in ranking if hit.unit_id in {*units}))
            for part, results, ranking in zip(parts, found, rankings, strict=True)
        ),
        retriever=name,
        searched=len(ranked),
    )


def fairly(rankings: Sequence[Sequence[str]], *, each: int, most: int) -> list[str]:
    """At most `most` units of several rankings, each once, that take turns.

    Args:
        rankings: Units, best first.
        each: Units that each ranking may give before the room that is left is filled.
        most: Units in all.
    """
    heads = _in_turn([ranking[:each] for ranking in rankings])
    tails = _in_turn([ranking[each:] for ranking in rankings])
    return list(dict.fromkeys([*heads, *tails]))[:most]


def _in_turn(rankings: Sequence[Sequence[Taken]]) -> Iterator[Taken]:
    for place in range(max(map(len, rankings), default=0)):
        yield from (ranking[place] for ranking in rankings if place < len(ranking))


def _chosen(index: VariantIndex, retriever: RetrieverName | None) -> tuple[str, Retriever]:
    name = retriever or index.settings.retriever
    index.settings.check_retriever(name, key="retriever")
    return name, index.settings.retrievers[name]


def _told(parts: Sequence[SubQuestion], progress: Callable[[str], None]) -> Iterator[SubQuestion]:
    for number, part in enumerate(parts, start=1):
        progress(f"{number} of {len(parts)}: {part.title}")
        yield part


def _repeats(
    index: VariantIndex, rankings: Sequence[Sequence[Hit]], *, near: float | None
) -> dict[str, Hit]:
    """For each unit the one that stands for it: itself, or a better one that it repeats.

    Rows are compared exactly: two rows that differ in one value are close, and not the same.
    """
    hits = {hit.unit_id: hit for hit in _in_turn(rankings)}
    if near is None or not index.usable(Retriever(collapse=Collapse(near=near))):
        near = NEVER
    passages = [unit for unit, hit in hits.items() if hit.domain == "document"]
    content = UnitContent(index.read(passages, ["text_hash", "vector"])) if passages else None
    stands: dict[str, Hit] = {}
    by_hash: dict[str, Hit] = {}
    kept: list[str] = []
    for unit, hit in hits.items():
        double = by_hash.get(hit.text_hash)
        if double is None and content and hit.domain == "document":
            double = next((hits[one] for one in kept if content.cosine(unit, [one]) >= near), None)
            kept += [] if double else [unit]
        stands[unit] = by_hash[hit.text_hash] = double or hit
    return stands


def _distinct(hits: Sequence[Hit], same: dict[str, Hit]) -> list[Hit]:
    """`hits` with those that repeat another replaced by it, each once, ranked anew."""
    found = dict.fromkeys(same[hit.unit_id].unit_id for hit in hits)
    by_id = {same[hit.unit_id].unit_id: same[hit.unit_id] for hit in hits}
    return [replace(by_id[unit], rank=rank) for rank, unit in enumerate(found, start=1)]
