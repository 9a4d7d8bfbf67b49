"""Search: which units of an index answer a query, and in which order.

A library that knows the store and the models, and nothing of Dagster. Read `search` first (open an
index, search it), then `retrievers` (the stages of a search, one after another) and `search_call`
(what these stages share). `units` is a table that is searched: by vectors in `dense`, by words in
`lexical`. `rankings` is what every stage takes and returns; `fusion` combines several of them.
`filters`, `rewriters`, `glossary`, `duplicates`, `context` and `explain` are one feature each,
`serving` opens what serves, `encoders` embeds queries, `cache` keeps results, `threads` searches in
parallel.
"""
