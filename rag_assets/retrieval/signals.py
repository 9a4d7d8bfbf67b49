"""Signals: each searches a table of units in its own way, and keeps what it found.

A new signal is a name in `config.retrieval`, and its cases here. An arm needs no name: see
`rag_assets.api.CustomArm`.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from rag_assets.config.retrieval import BY_MODEL, Signal
from rag_assets.identity import Canonical, fingerprint, fingerprints
from rag_assets.retrieval import dense, lexical
from rag_assets.retrieval.encoders import require_weighing
from rag_assets.retrieval.rankings import Ranking, ranking_of
from rag_assets.retrieval.search_context import SearchCall
from rag_assets.retrieval.units import UnitTable
from rag_assets.store.text_parts import text_index


def search_by(
    signal: Signal, call: SearchCall, queries: Sequence[str], *, table: str, depth: int
) -> list[Ranking]:
    """The `depth` best units of `table` for each query by `signal`, cached or searched now."""
    units = call.table(table)
    if units is None or units.count == 0:
        return [ranking_of([]) for _ in queries]
    depth = min(depth, units.count)  # Lance and the cache accept no number beyond 64 bits
    keys = _keys(signal, call, queries, table=table, units=units)
    with call.timed(signal):
        known = call.rankings.rankings([*keys.values()], depth=depth) if keys else {}
    new = [query for query in dict.fromkeys(queries) if keys.get(query) not in known]
    found = _found(signal, call, new, table, units, depth) if new else {}
    if keys:
        fresh = {keys[query]: ranking for query, ranking in found.items()}
        call.rankings.keep_rankings(fresh, depth=depth)
    return [found[query] if query in found else known[keys[query]] for query in queries]


def _found(
    signal: Signal, call: SearchCall, queries: list[str], table: str, units: UnitTable, depth: int
) -> Mapping[str, Ranking]:
    where = call.where
    match signal:
        case "dense":
            encoder = call.encoder(table)
            with call.timed("embed"):
                embedded = encoder.embed_queries(queries)
            units.load()
            with call.timed("dense"):
                found = units.nearest(embedded, depth=depth, where=where)
        case "sparse":
            units.require_weights()
            encoder = require_weighing(call.encoder(table))
            with call.timed("embed"):
                weighed = encoder.weigh_queries(queries)
            units.load_weights()
            with call.timed("sparse"):
                found = units.best_weighed(weighed, depth=depth, where=where)
        case "bm25":
            with call.timed("bm25"):
                found = units.best_matches(
                    queries, depth=depth, where=where, glossary=call.glossary
                )
        case "node_selection":
            with call.timed("node_selection"):
                found = call.select_nodes(units, queries, depth, where, call.links())
        case other:
            assert_never(other)
    return dict(zip(queries, found, strict=True))


def state_of(units: UnitTable, signal: Signal) -> Sequence[Canonical]:
    """Everything that a ranking of `units` by `signal` depends on, besides their content.

    An exact search depends on nothing else. BM25 depends on the settings of its index, whose name
    gives the stop words. Other indexes may rank equal units in different ways: an ANN index may
    miss units, and the counts of a full-text index may still include units that an older release
    has replaced. So these count by their files, and an ANN index by how it is searched too.
    """
    match signal:
        case "dense" if not units.is_exact:
            searched = units.ann.model_dump(exclude_defaults=True)
            files = units.files_of(units.indexes_of(dense.COLUMN))
            return [*files, *([searched] if searched else [])]
        case "bm25":
            indexes = units.indexes_of(lexical.COLUMN)
            if all(text_index(units.dataset, name=index.name).is_exact for index in indexes):
                return ["exact", [[index.name, index.details] for index in indexes]]
            return units.files_of(indexes)
        case "dense" | "sparse":
            return ["exact"]
        case "node_selection":
            return ["by score and degree"]
        case other:
            assert_never(other)


def _keys(
    signal: Signal, call: SearchCall, queries: Sequence[str], *, table: str, units: UnitTable
) -> dict[str, str]:
    if not call.rankings.is_kept or signal == "node_selection":  # which looks at links too
        return {}
    by = call.encoder(table).encoder_id if signal in BY_MODEL else "words"
    searched = fingerprint(units.content, signal, state_of(units, signal), by, call.where)
    sought = [_sought(signal, call, query) for query in queries]
    return dict(zip(queries, fingerprints(sought, searched), strict=True))


def _sought(signal: Signal, call: SearchCall, query: str) -> Canonical:
    """What is searched for: the query, and what the glossary adds to it."""
    if call.glossary is None or signal != "bm25":
        return query
    meanings = [[one.expression, *one.others] for one in call.glossary.meanings(query)]
    return [query, meanings, call.glossary.weight] if meanings else query
