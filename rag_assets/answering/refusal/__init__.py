"""When an answer is withheld: a rule fitted on the user's own questions, with a promise.

Read `features` first (what speaks for an answer), then `cases` (questions with and without an
answer, made from those with gold), `fitting` (the rule and its promise) and `deciding` (its use).
`report` shows people what the rule does.
"""
