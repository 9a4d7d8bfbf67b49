"""Questions with gold evidence, made from one's own documents, tables and kept answers.

`draft` is a question as it is made. `indexed_passages` are what `windows` and `sampling` choose of
documents; `from_documents` makes questions of them, by `filters`. `from_tables`
samples lookup plans, and words them. `making` keeps what they make in the table
`generated_questions`, which `steps` hands to the graph; `counts` sums it up. `from_answers` finds
the questions that people really asked and that the test set lacks, and `importing` takes in those
that people bring. What a person decides is asked in `labelling`; `reviewing` asks about made
questions. `judging` is what judges and people say of answers and hits.

A question to a table, made without a model, with the rows that must be found:

>>> import pyarrow as pa
>>> from rag_assets.config.questions import Questions
>>> from rag_assets.questions.from_tables import made_of
>>> from rag_assets.table_lookup.tables.cells import ColumnCells
>>> from rag_assets.table_lookup.tables.table_contents import contents_of
>>> from_source = pa.array([False] * 3)  # whether the source has the values as numbers
>>> names, densities = pa.array(["AlMg3", "Invar", "Brass"]), pa.array(["2.66", "8.05", "8.4"])
>>> columns = [
...     ColumnCells("name", "name", False, names, from_source),
...     ColumnCells("rho", "density [g/cm3]", False, densities, from_source),
... ]
>>> ids = {name: pa.array(["1", "2", "3"]) for name in ("row_ids", "row_keys", "text_hashes")}
>>> table = contents_of(("laboratory", "alloys", "alloys"), cells=columns, **ids)
>>> [draft] = made_of(table, Questions(), draws=1).drafts
>>> draft.question, [gold.row_key for gold in draft.gold]
('What are the two highest values of density (alloys)?', ['3', '2'])
"""
