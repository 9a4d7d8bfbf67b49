"""Retrievers: the stages of the config, one after another, for any number of queries at once.

    signals of each domain -> signal fusion -> domain fusion -> reranking -> links -> arms
    -> collapse

Reranking may be followed by a fusion with what it ordered anew. Reformulations of a query go
through the same stages. Their rankings are fused with the query's own, before or after reranking.

Links are followed from what reranking puts first. A reranker compares texts with the question, and
the unit at the other end of a link shares few words with it: see docs/links.md.

Each stage takes rankings and returns rankings. A new ranking keeps those that it was made from, by
the name of their stage: that is what `explain` shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import assert_never

from rag_assets.config import (
    RERANK_ARMS,
    ArmName,
    DomainFusion,
    Fusion,
    QueryFusion,
    Retriever,
    Signal,
)
from rag_assets.retrieval import fusion as fusions
from rag_assets.retrieval.duplicates import collapsed
from rag_assets.retrieval.following import with_links
from rag_assets.retrieval.rankings import Ranking, ranked, ranking_of
from rag_assets.retrieval.search_context import JOINT, SearchCall
from rag_assets.retrieval.signals import search_by
from rag_assets.retrieval.threads import side_by_side
from rag_assets.schemas import DOMAINS

CANDIDATES, RERANKED = RERANK_ARMS
"""Names of the stage before reranking, and of the reranker's order where both are fused."""
RANKING = "ranking"
"""The name of the ranking that arms join."""
FOUND_FIRST = Fusion(weights={"lookup": 2.0})
"""A fusion that counts the arm `lookup` twice: its first units come before all that signals alone
find."""


def retrieve(
    call: SearchCall,
    queries: Sequence[str],
    *,
    retriever: Retriever,
    top_k: int,
    length: int | None = None,
) -> list[Ranking]:
    """One ranking for each of `queries`: the best `top_k` units.

    With `length`, a ranking goes on with what the same search found below these, up to so many
    units in all. To search for more units is another search: its arms go deeper, which changes
    scores that depend on the depth.
    """
    if not retriever.glossary:
        call = replace(call, glossary=None)
    length = max(top_k, length or 0)
    if retriever.query_fusion:
        found = _over_queries(call, queries, retriever=retriever, top_k=top_k, length=length)
    else:
        found = _searched(call, queries, retriever=retriever, top_k=top_k, length=length)
        if retriever.reranker:
            found = reranked(call, queries, found, retriever=retriever)
    if retriever.links:
        found = with_links(call, queries, found, settings=retriever.links)
    for name in retriever.arms:
        found = _with_arm(call, queries, found, name=name)
    if retriever.collapse:
        with call.timed("collapse"):
            found = collapsed(call, found, settings=retriever.collapse, top_k=length)
    return [ranking.head(length) for ranking in found]


def reranked(
    call: SearchCall, queries: Sequence[str], rankings: Sequence[Ranking], *, retriever: Retriever
) -> list[Ranking]:
    """Each ranking in the order of relevance to its query, by the reranker of `retriever`.

    With `rerank_fusion`, the reranker is one opinion and the ranking before it another.
    """
    reranker, fusion = call.reranker(retriever.reranker or ""), retriever.rerank_fusion
    with call.timed("rerank"):
        scores = call.relevance(reranker, queries, [ranking.unit_ids for ranking in rankings])
    found = [
        ranked(before.unit_ids, scores=relevance, arms={} if fusion else {CANDIDATES: before})
        for before, relevance in zip(rankings, scores, strict=True)
    ]
    if fusion is None:
        return found
    with call.timed("fuse"):
        return [
            fused({CANDIDATES: before, RERANKED: after}, fusion=fusion, rrf_k=call.settings.rrf_k)
            for before, after in zip(rankings, found, strict=True)
        ]


def _with_arm(
    call: SearchCall,
    queries: Sequence[str],
    rankings: Sequence[Ranking],
    *,
    name: ArmName,
) -> list[Ranking]:
    """Each ranking with what the arm found; where it found nothing, the ranking as it was."""
    with call.timed(name):
        found = call.arm(name, queries, call.settings.depth)
    return [
        replace(
            fused(
                {RANKING: before, name: beside},
                fusion=FOUND_FIRST,
                rrf_k=call.settings.rrf_k,
            ),
            arms={**before.arms, name: beside},
        )
        if len(beside)
        else before
        for before, beside in zip(rankings, found, strict=True)
    ]


def fused(found: Mapping[str, Ranking], *, fusion: Fusion, rrf_k: int) -> Ranking:
    """Fuse several rankings into one; `rrf_k` is the constant unless `fusion` gives one."""
    scored = [ranking.entries for ranking in found.values()]
    weights = [fusion.weights.get(name, 1.0) for name in found]
    match fusion.mode:
        case "simple":
            entries = fusions.simple_fusion(scored)
        case "reciprocal_rank":
            entries = fusions.reciprocal_rank_fusion(
                [ranking.unit_ids for ranking in found.values()],
                k=rrf_k if fusion.k is None else fusion.k,
                weights=weights,
            )
        case "relative_score":
            entries = fusions.relative_score_fusion(scored, weights=weights)
        case "sum":
            entries = fusions.sum_fusion(scored, weights=weights)
        case "max_norm":
            entries = fusions.max_norm_fusion(scored, weights=weights)
        case "distribution_based":
            entries = fusions.distribution_based_score_fusion(scored, weights=weights)
        case "weighted":
            raise ValueError("weighted fusion needs the relevance of the units: see `_weighted`")
        case other:
            assert_never(other)
    return ranking_of(entries, arms=found)


def _over_queries(
    call: SearchCall, queries: Sequence[str], *, retriever: Retriever, top_k: int, length: int
) -> list[Ranking]:
    """Rankings fused over each query (`q1`) and its reformulation (`q2`).

    With a reranker, `candidates` is the budget of each list: of what is retrieved, of what is
    reranked, and of the fused list (RAG fusion under fixed budgets: paper P2, A.5).
    """
    settings = retriever.query_fusion or QueryFusion()
    rewritten = call.rewrite(queries, settings)
    variants = [[query, *one.texts] for query, one in zip(queries, rewritten, strict=True)]
    flat = list(dict.fromkeys(chain.from_iterable(variants)))
    found = _searched(call, flat, retriever=retriever, top_k=top_k, length=length)
    if retriever.reranker:
        found = reranked(call, flat, found, retriever=retriever)
    by_query = dict(zip(flat, found, strict=True))
    with call.timed("fuse"):
        one = [
            fused(
                {f"q{place}": by_query[query] for place, query in enumerate(same, start=1)},
                fusion=Fusion(),
                rrf_k=call.settings.rrf_k,
            )
            for same in variants
        ]
    if not retriever.reranker:
        return one
    cut = [ranking.head(retriever.candidates) for ranking in one]
    if not settings.anchor:
        return cut
    anchors = [same[0] if settings.anchor == "q1" else same[-1] for same in variants]
    return reranked(call, anchors, cut, retriever=retriever)


def _searched(
    call: SearchCall, queries: Sequence[str], *, retriever: Retriever, top_k: int, length: int
) -> list[Ranking]:
    """The search results of each query, fused over signals and domains, before any reranking."""
    needed, most = (retriever.candidates,) * 2 if retriever.reranker else (top_k, length)
    is_fused = len(retriever.signals) > 1 or retriever.domain_fusion or retriever.query_fusion
    goes_deep = is_fused or retriever.collapse or retriever.links
    depth = max(call.settings.depth, needed) if goes_deep else most
    if retriever.searches_domains(has_two_models=call.has_two_models):
        fusion = retriever.domain_fusion or DomainFusion(mode="simple")
        found = _over_domains(call, queries, retriever=retriever, fusion=fusion, depth=depth)
    else:
        signals = _signals(call, queries, retriever=retriever, table=JOINT, depth=depth)
        found = _over_signals(call, signals, retriever=retriever)
    if retriever.reranker:
        return [_candidates(ranking, most, first=retriever.first_of_each) for ranking in found]
    return [ranking.head(max(depth, most)) for ranking in found]


def _candidates(ranking: Ranking, count: int, *, first: int) -> Ranking:
    """The best `count` units, the `first` ones of each list that was fused among them.

    What one signal alone puts first is read by the reranker, wherever fusion puts it. Where that
    would be more than `count` units, each list has as many of them as the others.
    """
    lists = [arm for arm in ranking.stages().values() if not arm.arms] if first else []
    each = min(first, count // max(1, len(lists)))
    certain = {unit for arm in lists for unit in arm.unit_ids[:each]}.intersection(ranking.unit_ids)
    others = [unit for unit in ranking.unit_ids if unit not in certain]
    chosen = certain.union(others[: count - len(certain)])
    entries = [(unit, score) for unit, score in ranking.entries if unit in chosen]
    return ranking_of(entries, arms=ranking.arms)


def _signals(
    call: SearchCall, queries: Sequence[str], *, retriever: Retriever, table: str, depth: int
) -> dict[Signal, list[Ranking]]:
    """What each signal finds in `table`, for each query."""

    def search(signal: Signal) -> list[Ranking]:
        deep = _depth_of(signal, retriever, default=depth)
        return search_by(signal, call, queries, table=table, depth=deep)

    call.prepare(table)
    call.work["lists"] += len(queries) * len(retriever.signals)
    return dict(zip(retriever.signals, side_by_side(search, retriever.signals), strict=True))


def _over_signals(
    call: SearchCall, found: Mapping[Signal, Sequence[Ranking]], *, retriever: Retriever
) -> list[Ranking]:
    if len(found) == 1:
        [(signal, rankings)] = found.items()
        return [replace(ranking, arms={signal: ranking}) for ranking in rankings]
    with call.timed("fuse"):
        return [
            fused(
                dict(zip(found, one, strict=True)),
                fusion=retriever.signal_fusion,
                rrf_k=call.settings.rrf_k,
            )
            for one in zip(*found.values(), strict=True)
        ]


def _depth_of(signal: Signal, retriever: Retriever, *, default: int) -> int:
    if isinstance(retriever.depth, dict):
        return retriever.depth.get(signal, default)
    return retriever.depth or default


def _over_domains(
    call: SearchCall,
    queries: Sequence[str],
    *,
    retriever: Retriever,
    fusion: DomainFusion,
    depth: int,
) -> list[Ranking]:
    """Documents and rows, searched apart: each domain's signals are fused, then the domains."""
    each = fusion.depth or depth
    found = {
        domain: _signals(call, queries, retriever=retriever, table=domain, depth=each)
        for domain in DOMAINS
    }
    by_domain = [
        [
            _candidates(ranking, each, first=retriever.first_of_each if retriever.reranker else 0)
            for ranking in _over_signals(call, signals, retriever=retriever)
        ]
        for signals in found.values()
    ]
    by_query = [dict(zip(found, one, strict=True)) for one in zip(*by_domain, strict=True)]
    if fusion.mode == "weighted":
        return _weighted(call, queries, by_query, fusion=fusion)
    with call.timed("fuse"):
        return [fused(one, fusion=fusion, rrf_k=call.settings.rrf_k) for one in by_query]


def _weighted(
    call: SearchCall,
    queries: Sequence[str],
    found: Sequence[Mapping[str, Ranking]],
    *,
    fusion: DomainFusion,
) -> list[Ranking]:
    """Domains weighted by how relevant their best `top_j` units are (thesis P0, 4.4.5).

    `w = softmax(mean / alpha)` over the domains, and the units of a domain in the order of
    `w * s`. The relevance s lies in [0, 1]: a weight would move a negative score the wrong way.
    """
    reranker = call.reranker(fusion.reranker)
    heads = [
        {domain: ranking.head(fusion.top_j) for domain, ranking in one.items()} for one in found
    ]
    with call.timed("weigh"):
        scores = call.relevance(
            reranker,
            queries,
            [[*chain.from_iterable(head.unit_ids for head in one.values())] for one in heads],
        )
        return [
            _weigh(one, relevance, before=before, fusion=fusion)
            for one, relevance, before in zip(heads, scores, found, strict=True)
        ]


def _weigh(
    heads: Mapping[str, Ranking],
    relevance: Sequence[float],
    *,
    before: Mapping[str, Ranking],
    fusion: DomainFusion,
) -> Ranking:
    scored = iter(relevance)
    domains = [[(unit, next(scored)) for unit in head.unit_ids] for head in heads.values()]
    weights = fusions.domain_weights(
        [[score for _, score in entries] for entries in domains],
        alpha=fusion.alpha,
    )
    arms = {
        domain: ranked(
            [unit for unit, _ in entries],
            scores=[score for _, score in entries],
            arms={CANDIDATES: before[domain]},
        )
        for domain, entries in zip(heads, domains, strict=True)
    }
    return ranking_of(fusions.weighted_fusion(domains, weights=weights), arms=arms)
