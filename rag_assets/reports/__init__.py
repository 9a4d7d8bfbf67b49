"""How results are shown to people, in Dagster's metadata and in reports; nothing of the domain.

`plots` draws SVG, `pages` writes HTML, `previews` shortens values to fit a cell of a table.

Means of two retrievers, for a terminal:

>>> from rag_assets.reports.text_tables import table
>>> means = [{"retriever": "bm25", "ndcg@10": 0.61}, {"retriever": "hybrid", "ndcg@10": 0.7}]
>>> print(table(means, columns=["retriever", "ndcg@10"]))
retriever  ndcg@10
---------  -------
bm25         0.610
hybrid       0.700
"""
