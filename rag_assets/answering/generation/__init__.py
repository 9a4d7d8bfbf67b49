"""Answers that a language model writes from what a search found; each sentence is checked.

Read `numbered_units` and `from_tables` (what the model is shown, and may ask of the tables),
`markup` and `reading` (what it wrote, sentence by sentence), `proving` (what each sentence cites,
and what of it is there), `writing` (one answer, asked again once), `further` (what to search for
next) and `generated` (all of it for one question).
"""
