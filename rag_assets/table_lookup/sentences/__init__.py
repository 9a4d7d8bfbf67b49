"""Sentences about what a plan found, each with its citations.

Read `phrasing` first, then `citing` (cells, rows, results, absences), `naming` (what rows are
called), `writing` (values and conditions in words) and `nearest` (what is said where nothing was
found). `retelling` tells whether a sentence is one of these.
"""
