"""Units get vectors and become searchable tables.

Read in this order: `units` (what a unit takes from its chunk or row), `encoders` (the model on the
path chosen for this machine), `embed` (new texts go through the model, known ones are reused),
`parts` (how much is embedded at once), `joint` (both domains in one table), `indexes` (full text,
filters, ANN), then `step_tables` (what each table is made from), `steps`, `assets` and `checks`;
`asset_metadata` is what the UI shows of them.
"""
