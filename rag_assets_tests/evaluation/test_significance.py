import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.evaluation.intervals import Clusters
from rag_assets.evaluation.significance import (
    benjamini_hochberg,
    detectable,
    friedman,
    mcnemar,
    sign_flip,
)

SAMPLES = 2_000


def singles(count: int) -> Clusters:
    return Clusters(np.arange(count), by="source")


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


def hits(*, wins: int, losses: int, ties: int = 0) -> np.ndarray:
    return column(*[1] * wins, *[-1] * losses, *[0] * ties)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (6, 0, 2 / 2**6),
        (1, 8, 2 * (1 + 9) / 2**9),
        (121, 59, 4.434e-6),  # statsmodels 0.15.0: mcnemar([[101, 121], [59, 33]], exact=True)
    ],
)
def test_mcnemar_tosses_a_coin_for_each_discordant_question(wins, losses, p):
    result = mcnemar(hits(wins=wins, losses=losses, ties=30))
    assert (result.wins.item(), result.losses.item()) == (wins, losses)
    assert result.p.item() == pytest.approx(p, rel=1e-3)
    assert result.smallest.item() == pytest.approx(min(1, 2.0 ** (1 - wins - losses)))


def test_with_few_clusters_the_sign_flip_is_exact():
    result = sign_flip(hits(wins=6, losses=0), singles(6), samples=SAMPLES)
    assert result.p.item() == result.smallest.item() == 2 / 2**6


def test_on_single_hits_the_exact_sign_flip_is_mcnemar():
    differences = np.hstack([hits(wins=wins, losses=9 - wins) for wins in range(10)])
    result = sign_flip(differences, singles(9), samples=SAMPLES)
    assert result.p == pytest.approx(mcnemar(differences).p)


def test_a_drawn_p_is_never_zero():
    result = sign_flip(column(*[1.0] * 200), singles(200), samples=SAMPLES)
    assert result.p.item() == result.smallest.item() == 1 / (SAMPLES + 1)


def test_no_difference_has_p_one():
    result = sign_flip(np.zeros((30, 2)), singles(30), samples=SAMPLES)
    assert result.p.tolist() == result.adjusted.tolist() == [1, 1]


def test_questions_of_a_cluster_flip_together():
    differences = hits(wins=40, losses=0)
    together = Clusters(np.repeat(np.arange(4), 10), by="source")
    assert sign_flip(differences, together, samples=SAMPLES).p.item() == 2 / 2**4


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_max_t_corrects_between_not_at_all_and_bonferroni(seed, systems):
    rng = np.random.default_rng(seed)
    differences = rng.normal(0.2, 1, size=(40, systems)) + rng.normal(size=(40, 1))
    result = sign_flip(differences, singles(40), samples=500, seed=seed)
    assert (result.adjusted >= result.p).all()
    assert (result.adjusted <= systems * result.p + 0.05).all()
    strongest = np.argmax(np.abs(differences.sum(axis=0)) / np.linalg.norm(differences, axis=0))
    assert result.adjusted[strongest] == result.adjusted.min()


def test_the_same_comparison_twice_costs_nothing():
    differences = np.random.default_rng(1).normal(0.3, 1, size=(50, 1))
    once = sign_flip(differences, singles(50), samples=SAMPLES)
    often = sign_flip(np.repeat(differences, 4, axis=1), singles(50), samples=SAMPLES)
    assert often.adjusted == pytest.approx(once.p.item())


def test_families_are_corrected_apart():
    differences = np.random.default_rng(2).normal(0.3, 1, size=(50, 4))
    apart = sign_flip(differences, singles(50), families=np.array([0, 1, 0, 1]), samples=SAMPLES)
    first = sign_flip(differences[:, [0, 2]], singles(50), samples=SAMPLES)
    assert apart.adjusted[[0, 2]] == pytest.approx(first.adjusted)


def test_drawing_in_blocks_keeps_the_number_of_samples(monkeypatch):
    differences = np.random.default_rng(3).normal(0.2, 1, size=(50, 1))
    systems = np.random.default_rng(3).normal(size=(50, 3))
    whole = (
        sign_flip(differences, singles(50), samples=100),
        friedman(systems, singles(50), samples=100),
    )
    monkeypatch.setattr("rag_assets.evaluation.significance.DRAWN_AT_ONCE", 50 * 30)
    parts = (
        sign_flip(differences, singles(50), samples=100),
        friedman(systems, singles(50), samples=100),
    )
    assert parts[0].p == pytest.approx(whole[0].p, abs=0.1)
    assert parts[1].p == pytest.approx(whole[1].p)


def test_friedman_is_that_of_scipy():
    from scipy.stats import friedmanchisquare

    values = np.random.default_rng(4).integers(0, 3, size=(60, 4)).astype(float)
    result = friedman(values, singles(60), samples=SAMPLES)
    expected = friedmanchisquare(*values.T)
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p == pytest.approx(expected.pvalue, abs=0.03)


def test_friedman_of_hits_is_the_q_of_cochran():
    values = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 0], [1, 0, 1]], float)
    columns, rows = values.sum(axis=0), values.sum(axis=1)
    expected = 3 * 2 * ((columns - columns.mean()) ** 2).sum() / (3 * rows - rows**2).sum()
    assert friedman(values, singles(6), samples=10).statistic == pytest.approx(expected)


def test_systems_that_are_always_alike_do_not_differ():
    result = friedman(np.ones((20, 3)), singles(20), samples=100)
    assert (result.statistic, result.p) == (0, 1)


def test_one_cluster_cannot_tell_systems_apart():
    values = np.tile([1.0, 2.0], (50, 1))
    assert friedman(values, singles(50), samples=SAMPLES).p < 0.01
    together = Clusters(np.zeros(50, int), by="source")
    assert friedman(values, together, samples=SAMPLES).p == 1


def test_the_two_tests_of_a_prompt_in_paper_p2_give_a_quarter():
    assert benjamini_hochberg(np.array([0.125, 0.25])).tolist() == [0.25, 0.25]


def test_detectable_is_the_rule_of_thumb_for_hits():
    differences = hits(wins=25, losses=25, ties=450)
    assert detectable(differences, singles(500)).item() == pytest.approx(
        2.8 * np.sqrt(0.1 / 500), rel=0.01
    )


def test_a_detectable_difference_is_found_four_times_in_five():
    rng = np.random.default_rng(6)
    codes, found = np.repeat(np.arange(60), 4), 0
    clusters = Clusters(codes, by="source")
    spread = np.sqrt(1 / 60 + 1 / 240)
    effect = detectable(
        (rng.normal(size=(60, 1))[codes] + rng.normal(size=(240, 1))), clusters
    ).item()
    assert effect == pytest.approx(2.8 * spread, rel=0.25)
    for seed in range(200):
        noise = rng.normal(size=(60, 1))[codes] + rng.normal(size=(240, 1))
        found += sign_flip(noise + 2.85 * spread, clusters, samples=200, seed=seed).p.item() <= 0.05
    assert found / 200 == pytest.approx(0.8, abs=0.1)


def test_nothing_is_detectable_where_nothing_varies():
    assert np.isnan(detectable(np.zeros((30, 1)), singles(30))).all()
    assert np.isnan(detectable(hits(wins=3, losses=2), Clusters(np.zeros(5, int), by="gold"))).all()
