"""Search: which units of an index answer a query, and in which order.

A library that knows the store and the models, and nothing of Dagster. Read `search` first (an index
that is searched: `opening` opens it, `serving` that which serves, `hits` is what it returns), then
`retrievers` (the stages of a search, one after another) and `search_call` (what these stages
share). `units` is a table that is searched: by vectors in `dense`, by words in `lexical`.
`rankings` is what every stage takes and returns; `fusion` combines several of them. `filters`,
`versions`, `rewriters`, `glossary`, `duplicates`, `context` and `following` (over `links`) are one
feature each, `encoders` embeds queries, `cache` keeps results, `threads` searches in parallel,
`failing` names the errors in which a search may end.
"""
