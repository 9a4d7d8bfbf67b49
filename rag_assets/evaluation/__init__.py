"""Evaluation: how well each retriever finds the gold evidence of the user's questions.

Read in this order. `questions` imports question files, `gold` is their evidence. `indexed_gold`
looks the evidence up in an index, `projection` puts rankings and gold into the same terms, and
`metrics` computes scores from that. `scores` does this for all questions; `summary` makes means
with `intervals` and tests of `significance` from it. `evaluate` runs all of this on a variant,
`results` stores it, `evaluation_wording` and `evaluation_report` show it. `agreement` and `quotes`
are one measure each.
Whether an evaluation is itself sound is told by `doctor`: `flaws` names the rules, `evidence` (with
`question_words`) is what `question_flaws` and `comparison_flaws` look at. `steps` and `step_tables`
have the step of the questions.

Experiments are run by the laboratory. `experiment_runs` reads what they found and removes old runs,
and `smoke_tests` says which question sets decide nothing by that.

The gold of a question are two units. A retriever returned one of them first, and none after it:

>>> import numpy as np
>>> from rag_assets.evaluation.metrics import ndcg, recall, reciprocal_rank
>>> relevance, relevant = np.array([[True, False, False]]), np.array([2])
>>> recall(relevance, relevant, k=3).tolist()
[0.5]
>>> reciprocal_rank(relevance, relevant, k=3).tolist()
[1.0]
>>> ndcg(relevance, relevant, k=3).round(3).tolist()
[0.613]
"""

DOORS = (
    "agreement assets choosing doctor evaluate evaluation_wording evidence experiment_runs "
    "flaws gold indexed_gold intervals latency metrics non_inferiority projection "
    "question_flaws question_words questions results reviewed scores smoke_tests steps summary "
    "superseded_gold"
)
"""The modules that other rooms may use; all others are its own."""
