"""Operations: what an operator does to a state, apart from refreshing it.

A wing for each:

- `problems`: what is wrong now; `alerts`: telling people what changed; `doctor`: examining and
  repairing the state itself.
- `plan`: what the next refresh would do, and what it would cost.
- `model_preview`: what another model would change.
- `gate`: whether an index may serve; `serving_index`: the move, and the way back.
- `explain`: where a unit comes from.
- `erasure`: erasing one document for good.

`assets` has the asset `serving_index` and the jobs of the room, `backfills` says how the job that
builds a variant runs. `run_history` takes old runs out of Dagster's records, as a part of the
clean-up.
"""
