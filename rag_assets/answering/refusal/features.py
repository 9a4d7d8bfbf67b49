"""What speaks for an answer: how sure a search was, and how much of the question it found.

The score of a hit says little by itself: it depends on the words of the question more than on
whether the hit answers it. The lead of the first hit, the agreement of the signals and the terms of
the question that the best hit holds say more, and a fitted rule weighs them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rag_assets.answering.drafting import AnswerDraft
from rag_assets.answering.refusal.terms import HeldTerms, SoughtTerm, coverage, terms_of
from rag_assets.retrieval.hits import Hit, Results
from rag_assets.retrieval.rankings import Ranking, ranked

REVISION = 2
"""Raise it when the same results should give other features: rules that were fitted are void."""

SHOWN = 10
"""Hits that are looked at."""
AGREED = 10
"""Units of each signal that are compared."""
SECOND, THIRD = 2, 3
CANDIDATES = "candidates"
"""The stage before a reranker: see `retrieval.retrievers`."""

Value: TypeAlias = float | None
"""None where the retriever has nothing to say of it."""


@dataclass(frozen=True, slots=True)
class Features:
    """What is known of a question and the results of its search."""

    values: Mapping[str, Value]
    """By their names."""
    missing: tuple[str, ...]
    """Numbers, identifiers and names of the question that no hit holds."""
    apart: tuple[str, ...]
    """Those that some hit holds, and the first one does not."""
    hits: int


def features_of(question: str, results: Results, drafted: AnswerDraft) -> Features:
    """The features of the answer `drafted` to `question` from the `results` of its search."""
    terms = terms_of(question)
    held = [HeldTerms(f"{hit.title} {hit.section} {hit.text}") for hit in results.hits[:SHOWN]]
    strict = [term for term in terms if term.kind != "word"]
    missing = [term.text for term in strict if not any(text.has(term) for text in held)]
    apart = [term.text for term in strict if term.text not in missing and not held[0].has(term)]
    values = {
        **_of_signals(results, count=len(terms)),
        **_of_terms(terms, strict, held),
        **_of_places(results.hits),
        **_of_draft(terms, strict, drafted, results.hits),
    }
    return Features(values, tuple(missing), tuple(apart), len(results.hits))


def _of_signals(results: Results, *, count: int) -> dict[str, Value]:
    """What the scores and the signals say; `count` is the number of terms of the question."""
    stages = results.ranking.stages()
    dense, words = _signal(stages, "dense"), _signal(stages, "bm25")
    reranked = _signal(stages, "reranked") or _as_reranked(results)
    first = results.hits[0].unit_id if results.hits else None
    top = words.scores[0] if words else None
    return {
        "lead": _margin(results.ranking, SECOND),
        "margin": _margin(results.ranking, THIRD),
        "words_margin": _margin(words, THIRD),
        "reranked_margin": _margin(reranked, THIRD),
        "reranked_lead": _lead_of_place(reranked, results.hits[:SHOWN]),
        "words_score": None if top is None else top / max(count, 1),
        "words_rank": _closeness(words, first),
        "dense_of_first": _score_of(dense, first),
        "dense_rank": _closeness(dense, first),
        "reranked": reranked.scores[0] if reranked else None,
        "reranked_of_first": _score_of(reranked, first),
        "overlap": _overlap(dense, words),
    }


def _margin(ranking: Ranking | None, rank: int) -> Value:
    """How far the score at `rank` is behind the first, relative to it; 1 where there is none."""
    if not ranking:
        return None
    if len(ranking) < rank:
        return 1.0
    return (ranking.scores[0] - ranking.scores[rank - 1]) / (abs(ranking.scores[0]) or 1.0)


def _lead_of_place(reranked: Ranking | None, hits: Sequence[Hit]) -> Value:
    """How far hits of other documents and tables than that of the first are behind the best."""
    if not reranked or not hits:
        return None
    place = (hits[0].source, hits[0].uri)
    positions = reranked.positions()
    others = [
        positions[hit.unit_id].score
        for hit in hits
        if (hit.source, hit.uri) != place and hit.unit_id in positions
    ]
    return reranked.scores[0] - max(others, default=reranked.scores[-1])


def _signal(stages: Mapping[str, Ranking], name: str) -> Ranking | None:
    """All that a signal found, in whatever domain or for whatever reformulation."""
    best: dict[str, float] = {}
    parts = [ranking for path, ranking in stages.items() if path.rpartition("/")[2] == name]
    for unit, score in (entry for ranking in parts for entry in ranking.entries):
        best[unit] = max(score, best.get(unit, score))
    return ranked(best, scores=best.values()) if parts else None


def _as_reranked(results: Results) -> Ranking | None:
    """The ranking itself where the reranker had the last word."""
    return results.ranking if [*results.ranking.arms] == [CANDIDATES] else None


def _score_of(ranking: Ranking | None, unit: str | None) -> Value:
    """Score of a unit, or the least one where the signal did not find it."""
    if not ranking or unit is None:
        return None
    position = ranking.positions().get(unit)
    return position.score if position else ranking.scores[-1]


def _closeness(ranking: Ranking | None, unit: str | None) -> Value:
    """1 / rank of a unit; 0 where the signal did not find it."""
    if ranking is None or unit is None:
        return None
    position = ranking.positions().get(unit)
    return 1 / position.rank if position else 0.0


def _overlap(dense: Ranking | None, words: Ranking | None) -> Value:
    """Share of the best units of both signals that they have in common."""
    if dense is None or words is None:
        return None
    return len({*dense.unit_ids[:AGREED]} & {*words.unit_ids[:AGREED]}) / AGREED


def _of_terms(
    terms: Sequence[SoughtTerm], strict: Sequence[SoughtTerm], held: Sequence[HeldTerms]
) -> dict[str, Value]:
    """Which part of the question the hits hold."""
    with_digits = [term for term in strict if any(map(str.isdigit, term.text))]
    return {
        "covered": coverage(terms, held[:1]),
        "covered_by_two": coverage(terms, held[:2]),
        "covered_best": max((coverage(terms, [text]) for text in held), default=0.0),
        "covered_by_all": coverage(terms, held),
        "rare_covered": _rare_coverage(terms, held),
        "strict_covered": coverage(strict, held[:1]),
        "digits_covered": float(coverage(with_digits, held[:1]) == 1),
        "digits_covered_by_all": float(coverage(with_digits, held) == 1),
    }


def _of_draft(
    terms: Sequence[SoughtTerm],
    strict: Sequence[SoughtTerm],
    drafted: AnswerDraft,
    hits: Sequence[Hit],
) -> dict[str, Value]:
    """How the answer was made, and which part of the question it says itself."""
    said = [HeldTerms(sentence.text) for sentence in drafted.sentences]
    units = drafted.units
    titles = [HeldTerms(f"{hit.title} {hit.section}") for hit in hits if hit.unit_id in units]
    return {
        "looked_up": float(drafted.mode == "lookup"),
        "said": coverage(terms, said),
        "said_best": max((coverage(terms, [text]) for text in said), default=0.0),
        "said_or_titled": coverage(terms, [*said, *titles]),
        "said_strict": coverage(strict, said),
        "cites_first": float(bool(hits) and hits[0].unit_id in units),
        "cites_places": float(len({(hit.source, hit.uri) for hit in hits if hit.unit_id in units})),
    }


def _rare_coverage(terms: Sequence[SoughtTerm], held: Sequence[HeldTerms]) -> float:
    """As `coverage` of the first hit; terms count more, the fewer of the hits hold them."""
    counts = [sum(text.has(term) for text in held) for term in terms]
    weights = [
        term.weight * math.log1p((len(held) + 1) / (count + 0.5))
        for term, count in zip(terms, counts, strict=True)
    ]
    found = [
        weight for term, weight in zip(terms, weights, strict=True) if held and held[0].has(term)
    ]
    return sum(found) / sum(weights) if weights else 1.0


def _of_places(hits: Sequence[Hit]) -> dict[str, Value]:
    """Whether the hits agree on a domain."""
    if not hits:
        return {"same_domain": None, "is_row": None}
    domain = hits[0].domain
    near = hits[:SHOWN]
    return {
        "same_domain": sum(hit.domain == domain for hit in near) / len(near),
        "is_row": float(domain == "table"),
    }
