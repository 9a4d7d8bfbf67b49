"""Search: which units of an index answer a query, and in which order.

A library that knows the store and the models, and nothing of Dagster. Read `search` first (an index
that is searched: `opening` opens it, `serving` that which serves, `hits` is what it returns), then
`retrievers` (the stages of a search, one after another), `signals` (the first of them: how each
signal searches) and `search_context` (what these stages share). `units` is a table that is
searched: by vectors in `dense`, by words in `lexical`. `rankings` is what every stage takes and
returns; `fusion` combines several of them. `filters`, `versions`, `rewriters`, `glossary`,
`duplicates`, `context` and `following` (over `links`) are one feature each, `encoders` embeds
queries, `cache` keeps results, `threads` searches in parallel, `failing` names the errors in which
a search may end. `mentions` finds every place of a text, and ranks nothing.

Two rankings of the same query, one by words and one by vectors, become one:

>>> from rag_assets.retrieval.fusion import reciprocal_rank_fusion
>>> from rag_assets.retrieval.rankings import ranked
>>> by_words = ranked(["salt.md", "heat.md", "invar"], scores=[7.1, 3.2, 0.4])
>>> by_vectors = ranked(["invar", "salt.md"], scores=[0.83, 0.79])
>>> fused = reciprocal_rank_fusion([by_words.unit_ids, by_vectors.unit_ids], k=60)
>>> [(unit, round(score, 4)) for unit, score in fused]
[('salt.md', 0.0325), ('invar', 0.0323), ('heat.md', 0.0161)]
"""
