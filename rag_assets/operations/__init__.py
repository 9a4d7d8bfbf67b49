"""Operations: what an operator does to a state, apart from refreshing it.

A wing for each:

- `problems`: what is wrong now; `alerts`: telling people what changed; `doctor`: examining and
  repairing the state itself.
- `plan`: what the next refresh would do, and what it would cost.
- `model_preview`: what another model would change.
- `gate`: whether an index may serve; `serving_index`: the move, and the way back.
- `explain`: where a unit comes from.
- `erasure`: erasing one document for good.

`assets` has the assets `serving_index` and `recall_notices`, and the jobs that move the pointer,
`jobs` those that look at a state.
`clean_up` makes room; `run_history` takes old runs out of Dagster's records, as a part of it.

May an index serve that another model embedded, if nobody has written questions? Each of 100 units
was asked for by a sentence of its own:

>>> from rag_assets.operations.gate.rules import decide
>>> from rag_assets.operations.gate.verdicts import KnownItems
>>> found = KnownItems(queries=100, serving=0.98, candidate=0.71, unchanged=100, moved=31)
>>> ruling = decide(None, found, is_same_recipe=False, metric="ndcg@10", items_margin=0.02)
>>> ruling.outcome, ruling.reasons[1]
('HOLD', 'It finds fewer known items, by more than the margin of 0.020.')
"""

DOORS = (
    "alerts.dispatch alerts.messages alerts.record assets clean_up doctor.examined_tables "
    "doctor.examining doctor.faults doctor.repairing erasure.kept_answers erasure.proof "
    "erasure.purge erasure.scope explain.explaining gate.known_items "
    "gate.verdict_wording gate.verdicts model_preview.previewing plan.amounts plan.costs "
    "plan.planning plan.reasons problems.acknowledged problems.current problems.disk "
    "problems.failed_checks problems.lost_runs problems.own_runs problems.run_errors "
    "problems.runs problems.skipped_inputs serving_index.candidates "
    "serving_index.promotion serving_index.rollback serving_index.status variants"
)
"""The modules that other rooms may use; all others are its own."""
