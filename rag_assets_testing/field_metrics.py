"""The metrics that `ir-measures` has too, under its names."""

import ir_measures

FIELD_NAMES = {
    "hit_rate": ir_measures.Success,
    "precision": ir_measures.P,
    "recall": ir_measures.R,
    "mrr": ir_measures.RR,
    "map": ir_measures.AP,
    "ndcg": ir_measures.nDCG,
}
CUTOFFS = (1, 3, 5, 10, 20)
