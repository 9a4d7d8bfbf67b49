"""The same questions answered by a language model under conditions that differ in one thing.

Read `arms` (the conditions), `measuring` (what is said of an answer, without a judge) and `run`
(one experiment, its differences with intervals, its report).
"""
