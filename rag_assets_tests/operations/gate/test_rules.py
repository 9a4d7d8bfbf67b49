from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.config import Gate
from rag_assets.evaluation.metrics import METRICS
from rag_assets.evaluation.non_inferiority import Paired
from rag_assets.operations.gate.comparison import Comparison
from rag_assets.operations.gate.rules import FEW, Ruling, decide
from rag_assets.operations.gate.slices import slices_of
from rag_assets.operations.gate.verdicts import BeforeAndNow, DenseAlone, KnownItems

FINE = KnownItems(queries=500, serving=0.97, candidate=0.96, unchanged=400, moved=10)


def compared(*, wins: int, losses: int, same: int, margin: float = 0.045) -> Comparison:
    """Questions of which so many were won, lost and answered alike."""
    differences = np.repeat([1.0, -1.0, 0.0], [wins, losses, same])
    paired = Paired(differences, [f"{n}.md" for n in range(len(differences))], [""] * 10_000)
    return Comparison(margin=margin, difference=paired.difference())


def decided(
    comparison: Comparison | None, items: KnownItems | None = None, *, is_same: bool = False
) -> Ruling:
    return decide(
        comparison, items, is_same_recipe=is_same, metric="hit_rate@10", items_margin=0.045
    )


def test_the_three_verdicts_on_another_recipe():
    assert decided(compared(wins=27, losses=27, same=494)).outcome == "PASS"
    assert decided(compared(wins=0, losses=60, same=488)).outcome == "FAIL"
    assert decided(compared(wins=15, losses=39, same=494)).outcome == "HOLD"


def test_how_many_more_questions_would_tell_is_told_but_not_for_what_looks_worse():
    held = decided(compared(wins=3, losses=3, same=14, margin=0.1), FINE)
    assert held.outcome == "HOLD"
    assert f"About {held.more_questions:,} more questions" in " ".join(held.reasons)
    alone = compared(wins=0, losses=10, same=10).difference
    assert alone
    dense = DenseAlone("is worse", measured=(BeforeAndNow("hit_rate@10", 0.9, 0.4, alone),))
    hidden = decide(
        compared(wins=3, losses=3, same=14, margin=0.1),
        FINE,
        is_same_recipe=False,
        metric="hit_rate@10",
        items_margin=0.045,
        dense=dense,
    )
    assert hidden.outcome == "HOLD"
    assert hidden.more_questions is None
    assert "more question" not in " ".join(hidden.reasons)
    worse = decided(compared(wins=2, losses=3, same=15, margin=0.1), FINE)
    assert worse.outcome == "HOLD"
    assert worse.more_questions is None
    assert "more question" not in " ".join(worse.reasons)


def test_a_night_is_held_only_where_it_looks_worse():
    unclear = compared(wins=15, losses=34, same=499)
    assert decided(unclear).outcome == "HOLD"
    passed = decided(unclear, is_same=True)
    assert passed.outcome == "PASS"
    assert passed.more_questions is None
    assert decided(compared(wins=15, losses=44, same=489), is_same=True).outcome == "HOLD"
    assert decided(compared(wins=0, losses=60, same=488), is_same=True).outcome == "FAIL"


def test_a_slice_that_loses_holds_even_a_better_mean():
    differences = np.repeat([-1.0, 0.0, 1.0], [20, 100, 40])
    paired = Paired(differences, [f"{n}.md" for n in range(160)], [""] * 160)
    slices = slices_of(paired, {"language": ["sv"] * 120 + ["en"] * 40}, margin=0.08)
    comparison = Comparison(margin=0.08, difference=paired.difference(), slices=tuple(slices))
    for is_same in (False, True):
        held = decided(comparison, is_same=is_same)
        assert held.outcome == "HOLD"
        assert any(reason.startswith("language sv") for reason in held.reasons)


def test_a_flaw_holds_what_would_pass():
    comparison = replace(compared(wins=27, losses=27, same=494), flaws=("E003 copied",))
    held = decided(comparison)
    assert held.outcome == "HOLD"
    assert "E003 copied" in held.reasons


def test_identical_rankings_pass_on_enough_questions():
    comparison = replace(compared(wins=0, losses=0, same=FEW), is_identical=True)
    assert decided(comparison).outcome == "PASS"


def test_a_loss_that_was_accepted_is_told_though_what_serves_answers_the_same():
    alone = compared(wins=0, losses=60, same=60)
    assert alone.difference
    dense = DenseAlone(
        "is worse", measured=(BeforeAndNow("hit_rate@10", 0.9, 0.4, alone.difference),)
    )
    found = decide(
        replace(compared(wins=0, losses=0, same=FEW), is_identical=True),
        None,
        is_same_recipe=False,
        metric="hit_rate@10",
        items_margin=0.045,
        dense=dense,
        accepts_dense=True,
    )
    assert (found.outcome, found.accepts_dense) == ("PASS", True)
    assert "accepted" in " ".join(found.reasons)


@pytest.mark.parametrize(
    ("items", "outcome"),
    [
        (FINE, "PASS"),
        (replace(FINE, candidate=0.9), "HOLD"),
        (replace(FINE, moved=81), "HOLD"),
        (replace(FINE, unchanged=0, moved=0), "PASS"),
        (None, "HOLD"),
    ],
)
def test_known_items_decide_where_nobody_asks(items, outcome):
    assert decided(None, items).outcome == outcome
    assert decided(None, items, is_same=True).outcome == "PASS"


def test_few_questions_need_known_items_as_well():
    few = compared(wins=0, losses=0, same=60, margin=0.1)
    assert decided(few, FINE).outcome == "PASS"
    assert decided(few, replace(FINE, candidate=0.8)).outcome == "HOLD"


@given(
    wins=st.integers(0, 60),
    losses=st.integers(0, 60),
    same=st.integers(1, 500),
    is_same=st.booleans(),
)
def test_what_is_not_allowed_says_why(wins, losses, same, is_same):
    found = decided(compared(wins=wins, losses=losses, same=same), FINE, is_same=is_same)
    assert found.reasons
    assert all(reason.endswith(".") for reason in found.reasons)
    assert (found.more_questions or 0) >= 0
    if found.outcome == "PASS":
        assert found.more_questions is None


def test_the_gate_takes_every_metric():
    for name in METRICS:
        assert Gate(metric=f"{name}@5").cutoff == 5
    for wrong in ("hit_rate", "hits@10", "hit_rate@0", "hit_rate@100"):
        with pytest.raises(ValueError, match="metric"):
            Gate(metric=wrong)
