"""Answers that carry their proof: computed, written, found, compared, kept, replayed.

A library that knows the stages, retrieval, `table_lookup` and `evaluation`, and nothing of Dagster.
Read `assistant` first, the one door to it, and `answer` (what an answer is:
sentences with citations, and what was searched for them), then `asking` (from a question to an
answer), `quoting` (what is shown where nothing was computed or written), `generation` (what a
language model writes), `checks` (whether sources have it) and `record` (answers that are kept).

What a sentence says is held against what it cites, number by number and name by name:

>>> from rag_assets.answering.checks.support import check
>>> from rag_assets.citations.cited_sources import CitedText
>>> cited = [CitedText("Invar has a density of 8.05 g/cm3.")]
>>> check("The density of Invar is 8050 kg/m3.", cited).agrees
True
>>> [match.atom.text for match in check("The density of Invar is 8.50 g/cm3.", cited).missing]
['8.50 g/cm3']
"""

DOORS = (
    "answer asking assistant checks.cited_texts checks.given_texts checks.judging "
    "checks.support checks.verifying condensation.by_model condensation.by_rules "
    "condensation.conversation evidence_cards generation.reading generation.writing "
    "quoting.highlighting quoting.pieces quoting.sourcing quoting.unit_citations "
    "record.answer_rows record.asked record.database record.differing record.exporting "
    "record.feedback record.keeping record.kept record.listing record.notices "
    "record.recalling record.replaying record.staleness reporting.cited_report "
    "reporting.decomposition reporting.forms reporting.gathering reporting.writing"
)
"""The modules that other rooms may use; all others are its own."""
