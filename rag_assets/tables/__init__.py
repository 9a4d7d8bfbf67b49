"""Rows get ids and headings in plain words, then become text.

Read in this order: `exported` (the tables that sources landed), `values` and `headings` (canonical
spelling), `table_rows` (ids; the table `table_rows`), `serializers` (nine ways to write a row),
`serialize` (the tables of texts), then `step_tables` (what each table is made from), `steps`,
`assets` and `checks`; `planned` is what a refresh will do,
`asset_metadata` what the UI shows.

A row as text: its columns are called in plain words, and a unit follows its number.

>>> from rag_assets.tables.headings import humanised
>>> from rag_assets.tables.serializers import Pair, as_full_semantic
>>> humanised("yield_strength")
'yield strength'
>>> pairs = [Pair("name", "S355", False), Pair("yield strength [MPa]", "355", True)]
>>> as_full_semantic("alloys", pairs)
'Item in alloys where name is S355 and yield strength is 355 MPa.'
"""
