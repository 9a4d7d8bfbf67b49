r"""Sources: the manifest of their documents, and their tables, which dlt lands.

Read `exports` first: one pass over the tables of a source. `source_locations` and `opening` tell
what kind of source it is (`databases/`, `tabular/`; `dlt_tables` for any dlt source), `origins`
what each kind can do, and `landing` has dlt write the rows to files (`landed`). `exporting` brings
one table up to them, `landed_rows` makes them inputs of the rule of change, `column_types` which
types they have, `outcomes` what is reported, and `readability` how each source was last read.
`export_file` writes a table out. `files/` holds the manifest of documents, which is a step
(`steps`, `step_tables`); `planned` is what a refresh will do, `asset_metadata` what the UI shows.

A folder with a CSV file as a source, whose table is landed:

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> from rag_assets.config import TableSource
>>> from rag_assets.sources.exports import refresh_exports
>>> from rag_assets.store import Store
>>> with TemporaryDirectory() as folder:
...     _ = Path(folder, "alloys.csv").write_text("id,name\n1,AlMg3\n2,Invar\n")
...     source = TableSource(name="laboratory", url=folder)
...     store = Store(Path(folder, "state"))
...     [done] = refresh_exports(store, source, allow_shrink=False, log=lambda line: None)
...     print(done.table, done.report.added, done.exported.first_rows(2).to_pylist())
alloys 2 [{'id': 1, 'name': 'AlMg3'}, {'id': 2, 'name': 'Invar'}]
"""
