"""Parts of what a search found, shown as they stand there, with their citations.

Read `finding` first, then `names` (which names of a question the found units hold), `highlighting`
and `pieces` (which parts of a unit fit best) and `unit_citations`. `sourcing` goes the other way:
for sentences of an answer from anywhere, it finds the units that they come from.
"""
