"""A trial of other search indexes on the rows that serve.

Read `trying` first; `settings` says which indexes are tried, and refuses what makes no sense; `job`
does it in the UI. The branches are those of `store.branches`.
"""
