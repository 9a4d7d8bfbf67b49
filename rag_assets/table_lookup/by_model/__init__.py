"""Plans by a language model, for questions that the rules refuse.

Read `planner` first: what is asked of whoever plans. `model_planner` asks a model, which chooses
among what `offering` shows it of the tables.
"""
