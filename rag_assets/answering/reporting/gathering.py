"""The units of a report: searched for each sub-question and for the whole prompt, and merged.

Sub-questions take turns: the first unit of each, then the second of each, so that no topic fills
the report before the others are heard. After the best `units_each` of each, the best of the whole
prompt fill the room that is left, then the other candidates of the sub-questions. The whole prompt
finds more of what is about several topics at once, sub-questions what it passes over: P4 calls for
such a mix in section 6, and `benchmarks/reports.py` measures it.

A unit counts once, and so does one that repeats it: an exact copy, or a passage whose vector is as
close as `NEAR`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rag_assets.answering.reporting.decomposition import Decomposition, SubQuestion
from rag_assets.config import Collapse, ReportSettings, Retriever, RetrieverName
from rag_assets.retrieval.duplicates import UnitContent
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Hit, Results
from rag_assets.retrieval.search import VariantIndex
from rag_assets.terms.coverage import HeldTerms, coverage, terms_of

MOST_UNITS = 20
"""Units that a report is made from, at most."""
NEAR = 0.98
"""Cosine from which passages count as the same."""
NEVER = 2.0
"""A cosine that no two vectors have."""
LEAST_SHARED = 0.5
"""Weighted share of the terms of a sub-topic that a unit of the whole prompt holds to be of it."""
Taken = TypeVar("Taken")


@dataclass(frozen=True, slots=True)
class FoundFor:
    """What was found for a sub-question."""

    part: SubQuestion
    candidates: tuple[Hit, ...]
    """All that were looked at, best first."""
    hits: tuple[Hit, ...]
    """The units for the report: what the sub-question found itself, in its own order, then what the
    whole prompt found and no sub-question did, where it is about this one."""
    headed: tuple[Hit, ...] = ()
    """Units under a heading that fits it, or beside what was found: see `under_headings`."""


@dataclass(frozen=True, slots=True)
class GatheredUnits:
    """The units of a report."""

    units: tuple[Hit, ...]
    """The units in the order in which they were taken; none repeats another."""
    by_part: tuple[FoundFor, ...]
    """What was found for each sub-question, in their order."""
    retriever: str
    searched: int
    """Units that the searches ranked, each counted once."""


def gather(
    index: VariantIndex,
    decomposition: Decomposition,
    *,
    settings: ReportSettings,
    retriever: RetrieverName | None = None,
    filters: Filters | None = None,
    progress: Callable[[str], None] = lambda _line: None,
) -> GatheredUnits:
    """Search `index` for the prompt and each of its parts, and merge what is found.

    Args:
        index: What is searched.
        decomposition: The prompt; with one part, it is searched as a whole alone.
        settings: How many units are looked at, and taken from each part.
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

    def search(query: str, count: int) -> Results:
        reranking = chosen.model_copy(update={"candidates": count})
        return index.search(query, retriever=reranking, top_k=count, filters=filters)

    parts = decomposition.parts
    progress(f"searching for {decomposition.title}")
    whole = search(" ".join(decomposition.prompt.split()), settings.broad_candidates)
    found = [whole]
    if len(parts) > 1:
        found = [search(part.question, settings.candidates) for part in _told(parts, progress)]
    same = _repeats(index, [*(results.hits for results in found), whole.hits])
    rankings = [_distinct(results.hits, same) for results in found]
    broad = _distinct(whole.hits, same)
    hits = {hit.unit_id: hit for ranking in (broad, *reversed(rankings)) for hit in ranking}
    units = fairly(
        [[hit.unit_id for hit in ranking] for ranking in rankings],
        each=settings.units_each,
        then=[hit.unit_id for hit in broad],
        most=MOST_UNITS,
    )
    taken = [hits[unit] for unit in units]
    own = [[hit for hit in ranking if hit.unit_id in {*units}] for ranking in rankings]
    return GatheredUnits(
        units=tuple(taken),
        by_part=tuple(
            FoundFor(part, results.hits, _ranked([*hits_of_part, *others]))
            for part, results, hits_of_part, others in zip(
                parts, found, own, _shared_out(taken, own, parts), strict=True
            )
        ),
        retriever=name,
        searched=len({unit for each in (*found, whole) for unit in each.ranking.unit_ids}),
    )


def fairly(
    rankings: Sequence[Sequence[str]], *, each: int, then: Sequence[str], most: int
) -> list[str]:
    """At most `most` units of several rankings, each once, that take turns.

    Args:
        rankings: Units, best first.
        each: Units that each ranking may give before the room that is left is filled.
        then: Units that fill it first, best first; the others of `rankings` take turns after them.
        most: Units in all.
    """
    heads = _in_turn([ranking[:each] for ranking in rankings])
    tails = _in_turn([ranking[each:] for ranking in rankings])
    return list(dict.fromkeys([*heads, *then, *tails]))[:most]


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


def _shared_out(
    taken: Sequence[Hit], own: Sequence[Sequence[Hit]], parts: Sequence[SubQuestion]
) -> list[list[Hit]]:
    """For each part those units of no part that are about it more than about any other."""
    known = {hit.unit_id for hits in own for hit in hits}
    terms = [terms_of(part.title) for part in parts]
    shared: list[list[Hit]] = [[] for _ in parts]
    for hit in taken:
        if hit.unit_id not in known:
            held = [HeldTerms(f"{hit.section} {hit.text}")]
            shares = [coverage(of_part, held) for of_part in terms]
            if max(shares) >= LEAST_SHARED:
                shared[shares.index(max(shares))].append(hit)
    return shared


def _repeats(index: VariantIndex, rankings: Sequence[Sequence[Hit]]) -> dict[str, Hit]:
    """For each unit the one that stands for it: itself, or a better one that it repeats.

    Rows are compared exactly: two rows that differ in one value are close, and not the same.
    """
    hits = {hit.unit_id: hit for hit in _in_turn(rankings)}
    near = NEAR if index.usable(Retriever(collapse=Collapse(near=NEAR))) else NEVER
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
    """`hits` with those that repeat another replaced by it, each once."""
    return list({same[hit.unit_id].unit_id: same[hit.unit_id] for hit in hits}.values())


def _ranked(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """`hits` with their places as ranks."""
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1))
