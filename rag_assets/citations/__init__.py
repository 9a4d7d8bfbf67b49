"""What proves a sentence: citations, what they say, and the JSON in which they are kept.

Read `kinds` first: the five kinds of citation, each a class with all that it can be asked. A
`sentences.Sentence` has some of them; `values` are exact numbers and texts, `cited_sources` what a
citation holds a sentence to, `source_numbers` the numbers in a list of sources, `card` a citation
shown to people, and `versioned_json` writes objects whose format has a name. This stands on the
ground floor, so that whoever cites or reads citations can import it.

A sentence, and the cell that it cites:

>>> from rag_assets.citations.kinds import Cell
>>> from rag_assets.citations.sentences import Sentence
>>> cell = Cell(
...     unit_id=None, text_hash=None, source="laboratory", table="alloys", row_key="2",
...     column="density", heading="Density", value=8.05, unit="g/cm3",
... )
>>> sentence = Sentence("The density of Invar is 8.05 g/cm3.", (cell,), compared="cell")
>>> sentence.is_supported, cell.in_words
(True, 'laboratory/alloys, row 2, Density: 8.05 g/cm3')
"""
