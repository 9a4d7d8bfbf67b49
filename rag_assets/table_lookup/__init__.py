"""Lookup: questions to tables, answered by a plan that is run, without embedding.

A library that knows tables and retrieval, and nothing of answers. Read `looking_up` first: from a
question to sentences that cite their cells. `tables` is what can be asked, `question` reads a
question into one of the `plans`, which SQL in a sandbox runs, and `sentences` tells what it gave;
`words` are what the reading knows of English and Swedish. Where the rules refuse a question,
`by_model` lets a language model fill in the plan.

A question to a table of two rows, and the sentence that answers it:

>>> import pyarrow as pa
>>> from rag_assets.table_lookup.looking_up import look_up
>>> from rag_assets.table_lookup.tables.catalogue import Catalogue
>>> from rag_assets.table_lookup.tables.cells import ColumnCells
>>> from rag_assets.table_lookup.tables.table_contents import contents_of
>>> from_source = pa.array([False, False])  # whether the source has the values as numbers
>>> columns = [
...     ColumnCells("name", "name", False, pa.array(["AlMg3", "Invar"]), from_source),
...     ColumnCells("rho", "density [g/cm3]", False, pa.array(["2.66", "8.05"]), from_source),
... ]
>>> ids = {name: pa.array(["1", "2"]) for name in ("row_ids", "row_keys", "text_hashes")}
>>> table = contents_of(("laboratory", "alloys", "alloys"), cells=columns, **ids)
>>> catalogue = Catalogue(data_version="1", load=lambda: ({("laboratory", "alloys"): table}, ()))
>>> look_up("What is the density of Invar?", catalogue).sentences[0].text
'Invar: density 8.05 g/cm3.'
"""
