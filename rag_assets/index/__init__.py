"""Units get vectors and become searchable tables.

Read in this order: `units` (what a unit takes from its chunk or row), `encoders` (the model on the
path chosen for this machine), `embed` (new texts go through the model, known ones are reused),
`parts` (how much is embedded at once), `joint` (both domains in one table), `indexes` (full text,
filters, ANN), then `step_tables` (what each table is made from), `steps`, `assets` and `checks`;
`asset_metadata` is what the UI shows of them.

A serialized row as a unit, before it gets its vector: chunks and rows have the same columns.

>>> import pyarrow as pa
>>> from rag_assets.index.units import units_of_rows
>>> text = "Item in alloys where name is Invar and density is 8.05 g/cm3."
>>> row = {"row_id": "r2", "source": "laboratory", "table": "alloys", "row_key": "2", "text": text}
>>> [unit] = units_of_rows(pa.Table.from_pylist([row])).to_pylist()
>>> unit["unit_id"], unit["domain"], unit["uri"], unit["row_key"]
('r2', 'table', 'laboratory/alloys', '2')
"""
