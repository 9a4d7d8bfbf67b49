"""The doctor: whether index, tables, records and sources agree, found out by reading them.

No record of an earlier check is believed: every table that a variant reads is gone through once.

- What can be wrong: the kinds of `rag_assets.findings`; one thing that is wrong: `faults`.
- Which tables there are: `examined_tables`. What is kept of each while it is read: `table_scan`.
- What is looked for: `files`, `row_faults`, `records`, `differences`, `indexes`, `side_tables`,
  `surroundings`; more of it on request: `deep`.
- `examining` puts them in order. `repairing` takes away what is wrong, and lets the steps that made
  a table make it again: a repair has no way of its own to write a row.

Read `faults`, `examining` and `repairing` first. `operations.jobs` does it in the UI.
"""
