import numpy as np
import pytest

from rag_assets.evaluation.intervals import (
    DIFFERENCES,
    SHARES,
    Clusters,
    cluster_bootstrap,
    clusters_of,
    exact_interval,
    standard_errors,
)


def singles(count: int) -> Clusters:
    return Clusters(np.arange(count), by="source")


def test_independent_questions_get_the_interval_of_the_normal_approximation() -> None:
    values = np.random.default_rng(1).random((400, 1))
    bounds = cluster_bootstrap(values, singles(400), samples=4_000)
    half = 1.96 * values.std() / np.sqrt(400)
    assert bounds.means[0] == pytest.approx(values.mean())
    assert bounds.low[0] == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert bounds.high[0] == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_questions_that_stand_or_fall_together_widen_the_interval() -> None:
    rng = np.random.default_rng(2)
    values = np.repeat(rng.random(40) < 0.6, 10).astype(float)[:, None]
    together = Clusters(np.repeat(np.arange(40), 10), by="source")
    clustered = cluster_bootstrap(values, together, samples=2_000)
    naive = cluster_bootstrap(values, singles(400), samples=2_000)
    widths = [bounds.high[0] - bounds.low[0] for bounds in (clustered, naive)]
    assert widths[0] / widths[1] == pytest.approx(np.sqrt(10), rel=0.15)


def test_intervals_hold_the_truth_about_95_times_in_100() -> None:
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(40), 5)
    held = 0
    for _ in range(300):
        values = (rng.normal(size=40)[codes] + rng.normal(size=200))[:, None]
        bounds = cluster_bootstrap(values, Clusters(codes, by="source"), samples=400)
        held += bounds.low[0] <= 0 <= bounds.high[0]
    assert 0.90 <= held / 300 <= 0.98


def test_the_same_seed_gives_the_same_interval() -> None:
    values = np.random.default_rng(4).random((50, 3))
    first, second = (cluster_bootstrap(values, singles(50), samples=100) for _ in range(2))
    assert np.array_equal(first.low, second.low)
    assert np.array_equal(first.high, second.high)


def test_drawing_in_blocks_keeps_the_number_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(5).random((50, 1))
    whole = cluster_bootstrap(values, singles(50), samples=100)
    monkeypatch.setattr("rag_assets.evaluation.intervals.DRAWN_AT_ONCE", 50 * 30)
    parts = cluster_bootstrap(values, singles(50), samples=100)
    assert parts.low == pytest.approx(whole.low)
    assert parts.high == pytest.approx(whole.high)


def test_one_cluster_has_no_interval() -> None:
    bounds = cluster_bootstrap(np.ones((5, 1)), Clusters(np.zeros(5, int), by="gold"), samples=10)
    assert bounds.means[0] == 1
    assert np.isnan(bounds.low[0])
    assert np.isnan(bounds.high[0])


def test_with_fewer_than_20_sources_the_gold_itself_clusters() -> None:
    sources = [f"table {number % 6}" for number in range(60)]
    gold = [f"row {number}" for number in range(60)]
    few = clusters_of(sources, gold)
    assert (few.by, few.count) == ("gold", 60)
    many = clusters_of([f"document {number % 20}" for number in range(60)], gold)
    assert (many.by, many.count) == ("source", 20)


def test_the_standard_error_of_single_questions_is_the_usual_one() -> None:
    values = np.random.default_rng(6).random((50, 2))
    expected = values.std(axis=0, ddof=1) / np.sqrt(50)
    assert standard_errors(values, singles(50)) == pytest.approx(expected)


def test_with_few_clusters_the_interval_is_that_of_student() -> None:
    values = np.random.default_rng(7).normal(size=(20, 1))
    bounds = cluster_bootstrap(values, singles(20), samples=20_000)
    half = 2.093 * values.std(ddof=1) / np.sqrt(20)
    assert bounds.high[0] - bounds.low[0] == pytest.approx(2 * half, rel=0.05)


def share_of(hits: np.ndarray, clusters: Clusters) -> tuple[float, float]:
    bounds = cluster_bootstrap(hits[:, None], clusters, samples=200, limits=SHARES)
    return float(bounds.low[0]), float(bounds.high[0])


def test_shares_of_independent_questions_have_the_exact_intervals_of_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint

    rng = np.random.default_rng(8)
    counts = rng.integers(2, 400, size=200)
    for place, count in enumerate(counts.tolist()):
        hits = (0, count)[place % 2] if place < 20 else int(rng.integers(0, count + 1))
        expected = proportion_confint(hits, count, alpha=0.05, method="beta")
        values = rng.permutation(np.arange(count) < hits).astype(float)
        assert share_of(values, singles(count)) == pytest.approx(expected, abs=1e-9)


def test_nine_of_nine_is_no_certainty() -> None:
    assert share_of(np.ones(9), singles(9)) == pytest.approx((0.664, 1.0), abs=0.001)


def test_a_share_of_clusters_is_worth_fewer_questions() -> None:
    rng = np.random.default_rng(9)
    codes = np.repeat(np.arange(30), 4)
    alike = np.repeat(rng.random(30) < 0.7, 4).astype(float)
    together, alone = (
        share_of(alike, clusters) for clusters in (Clusters(codes, by="source"), singles(120))
    )
    assert together[1] - together[0] > 1.7 * (alone[1] - alone[0])
    as_questions = exact_interval(alike[::4].sum(), of=30)
    assert together == pytest.approx(as_questions, abs=0.02)


def test_where_all_clusters_are_hit_each_counts_once() -> None:
    codes = np.repeat(np.arange(25), 4)
    found = share_of(np.ones(100), Clusters(codes, by="source"))
    assert found == pytest.approx(exact_interval(25, of=25))


def test_the_intervals_of_shares_hold_the_truth_at_least_95_times_in_100() -> None:
    rng = np.random.default_rng(10)
    codes = np.repeat(np.arange(25), 4)
    held = 0
    for _ in range(400):
        hard = rng.beta(9, 1, size=25)  # 9 in 10 are hit, in some documents more than in others
        low, high = share_of((rng.random(100) < hard[codes]).astype(float), Clusters(codes, "gold"))
        held += low <= 0.9 <= high
    assert held / 400 >= 0.93


def test_ten_questions_without_a_difference_rule_none_out() -> None:
    bounds = cluster_bootstrap(np.zeros((10, 1)), singles(10), samples=100, limits=DIFFERENCES)
    assert (bounds.low[0], bounds.high[0]) == pytest.approx((-0.308, 0.308), abs=0.001)
    won = cluster_bootstrap(np.ones((9, 1)), singles(9), samples=100, limits=DIFFERENCES)
    assert (won.low[0], won.high[0]) == pytest.approx((2 * 0.664 - 1, 1.0), abs=0.001)


def test_values_without_limits_that_are_all_equal_have_no_interval() -> None:
    bounds = cluster_bootstrap(np.full((9, 1), 7.0), singles(9), samples=100)
    assert np.isnan(bounds.low[0])
