"""Many keys and hashes as columns, at some tens of bytes each; nothing of the domain.

`keys` finds the positions of many keys, `id_columns` computes ids of whole columns,
`composite_keys` writes keys of several columns as one text, `gathered` merges small batches,
`arrow_sql` runs SQL over Arrow tables and picks rows of them, and `sql` writes pieces of SQL.

Where two keys stand among many; -1 is a key that is not there:

>>> import pyarrow as pa
>>> from rag_assets.columns.keys import KeyIndex
>>> held = KeyIndex(pa.array(["steel", "nickel", "copper"]))
>>> held.places(pa.array(["copper", "zinc"])).tolist()
[2, -1]
"""
