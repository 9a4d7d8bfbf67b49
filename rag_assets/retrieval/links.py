"""From the first hits over links to what they name: questions that no single unit answers.

A row names a document, a document a part, a part a standard. What a question asks for often stands
in a unit that shares no word with it, one link away from a unit that does. So the score of each of
the first hits passes over its links: to the documents and rows that are about what the hit names,
and, at a lower weight, to the units that name what the hit is about. A unit gets the largest score
that reaches it, on top of its own. See `store.unit_links` for what a link is.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from rag_assets.config import LinkStage
from rag_assets.retrieval.glossary import Glossary
from rag_assets.retrieval.rankings import Ranking, ranked
from rag_assets.terms.chemical_elements import SYMBOL_OF
from rag_assets.terms.formulas import names_of
from rag_assets.terms.names import name_of

if TYPE_CHECKING:
    from rag_assets.retrieval.search_call import SearchCall

UNLINKED, LINKED = "unlinked", "linked"
"""Names of the ranking before links, and of what came over links."""


@dataclass(frozen=True, slots=True)
class Step:
    """The way over one link."""

    start: str
    """The unit that was found first."""
    text: str
    """The name, as it is written in the unit that mentions it."""
    kind: str
    """`title`, `key`, `identifier`, `formula` or `foreign_key`."""
    is_back: bool
    """Whether the first unit is about the name, and this one mentions it; else the other way."""


@dataclass(frozen=True, slots=True)
class _Reached:
    """A thing at the other end of a link: a unit, or a document with the chunk that names it."""

    unit: str
    document: str | None
    step: Step


class Links:
    """The links between the units of one index, in memory; safe to share between threads."""

    def __init__(self, links: pa.Table) -> None:
        """`links` as `store.unit_links.links_of` gives them."""
        self._units, self._targets, self._things, self._texts, self._kinds = (
            cast("list[str]", links[name].to_pylist())
            for name in ("unit_id", "target", "thing", "text", "kind")
        )
        self._is_document = cast("list[bool]", links["is_document"].to_pylist())
        self._of_unit = _places(self._units)
        self._of_thing = _places(self._things)

    def __len__(self) -> int:
        return len(self._units)

    def from_unit(self, unit: str) -> Iterator[_Reached]:
        """What is about the names that a unit mentions."""
        for place in self._of_unit.get(unit, ()):
            document = self._things[place] if self._is_document[place] else None
            yield _Reached(self._targets[place], document, self._step(unit, place, is_back=False))

    def to_thing(self, unit: str, document: str | None, *, most: int) -> Iterator[_Reached]:
        """What mentions the names that a unit, or its document, is about; none of more than `most`.

        What very many units mention, such as a country, says nothing about any of them.
        """
        places = self._of_thing.get(document or unit, ())
        if len(places) <= most:
            for place in places:
                yield _Reached(self._units[place], None, self._step(unit, place, is_back=True))

    def _step(self, start: str, place: int, *, is_back: bool) -> Step:
        return Step(start, self._texts[place], self._kinds[place], is_back)


def with_links(
    call: "SearchCall", queries: Sequence[str], rankings: Sequence[Ranking], *, settings: LinkStage
) -> list[Ranking]:
    """Each ranking with what its first units lead to; as it was where these have no link."""
    links = call.links()
    if not links:
        return list(rankings)
    with call.timed("links"):
        units = sorted({unit for ranking in rankings for unit in ranking.unit_ids})
        rows = call.read(units, ["unit_id", "document_id"]).to_pylist() if units else []
        documents = {row["unit_id"]: row["document_id"] for row in rows}
        return [
            _linked(call, query, ranking, links=links, documents=documents, settings=settings)
            for query, ranking in zip(queries, rankings, strict=True)
        ]


def _linked(
    call: "SearchCall",
    query: str,
    ranking: Ranking,
    *,
    links: Links,
    documents: Mapping[str, str | None],
    settings: LinkStage,
) -> Ranking:
    own = _scaled(ranking)
    best_of: dict[str, str] = {}
    for unit in ranking.unit_ids:
        if document := documents[unit]:
            best_of.setdefault(document, unit)
    passed: dict[str, tuple[float, Step]] = {}
    for unit in ranking.unit_ids[: settings.seeds]:
        ways = [(one, settings.weight) for one in links.from_unit(unit)]
        back = links.to_thing(unit, documents[unit], most=settings.most)
        ways += [(one, settings.weight * settings.back) for one in back]
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
    totals = defaultdict(float, own)
    for unit, (score, _) in passed.items():
        totals[unit] += score
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


def _places(names: Sequence[str]) -> Mapping[str, Sequence[int]]:
    found = defaultdict[str, list[int]](list)
    for place, name in enumerate(names):
        found[name].append(place)
    return dict(found)


def synonyms_of(glossary: Glossary | None) -> Mapping[str, str]:
    """For names that mean the same, the one that stands for them.

    They are those of chemical elements and the entries of the glossary. A name of two meanings
    stands for itself.
    """
    entries = [names_of(symbol) for symbol in SYMBOL_OF.values()]
    for each in glossary.entries if glossary else ():
        entries.append((each.term, *each.synonyms, *each.abbreviations))
    meanings = defaultdict[str, set[str]](set)
    for term, *others in entries:
        for name in filter(None, map(name_of, (term, *others))):
            meanings[name].add(name_of(term))
    return {name: min(found) for name, found in meanings.items() if len(found) == 1}
