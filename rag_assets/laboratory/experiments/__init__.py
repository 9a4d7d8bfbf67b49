"""Experiments: settings compared on the same questions, chosen on dev and reported on test.

Read `design` first: an experiment is a list of arms and a layout of its report. `designs` makes it
from the config and a file of `rag_assets/config/designs`; what such a file cannot say is computed
in `computed`, `index_size`, `follow_ups`, `parser_comparison` (by `outlines`), `graph_answers` and
`report_design` (by `report_retrieval` and `report_prompts`). `arms` runs one arm, `run` all arms of
an experiment; `node_selection` is a signal that only they search by. `results` is what they found,
`layout` and `report` show it, `runs` stores it. `question_origin` compares the orders of arms by
several question sets. `replay` runs a stored experiment again, `assets` has the Dagster assets.
"""
