"""What units say of each other: names that they mention, and which of them a unit is about.

Read in this order: `mentions` (the names of a chunk and of a row; `terms.names` says which
spellings are one), `unit_links` (their table), then
`step_tables`, `steps`, `assets` and `checks`; `asset_metadata` is what the UI shows. A link is a
mention in one unit and the document or row that is about the name: `store.unit_links` joins the
two, and `retrieval.following` follows them.
"""
