"""How good answers are: by comparing, and by the judges of the config if it names any.

Read `evaluating` first, then `bench` (the questions, answered one by one, and what is measured of
each), `judged_items` (what judges read) and `report`.
"""

REVISION = 4
"""Of the code that evaluates answers: raised when equal questions and index give other results."""
