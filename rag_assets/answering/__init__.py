"""Answers that carry their proof: quoted, looked up, computed, checked, refused, replayed.

A library that knows the stages and retrieval, and nothing of Dagster but in `assets`. Read
`answer` first (what an answer is: sentences with `citations`, and what was searched for them), then
`drafting` (what would be answered) and `asking` (from a question to an answer).
"""
