"""How good answers are: by comparing, and by the judges of the config if it names any.

Read `evaluating` first, then `bench` (the questions, answered one by one, and what is measured of
each), `answer_items` (what judges read), `answer_means` and `report`.
"""

REVISION = 5
"""The revision of the code that evaluates answers: raised when equal questions and index give other
results."""
