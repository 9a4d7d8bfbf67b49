"""Answers that carry their proof: computed, written, found, compared, kept, replayed.

A library that knows the stages, retrieval, `table_lookup` and `evaluation`, and nothing of Dagster
but in `assets`. Read `assistant` first, the one door to it, and `answer` (what an answer is:
sentences with citations, and what was searched for them), then `asking` (from a question to an
answer), `quoting` (what is shown where nothing was computed or written), `generation` (what a
language model writes), `checks` (whether sources have it), `record` (answers that are kept) and
`measuring` (how good answers are).
"""
