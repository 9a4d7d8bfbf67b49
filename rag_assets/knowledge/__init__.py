"""What units say of each other: names that they mention, and which of them a unit is about.

Read in this order: `mentions` (the names of a chunk and of a row; `terms.names` says which
spellings are one), `found_names` (what a language model finds), `unit_links` (their table), then
`step_tables`, `steps`, `assets` and `checks`; `asset_metadata` is what the UI shows. A link is a
mention in one unit and the document or row that is about the name: `store.unit_links` joins the
two, and `retrieval.following` follows them.

The names in a chunk: its document is about the first two, and mentions the others.

>>> from rag_assets.knowledge.mentions import mentions_of_chunk
>>> text = "EN 10025-2 says what S355 must bear."
>>> names = mentions_of_chunk(text, title="Steel guide", uri="guides/steel.md", is_first=True)
>>> for name in names:
...     print(name.kind, name.name, name.defines)
name steel guide True
name steel True
identifier EN-10025-2 False
identifier S-355 False
"""
