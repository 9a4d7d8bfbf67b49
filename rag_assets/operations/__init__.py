"""Operations: what an operator does to a state, apart from refreshing it.

`derivations` knows what each table of a variant is made from, and so what its step would do.

To see what is wrong, read `problems` first: the one list that everyone shows. `left_out` groups by
reason what is in quarantine, and `disk` tells what the state takes. `run_problems` adds what the
records of Dagster tell of runs, with `run_errors` (why a step failed), `disk_remedies` (what to do
about a full disk) and `lost_runs` (runs whose process was killed). `alerts` tells what changed.

To see whether an index may serve, read `gate` first: `gate_sides` (both, and their rankings),
`gate_comparison` (the questions), `known_items` (what is asked without questions), `gate_flaws`,
`gate_rules` (PASS, FAIL or HOLD), `verdicts` (what is kept of it) and `gate_wording`.

To see how the index that answers is exchanged, read `promotion` first: the gate, the move and the
way back. `consistency` tells whether tables agree, `held` what may not serve, `serving_status` what
does; `assets` has the asset `serving_index` and its jobs. The record is `store.serving_pointer`.

To erase one document, read `purge` first: the steps, in order. `purge_plan` finds out what has to
go. It searches for `traces`: names and words that only this document contains.
`erasure` deletes rows from tables, `run_records` deletes from Dagster's records, `state_files`
deletes the other files. At the end `proof` searches the whole state once more.

`run_history` takes old runs out of Dagster's records, as a part of the clean-up.

`preview` bounds what another model can reach before its index is built: `preview_bounds` has the
proof, `preview_pool` chooses the units. `backfills` says how the job that builds a variant runs.

`trial` tries other search indexes on what serves: `trial_settings` says which, and refuses what
makes no sense; `trial_job` does it in the UI. The branches are those of `store.branches`.

`explain` tells where one unit comes from, step by step: `unit_steps` has the steps, `explain_job`
shows them in the UI.
"""
