"""Retrievers: the stages of the config, one after another, for any number of queries at once.

    signals of each domain -> signal fusion -> domain fusion -> reranking -> collapse

Reformulations of a query go through the same stages. Their rankings are fused with the query's own,
before or after reranking.

Each stage takes rankings and returns rankings. A new ranking keeps those that it was made from, by
the name of their stage: that is what `explain` shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import assert_never

from rag_assets.config import DomainFusion, Fusion, QueryFusion, Retriever, Signal
from rag_assets.retrieval import fusion as fusions
from rag_assets.retrieval.duplicates import collapsed
from rag_assets.retrieval.rankings import Ranking, ranked, ranking_of
from rag_assets.retrieval.rewriters import rewriter_of
from rag_assets.retrieval.search_call import JOINT, SearchCall
from rag_assets.retrieval.threads import side_by_side
from rag_assets.schemas import DOMAINS

CANDIDATES = "candidates"
"""Name of the stage before reranking."""


def retrieve(
    call: SearchCall, queries: Sequence[str], *, retriever: Retriever, top_k: int
) -> list[Ranking]:
    """One ranking of at most `top_k` units for each of `queries`."""
    if not retriever.glossary:
        call = replace(call, glossary=None)
    if retriever.query_fusion:
        found = _over_queries(call, queries, retriever=retriever, top_k=top_k)
    else:
        found = _searched(call, queries, retriever=retriever, top_k=top_k)
        if retriever.reranker:
            found = reranked(call, queries, found, name=retriever.reranker)
    if retriever.collapse:
        with call.timed("collapse"):
            found = collapsed(call, found, settings=retriever.collapse, top_k=top_k)
    return [ranking.head(top_k) for ranking in found]


def reranked(
    call: SearchCall, queries: Sequence[str], rankings: Sequence[Ranking], *, name: str
) -> list[Ranking]:
    """Each ranking in the order of relevance to its query, by the reranker called `name`."""
    reranker = call.reranker(name)
    with call.timed("rerank"):
        scores = call.relevance(reranker, queries, [ranking.unit_ids for ranking in rankings])
    return [
        ranked(ranking.unit_ids, scores=relevance, arms={CANDIDATES: ranking})
        for ranking, relevance in zip(rankings, scores, strict=True)
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
                first_rank=fusion.first_rank,
            )
        case "relative_score":
            entries = fusions.relative_score_fusion(scored, weights=weights)
        case "distribution_based":
            entries = fusions.distribution_based_score_fusion(scored, weights=weights)
        case "weighted":
            raise ValueError("weighted fusion needs the relevance of the units: see `_weighted`")
        case other:
            assert_never(other)
    return ranking_of(entries, arms=found)


def _over_queries(
    call: SearchCall, queries: Sequence[str], *, retriever: Retriever, top_k: int
) -> list[Ranking]:
    """Rankings fused over each query (`q1`) and its reformulations (`q2`, `q3` and so on).

    With a reranker, `candidates` is the budget of each list: of what is retrieved, of what is
    reranked, and of the fused list (RAG fusion under fixed budgets: paper P2, A.5).
    """
    settings = retriever.query_fusion or QueryFusion()
    rewriter = rewriter_of(settings, glossary=call.glossary)
    with call.timed("rewrite"):
        variants = [[query, *rewriter(query, count=settings.queries - 1)] for query in queries]
    flat = list(dict.fromkeys(chain.from_iterable(variants)))
    found = _searched(call, flat, retriever=retriever, top_k=top_k)
    name, fuses_after = retriever.reranker, settings.fuse == "after_reranking"
    if name and fuses_after:
        found = reranked(call, flat, found, name=name)
    by_query = dict(zip(flat, found, strict=True))
    with call.timed("fuse"):
        one = [
            fused(
                {f"q{place}": by_query[query] for place, query in enumerate(same, start=1)},
                fusion=settings.fusion,
                rrf_k=call.settings.rrf_k,
            )
            for same in variants
        ]
    if not name:
        return one
    cut = [ranking.head(retriever.candidates) for ranking in one]
    anchor = settings.anchor or (None if fuses_after else "q1")
    if not anchor:
        return cut
    place = {"q1": 0, "q2": 1}[anchor]
    anchors = [same[min(place, len(same) - 1)] for same in variants]
    return reranked(call, anchors, cut, name=name)


def _searched(
    call: SearchCall, queries: Sequence[str], *, retriever: Retriever, top_k: int
) -> list[Ranking]:
    """The search results of each query, fused over signals and domains, before any reranking."""
    needed = retriever.candidates if retriever.reranker else top_k
    is_fused = len(retriever.signals) > 1 or retriever.domain_fusion or retriever.query_fusion
    depth = max(call.settings.depth, needed) if is_fused or retriever.collapse else needed
    if retriever.domain_fusion:
        found = _over_domains(
            call, queries, retriever=retriever, fusion=retriever.domain_fusion, depth=depth
        )
    else:
        found = _over_signals(call, queries, retriever=retriever, table=JOINT, depth=depth)
    return [ranking.head(needed if retriever.reranker else depth) for ranking in found]


def _over_signals(
    call: SearchCall, queries: Sequence[str], *, retriever: Retriever, table: str, depth: int
) -> list[Ranking]:
    def search(signal: Signal) -> list[Ranking]:
        deep = _depth_of(signal, retriever, default=depth)
        return call.search(signal, queries, table=table, depth=deep)

    call.prepare(table)
    call.work["lists"] += len(queries) * len(retriever.signals)
    found = dict(zip(retriever.signals, side_by_side(search, retriever.signals), strict=True))
    if len(found) == 1:
        [(signal, rankings)] = found.items()
        return [replace(ranking, arms={signal: ranking}) for ranking in rankings]
    with call.timed("fuse"):
        return [
            fused(
                {signal: rankings[place] for signal, rankings in found.items()},
                fusion=retriever.signal_fusion,
                rrf_k=call.settings.rrf_k,
            )
            for place in range(len(queries))
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
    each = fusion.depth or depth
    found = {
        domain: [
            ranking.head(each)
            for ranking in _over_signals(
                call, queries, retriever=retriever, table=domain, depth=each
            )
        ]
        for domain in DOMAINS
    }
    by_query = [
        {domain: rankings[place] for domain, rankings in found.items()}
        for place in range(len(queries))
    ]
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

    `w = softmax(statistic / alpha)` over the domains, and the units of a domain in the order of
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
        statistic=fusion.statistic,
        top_m=fusion.top_m,
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
