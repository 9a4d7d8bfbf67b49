"""Answers that were given: kept, listed, told stale, and run again.

Read `kept` first (what is kept of an answer), then `database` (the file they lie in), `keeping`
(how an answer gets there), `listing`, `staleness` and `replaying`. `exporting` copies answers to a
table for analysis. What erases them for good is `operations.kept_answers`.
"""
