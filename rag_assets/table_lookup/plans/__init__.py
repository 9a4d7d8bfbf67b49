"""Lookup plans: which rows of one table, and what is computed from them, as data.

Read `plan` first, then `statements` (a plan as SQL), `sandbox` (where it runs) and `running` (what
it gives).
"""
