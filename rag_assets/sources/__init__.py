"""Sources: the manifest of their documents, and their tables, which dlt lands.

Read `exports` first: one pass over the tables of a source. `places` and `opening` tell what kind
of source it is (`databases/`, `tabular/`), `origins` what each kind can do, and `landing` has dlt
write the rows to files (`landed`). `exporting` brings one table up to them, `landed_rows` makes
them inputs of the rule of change, `column_types` which types they have, `outcomes` what is
reported, and `readability` how each source was last read. `parquet` writes a table out.
`files/` holds the manifest of documents, which is a step (`steps`, `step_tables`); `planned` is
what a refresh will do, `asset_metadata` what the UI shows.
"""
