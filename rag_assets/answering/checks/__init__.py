"""Whether a sentence is supported by its sources, without a language model.

Read `atoms` (what in a sentence can be right or wrong), then `matching` (where a source has it),
`binding` (whether it belongs to the same thing there), `support` (the verdict) and `measures`
(figures over many answers). `words` holds all words that the rules know.
"""
