"""A question that leans on what was said before, made whole, so that it can be searched.

`conversation` holds what was said, `mentions` finds the things that a text is about, `words` are
those that point back, and `by_rules` completes the question; `by_model` lets a language model do it
and takes from it what can be checked.
"""
