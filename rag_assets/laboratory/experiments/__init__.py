"""Experiments: settings compared on the same questions, chosen on dev and reported on test.

Read `design` first: an experiment is a list of arms and a layout of its report. `designs` makes it
from the config and a file of `rag_assets/config/designs`; what such a file cannot say is computed
in `computed`, `index_size`, `follow_ups`, `parser_comparison` and `report_retrieval`. `arms` runs
one arm, `run` all arms of an experiment. `results` is what they found, `layout` and `report` show
it, `runs` stores it. `replay` runs a stored experiment again, `retention` removes old ones,
`assets` has the Dagster assets.
"""
