"""A run ends within one call of its budget, and what was done stays."""

import pytest

from rag_assets.models.language.opening import open_language_model
from rag_assets_testing.scripted_language_model import ScriptedServer, answers
from rag_assets_tests.models.language.conftest import config_of, request

QUESTIONS = [request(f"question {number}") for number in range(40)]
PRICES = {"per_million_prompt": 1_000.0, "per_million_completion": 2_000.0, "currency": "EUR"}


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize(
    ("budget", "calls"), [({"max_tokens": 150}, 10), ({"max_cost": 0.1}, 5), ({}, 40)]
)
def test_a_budget_ends_a_run_within_one_call(tmp_path, concurrency, budget, calls):
    behaviour = answers("Yes.", prompt_tokens=10, completion_tokens=5).after(0.01)
    with ScriptedServer(behaviour) as server:
        config = config_of(server.url, concurrency=concurrency, budget=budget, price=PRICES)
        with open_language_model(config, state=tmp_path) as model:
            found = model.complete_all(QUESTIONS)
        assert server.calls == calls
        outcomes = [one.outcome for one in found]
        assert outcomes.count("done") == calls
        assert outcomes.count("over_budget") == len(QUESTIONS) - calls
        with open_language_model(config, state=tmp_path) as model:
            again = model.complete_all(QUESTIONS)
        assert sum(one.is_kept for one in again) == calls
        assert sum(one.outcome == "done" for one in again) == min(2 * calls, 40)


def test_what_is_kept_is_given_after_the_budget_is_spent(tmp_path):
    with ScriptedServer(answers("Yes.")) as server:
        config = config_of(server.url, budget={"max_tokens": 1})
        with open_language_model(config, state=tmp_path) as model:
            assert model.complete(QUESTIONS[0]).outcome == "done"
            assert model.complete(QUESTIONS[1]).outcome == "over_budget"
            assert model.complete(QUESTIONS[0]).outcome == "done"


def test_the_record_tells_what_was_used_and_what_failed(tmp_path):
    script = [answers("Yes."), answers("")]
    with ScriptedServer(script) as server:
        config = config_of(server.url, price=PRICES, concurrency=1)
        with open_language_model(config, state=tmp_path) as model:
            model.complete_all(QUESTIONS[:2])
            record = model.spending.record()
    assert record["language model calls"] == 2
    assert record["tokens read"] == 20
    assert record["cost [EUR]"] == pytest.approx(0.04)
    assert record["calls empty"] == 1
