"""Rows get ids and headings in plain words, then become text.

Read in this order: `exported` (the tables that sources landed), `values` and `headings` (canonical
spelling), `rows` (ids; the table `table_rows`), `serializers` (nine ways to write a row),
`serialize` (the tables of texts), then `step_tables` (what each table is made from), `steps`,
`assets` and `checks`; `planned` is what a refresh will do,
`asset_metadata` what the UI shows.
"""
