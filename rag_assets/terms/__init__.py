"""What words, numbers, units and formulas of a text mean, in English and Swedish.

Read `words` (the words of a text, and how alike two are) and `lemmas` (their dictionary forms)
first, then `coverage` (which terms of a question a text holds). `numbers` and `text_units` read the
numbers of running text, `units` those of headings; `formulas` read chemistry, `dates` days, and
`names` what is named: titles, identifiers and formulas, each in one spelling. This stands on the
ground floor: lookups, checks and answers read it.

A number of a question and one of a source, in other units:

>>> from rag_assets.terms.numbers import bears_out, numbers_of
>>> [stated] = numbers_of("Invar has a density of 8050 kg/m3.")
>>> [source] = numbers_of("density: 8.05 g/cm3")
>>> bears_out(source, stated)
1.0
>>> from rag_assets.terms.formulas import formula
>>> formula("CoNi0.5")
(('Co', 1.0), ('Ni', 0.5))
"""
