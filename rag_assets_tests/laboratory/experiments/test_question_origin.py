"""Generated sets order retrievers as people's questions do, or they are smoke tests."""

import json
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from scipy.stats import kendalltau

from rag_assets.config import Config
from rag_assets.config.experiments import experiments_of
from rag_assets.evaluation.experiment_runs import RECORD, RunRecord
from rag_assets.evaluation.gold import DocumentGold
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.smoke_tests import proofs, smoke_tests
from rag_assets.laboratory.experiments.question_origin import METRIC, order_tables, set_orders
from rag_assets.laboratory.experiments.runs import folder_of
from rag_assets.store import Store

ARMS = [f"arm{place}" for place in range(8)]
GENERATED = ("from_documents", "from_tables", "known_items")


def scores(means, *, count=120, seed=0):
    """Scores of each set's questions: noise around the mean of each arm."""
    drawn = np.random.default_rng(seed)
    rows = []
    for name, of_arms in means.items():
        noise = drawn.normal(0, 0.3, size=(count, 1)) + drawn.normal(0, 0.1, (count, len(ARMS)))
        for arm, mean, own in zip(ARMS, of_arms, noise.T, strict=True):
            rows += [
                {
                    "retriever": arm,
                    "question_id": f"{name}/{place:03}",
                    "question": f"question {place}",
                    METRIC: mean + value,
                    "source_cluster": f"document {place // 2}",
                    "gold_cluster": f"page {place}",
                }
                for place, value in enumerate(own)
            ]
    return pa.Table.from_pylist(rows)


def orders_of(means, **settings):
    found = set_orders(scores(means, **settings), generated=GENERATED, samples=500, margin=0.02)
    return {one.question_set: one for one in found}


RISING = np.linspace(0.3, 0.65, len(ARMS))


def test_a_set_that_orders_as_people_do_may_gate_and_one_that_turns_it_round_may_not():
    found = orders_of({"own": RISING, "from_documents": RISING + 0.2, "from_tables": RISING[::-1]})

    assert found["from_documents"].tau == pytest.approx(1)
    assert found["from_documents"].is_shown
    assert found["from_tables"].tau == pytest.approx(-1)
    assert not found["from_tables"].is_shown
    assert found["from_documents"].of_people == 120


def test_a_set_that_puts_another_arm_first_may_not_gate_though_the_orders_are_alike():
    turned = RISING.copy()
    turned[5] = 0.9
    one = orders_of({"own": RISING, "from_documents": turned})["from_documents"]

    assert one.low > 0
    assert one.loss > one.margin
    assert not one.is_shown
    assert "what it puts first loses" in one.says


def test_known_items_never_gate():
    one = orders_of({"own": RISING, "known_items": RISING})["known_items"]

    assert one.low > 0
    assert not one.is_shown
    assert "favour search by words" in one.says


def test_a_set_that_tells_arms_apart_by_chance_alone_is_not_shown():
    found = orders_of({"own": RISING, "from_documents": np.full(len(ARMS), 0.5)})

    one = found["from_documents"]
    assert one.low < 0 < one.high
    assert "smoke test" in one.says


@pytest.mark.parametrize(("arms", "may_gate"), [(2, False), (3, False), (4, True)])
def test_a_few_arms_are_in_the_same_order_by_chance(arms, may_gate):
    few = pc.is_in(pc.field("retriever"), pa.array(ARMS[-arms:]))
    table = scores({"own": RISING, "from_documents": RISING}).filter(few)
    [one] = set_orders(table, generated=GENERATED, samples=500, margin=0.02)

    assert one.tau == pytest.approx(1)
    assert one.low > 0
    assert one.is_shown == may_gate
    assert ("random orders of these arms agree as much" in one.says) != may_gate


def test_few_questions_show_nothing_whatever_their_order():
    found = orders_of({"own": RISING, "from_documents": RISING}, count=12)

    one = found["from_documents"]
    assert one.tau > 0.8
    assert (one.low, one.is_shown) == (None, False)


def test_without_questions_of_people_there_is_nothing_to_hold_a_set_against():
    assert orders_of({"from_documents": RISING}) == {}


def test_tau_is_kendalls_b_and_the_interval_holds_it():
    means = {"own": RISING, "from_documents": RISING[[1, 0, 3, 2, 4, 5, 7, 6]]}
    table = scores(means)
    [one] = set_orders(table, generated=GENERATED, samples=500, margin=0.02)

    both = ([each[arm] for arm in ARMS] for each in (one.means, one.means_of_people))
    assert one.tau == pytest.approx(kendalltau(*both, variant="b").statistic)
    assert -1 <= one.low <= one.tau <= one.high <= 1


def test_ties_are_neither_agreement_nor_disagreement():
    tied = {"own": np.repeat([0.2, 0.6], 4), "from_documents": RISING}
    table = scores(tied)
    places = {name: place for place, name in enumerate(table.column_names)}
    flat = np.array(
        [
            tied[key.partition("/")[0]][ARMS.index(arm)]
            for key, arm in zip(
                table["question_id"].to_pylist(), table["retriever"].to_pylist(), strict=True
            )
        ]
    )
    table = table.set_column(places[METRIC], METRIC, pa.array(flat))
    [one] = set_orders(table, generated=GENERATED, samples=100, margin=0.02)

    assert one.tau == pytest.approx(kendalltau(tied["own"], RISING, variant="b").statistic)


def test_the_report_shows_both_orders_and_a_verdict():
    found = orders_of({"own": RISING, "known_items": RISING[::-1]})
    side_by_side, verdicts = order_tables([*found.values()])

    assert len(side_by_side.rows) == len(ARMS)
    assert side_by_side.rows[0]["questions of people"].startswith("arm7 ")
    assert side_by_side.rows[0]["known_items"].startswith("arm0 ")
    assert verdicts.rows[0]["says"].startswith("smoke test")


def asked(name, places):
    return [
        Question(
            question_id=f"{name}/{place:03}",
            question_set=name,
            text=f"question {place}",
            domain="document",
            language="en",
            split="test",
            gold=(DocumentGold("a.md"),),
        )
        for place in places
    ]


EXPERIMENTS = ("origin", "origin_again")


def keep_run(store, experiment, *, at, means, count=100):
    """Keep a run of an experiment, by the means of each set."""
    table = scores(means, count=count)
    record = RunRecord(
        **dict.fromkeys(("made_from", "title", "source"), "any"),
        **dict.fromkeys(("split", "level", "criterion", "reference"), "any"),
        **{key: {} for key in ("questions", "chosen", "settings", "versions", "variants", "arms")},
        **dict.fromkeys(("finalists", "notes"), ()),
        id=at,
        evaluated_at=at,
        name=experiment,
        margin=0.02,
        orders=set_orders(table, generated=GENERATED, samples=200, margin=0.02),
    )
    folder = folder_of(store, experiment, at)
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "scores.parquet")
    (folder / RECORD).write_text(json.dumps(asdict(record)))


@pytest.fixture
def shown(tmp_path):
    """Store and config: the newest run showed it of `from_documents`, on 100 questions."""
    experiment = experiments_of("question_origin").model_validate({"design": "question_origin"})
    experiments = dict.fromkeys(EXPERIMENTS, experiment)
    config = Config(state_dir=tmp_path).model_copy(update={"experiments": experiments})
    store = Store(tmp_path)
    keep_run(store, "origin", at="2026-01-01", means={"own": RISING, "from_documents": RISING})
    return store, config


def test_generated_sets_are_smoke_tests_unless_they_were_shown(shown):
    questions = [
        *asked("own", [1]),
        *asked("from_documents", range(100)),
        *asked("known_items", [1]),
    ]

    assert smoke_tests(*shown, questions) == ["known_items"]
    without = (shown[0], Config())
    assert smoke_tests(*without, questions) == ["from_documents", "known_items"]


@pytest.mark.parametrize(("places", "holds"), [(range(95), True), (range(89), False)])
def test_what_was_shown_of_a_set_holds_while_most_of_its_questions_are_the_same(
    shown, places, holds
):
    found = smoke_tests(*shown, asked("from_documents", places))

    assert (found == []) == holds


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_newest_run_on_a_set_counts_whichever_experiment_it_is_of(shown, experiment):
    turned = {"own": RISING, "from_documents": RISING[::-1]}
    keep_run(shown[0], experiment, at="2026-01-02", means=turned)

    assert smoke_tests(*shown, asked("from_documents", range(100))) == ["from_documents"]


def test_a_run_on_other_questions_takes_nothing_from_what_was_shown(shown):
    turned = {"own": RISING, "from_documents": RISING[::-1]}
    keep_run(shown[0], "origin", at="2026-01-02", means=turned, count=40)

    assert smoke_tests(*shown, asked("from_documents", range(100))) == []
    assert smoke_tests(*shown, asked("from_documents", range(40))) == ["from_documents"]


def test_each_run_is_another_state_of_what_is_shown(shown):
    before = proofs(*shown)
    keep_run(shown[0], "origin", at="2026-01-02", means={"own": RISING, "from_documents": RISING})

    assert proofs(*shown) == ["2026-01-02", *before]
    assert proofs(shown[0], Config()) == []
