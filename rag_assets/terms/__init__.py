"""What words, numbers, units and formulas of a text mean, in English and Swedish.

Read `words` (the words of a text, and how alike two are) and `lemmas` (their dictionary forms)
first, then `coverage` (which terms of a question a text holds). `numbers` and `text_units` read the
numbers of running text, `units` those of headings; `formulas` and `chemical_elements` read
chemistry, `dates` days, and `names` what is named: titles, identifiers and formulas, each in one
spelling. This stands on the ground floor: lookups, checks and answers read it.
"""
