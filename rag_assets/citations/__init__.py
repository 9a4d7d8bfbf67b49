"""What proves a sentence: citations, what they say, and the JSON in which they are kept.

Read `kinds` first: the five kinds of citation, each a class with all that it can be asked. A
`sentences.Sentence` has some of them; `values` are exact numbers and texts, `cited_sources` what a
citation holds a sentence to, `places` the numbers in a list of sources, `card` a citation shown to
people, and `versioned_json` writes objects whose format has a name. This stands on the ground
floor, so that whoever cites or reads citations can import it.
"""
