"""From the first hits over links to what they name: questions that no single unit answers.

A row names a document, a document a part, a part a standard. What a question asks for often stands
in a unit that shares no word with it, one link away from a unit that does. So the score of each of
the first hits passes over its links: to the documents and rows that are about what the hit names,
and, at a lower weight, to the units that name what the hit is about. A unit gets the largest score
that reaches it, on top of its own.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rag_assets.config import LinkStage
from rag_assets.retrieval.links import LinksInMemory, WayOverLink, in_text
from rag_assets.retrieval.rankings import Ranking, ranked
from rag_assets.retrieval.search_context import SearchCall
from rag_assets.retrieval.text_names import NamesInText

BACK = 0.8
"""The weight of a link that is followed back, from what a hit is about to units that name it;
forward it is 1."""
SEEDS = 20
"""First hits whose links are followed."""
MOST_NAMING = 50
"""What more units name is no way back: it says nothing about any of them."""
UNLINKED, LINKED = "unlinked", "linked"
"""Names of the ranking before links, and of what came over links."""


def with_links(
    call: SearchCall, queries: Sequence[str], rankings: Sequence[Ranking], *, settings: LinkStage
) -> list[Ranking]:
    """Each ranking with what its first units lead to; as it was where these have no link."""
    links = call.links()
    names = links.names(settings.in_text) if links is not None else None
    if links is None or not (links or names):
        return list(rankings)
    with call.timed("links"):
        units = sorted({unit for ranking in rankings for unit in ranking.unit_ids})
        columns = ["unit_id", "document_id", *(["text"] if names else [])]
        rows = call.read(units, columns).to_pylist() if units else []
        documents = {row["unit_id"]: row["document_id"] for row in rows}
        texts = {row["unit_id"]: row["text"] for row in rows} if names else {}
        return [
            _linked(
                call,
                query,
                ranking,
                links=links,
                names=names,
                texts=texts,
                documents=documents,
                settings=settings,
            )
            for query, ranking in zip(queries, rankings, strict=True)
        ]


def _linked(
    call: SearchCall,
    query: str,
    ranking: Ranking,
    *,
    links: LinksInMemory,
    names: NamesInText | None,
    texts: Mapping[str, str],
    documents: Mapping[str, str | None],
    settings: LinkStage,
) -> Ranking:
    own = _scaled(ranking)
    best_of: dict[str, str] = {}
    for unit in ranking.unit_ids:
        if document := documents[unit]:
            best_of.setdefault(document, unit)
    passed: dict[str, tuple[float, WayOverLink]] = {}
    for unit in ranking.unit_ids[:SEEDS]:
        ways = [(one, settings.weight) for one in links.from_unit(unit)]
        if names:
            found = in_text(unit, texts[unit], documents[unit], names=names)
            ways += [(one, settings.weight) for one in found]
        back = links.to_thing(unit, documents[unit], most=MOST_NAMING)
        ways += [(one, settings.weight * BACK) for one in back]
        for reached, weight in ways:
            target = best_of.get(reached.document or "", reached.unit)
            score = weight * own[unit]
            if score > passed.get(target, (0.0, None))[0]:
                passed[target] = (score, reached.step)
    allowed = call.permitted([*passed])
    passed = {unit: way for unit, way in passed.items() if unit in allowed}
    if not passed:
        return ranking
    call.followed[query] = {unit: step for unit, (_, step) in passed.items()}
    high, low = ranking.scores[0], ranking.scores[-1]
    spread = high - low or abs(high) or 1.0
    totals = defaultdict(lambda: high - spread, ranking.entries)
    for unit, (score, _) in passed.items():
        totals[unit] += score * spread
    scores = [score for score, _ in passed.values()]
    arms = {**ranking.arms, UNLINKED: ranking, LINKED: ranked(passed, scores=scores)}
    return ranked(totals, scores=totals.values(), arms=arms)


def _scaled(ranking: Ranking) -> dict[str, float]:
    """Scores from 1 for the first unit to 0 for the last."""
    if not len(ranking):
        return {}
    high, low = ranking.scores[0], ranking.scores[-1]
    return {
        unit: (score - low) / (high - low) if high > low else 1.0 for unit, score in ranking.entries
    }
