"""Answers that a language model writes from what a search found; each sentence is checked.

Read `numbered_units` (what the model is shown), `markup`, `lacking` and `reading` (what it wrote,
sentence by sentence), `proving` (what each sentence cites, and whether that supports it), `writing`
(one answer, asked again once), `further` (what to search for next) and `generated` (all of it for
one question).
"""
