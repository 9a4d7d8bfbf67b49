"""Lookup: questions to tables, answered by a plan that is run, without embedding.

A question becomes a `plan` (which table, which rows, what is computed), made by `understanding` and
checked against the `catalogue` of the tables. `running` turns a plan into SQL and runs it in a
sandbox; `computing` and `phrasing` make sentences of what it gives. Read `looking_up` first: from a
question to sentences that cite their cells.
"""
