"""Erasing one document from all that was built.

Read `purge` first: the steps, in order. `scope` finds out what has to go. It searches for `traces`:
names and words that only this document contains. `erased_rows` deletes rows from tables,
`run_records` deletes from Dagster's records, `kept_answers`, `model_calls` and `state_files` delete
the other files. At the end `proof` searches the whole state once more.
"""
