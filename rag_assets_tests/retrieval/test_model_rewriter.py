"""Queries that a language model rewrites: a real client against a scripted server."""

import gc
import json
import time

import pytest

from rag_assets.config import Config, QueryFusion, Retriever
from rag_assets.models.hosted import Patience
from rag_assets.models.language import prompts
from rag_assets.models.language.client import LanguageModelClient
from rag_assets.retrieval import model_rewriter
from rag_assets.retrieval.model_rewriter import RewritingModels, UnwrittenError, request_of
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.rewriters import RewritesError
from rag_assets_testing.scripted_language_model import (
    ScriptedServer,
    answers,
    cut,
    empty,
    ends_by,
    slow,
    status,
)
from rag_assets_tests.retrieval.corpus import VARIANT
from rag_assets_tests.retrieval.test_retrievers import UNITS, HashEncoder, build

QUERY = "strength of nickel"
STRATEGIES = ("conservative", "precise", "diverse")


def rewrites(*texts):
    return answers(json.dumps({"rewrites": texts}))


def by_model(**settings):
    fusion = {"rewriter": "model", **settings}
    return Retriever.model_validate({"signals": ["bm25"], "query_fusion": fusion})


PLAIN = Retriever(signals=["bm25"])


@pytest.fixture
def opened(tmp_path):
    """Opens an index whose queries the model behind a server rewrites."""
    store, config = build(tmp_path, units=UNITS)

    def open_with(server, **settings):
        entry = {"base_url": server.url, "model": server.model, "attempts": 1, **settings}
        models = Config.model_validate({"language_models": {"writer": entry}}).language_models
        with_models = config.model_copy(update={"language_models": models})
        return open_index(store, with_models, VARIANT, encoder=HashEncoder())

    return open_with


def ids(results):
    return [hit.unit_id for hit in results]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_request_holds_the_query_and_no_text_of_a_source(strategy):
    request = request_of("price $5 of ${steel}?", strategy=strategy)

    [message] = request.messages
    assert message.content.endswith("price $5 of ${steel}?")
    assert request.sources == frozenset()
    others = {
        request_of("price $5 of ${steel}?", strategy=other).messages[0].content
        for other in STRATEGIES
    }
    assert len(others) == 3


def test_what_a_model_writes_is_searched_too_and_asked_once(opened):
    with ScriptedServer(rewrites("corrosion of weld")) as server:
        found = opened(server).search(QUERY, retriever=by_model())
        again = opened(server).search(QUERY, retriever=by_model())
        other = opened(server).search(QUERY, retriever=by_model(strategy="diverse"))

        assert server.calls == 2
    assert found.rewritten.texts == ["corrosion of weld"]
    assert {"q1/bm25", "q2/bm25"} <= set(found.ranking.stages())
    assert ids(found) == ids(again) == ids(other)
    assert found.rewritten.kept_seconds == 0 < again.rewritten.kept_seconds


def test_the_first_rewrite_that_differs_from_the_query_is_taken(opened):
    written = rewrites(" Strength  OF nickel", "...", "alloy \ud800", "weld", "steel")
    with ScriptedServer(written) as server:
        found = opened(server).search(QUERY, retriever=by_model())

    assert found.rewritten.texts == ["alloy ?"]


def test_a_rewrite_of_endless_length_is_left_out(opened):
    endless = "strength " * 100_000
    with ScriptedServer(rewrites(endless, "yield point of nickel")) as server:
        found = opened(server).search(QUERY, retriever=by_model())
    assert found.rewritten.texts == ["yield point of nickel"]
    assert server.calls == 1


def test_a_model_that_repeats_the_query_adds_nothing(opened):
    with ScriptedServer(rewrites(QUERY)) as server:
        index = opened(server)
        found = index.search(QUERY, retriever=by_model())

    assert (found.rewritten.texts, found.rewritten.failure) == ([], "")
    assert ids(found) == ids(index.search(QUERY, retriever=PLAIN))


FAULTS = {
    "unavailable": status(500),
    "cut": cut('{"rewrites": ["nick'),
    "empty": empty(),
    "malformed": answers("weld, nickel"),
    "refused": ends_by("content_filter"),
}


@pytest.mark.parametrize("outcome", FAULTS)
def test_a_query_that_a_model_fails_is_searched_alone_and_says_so(opened, caplog, outcome):
    with ScriptedServer(FAULTS[outcome]) as server:
        index = opened(server)
        found = index.search(QUERY, retriever=by_model())

    assert ids(found) == ids(index.search(QUERY, retriever=PLAIN))
    assert f"the language model writer gave no rewrites ({outcome}: " in found.rewritten.failure
    assert found.rewritten.failure in caplog.text


def test_a_server_that_is_not_there_fails_no_search(opened):
    with ScriptedServer() as server:
        pass
    index = opened(server)

    found = index.search(QUERY, retriever=by_model(anchor=None))

    assert ids(found) == ids(index.search(QUERY, retriever=PLAIN))


@pytest.mark.parametrize("script", [slow(30), status(429, Retry_After="30")])
def test_a_search_waits_less_than_a_measurement(opened, monkeypatch, script):
    monkeypatch.setattr(model_rewriter, "QUERY_PATIENCE", Patience(0.3, 2, pause=0.1))
    with ScriptedServer(script) as server:
        started = time.monotonic()
        found = opened(server, attempts=6).search(QUERY, retriever=by_model())
        took = time.monotonic() - started

    assert "unavailable" in found.rewritten.failure
    assert took < 5


def test_queries_of_a_measurement_are_asked_side_by_side(opened):
    queries = [f"steel {number}" for number in range(8)]
    with ScriptedServer(rewrites("nickel").after(0.1)) as server:
        ranked = opened(server).rank([*queries, queries[0]], retriever=by_model())
        again = opened(server).rank(queries, retriever=by_model())

        assert (server.calls, server.at_once) == (8, 4)
    assert ranked.work["not_rewritten"] == 0
    assert [one.unit_ids for one in again.rankings] == [one.unit_ids for one in ranked.rankings[:8]]


def test_nothing_is_measured_while_the_model_is_away_and_nobody_waits_for_long(opened):
    queries = [f"steel {number}" for number in range(200)]
    with ScriptedServer(status(503)) as server:
        with pytest.raises(UnwrittenError, match=r"200 of 200 queries: .*writer.*measure again"):
            opened(server).search_many(queries, retriever=by_model())

        assert server.calls == 1

        server.script = [rewrites("nickel")] * 2 + [status(503)]  # it goes away in between
        server.requests.clear()
        with pytest.raises(UnwrittenError, match="198 of 200 queries"):
            opened(server).search_many(queries, retriever=by_model())
        assert server.calls == 1 + model_rewriter.AT_ONCE


def test_a_measurement_goes_on_where_the_budget_ended(opened):
    queries = [f"steel {number}" for number in range(6)]
    with ScriptedServer(rewrites("nickel")) as server:
        poor = {"budget": {"max_tokens": 45}, "concurrency": 1}  # three calls of 15 tokens
        for calls in (3, 6):
            with pytest.raises(UnwrittenError, match="over_budget"):
                opened(server, **poor).rank([*queries, "and more"], retriever=by_model())
            assert server.calls == calls
        opened(server).rank(queries, retriever=by_model())
        assert server.calls == 6


def test_what_a_model_fails_for_good_counts_in_a_measurement(opened):
    def fails(body):
        return answers("no JSON") if "lead" in body["messages"][0]["content"] else rewrites("weld")

    with ScriptedServer(fails) as server:
        index = opened(server)
        ranked = index.rank([QUERY, "lead"], retriever=by_model())
        with pytest.raises(UnwrittenError, match="name another model"):
            index.rank(["lead"], retriever=by_model())

    assert ranked.work["not_rewritten"] == 1


def identity(config, tmp_path, **settings):
    fusion = QueryFusion.model_validate({"rewriter": "model", **settings})
    return RewritingModels(config, state=tmp_path).identity(fusion)


def named(server, **settings):
    entry = {"base_url": server.url, "model": server.model, **settings}
    return Config.model_validate({"language_models": {"writer": entry, "other": entry}})


def test_another_prompt_strategy_or_model_is_another_rewriter(tmp_path, monkeypatch):
    with ScriptedServer() as server, ScriptedServer(stated={"root": "weights-2"}) as other:
        config = named(server)
        base = identity(config, tmp_path)
        found = {
            "same": identity(config, tmp_path, model="other"),
            "strategy": identity(config, tmp_path, strategy="precise"),
            "weights": identity(named(other), tmp_path),
            "temperature": identity(named(server, temperature=1), tmp_path),
        }
        edited = prompts.Prompt("rewrite_conservative", 2, "$count of $query", "another hash")
        monkeypatch.setattr(model_rewriter, "read_prompt", lambda *_: edited)
        found["prompt"] = identity(config, tmp_path)
        assert server.calls == other.calls == 0
    monkeypatch.undo()

    assert found.pop("same") == base == identity(config, tmp_path)  # the servers are away by now
    assert len({base, *found.values()}) == 5
    assert RewritingModels(config, state=tmp_path).identity(QueryFusion()) is None


def test_an_index_tells_its_state_with_the_model(opened):
    with ScriptedServer(rewrites("weld")) as server:
        index = opened(server)
        states = [index.state(by_model(strategy=strategy)) for strategy in STRATEGIES]

        assert len({repr(state) for state in states}) == 3
        assert index.state(PLAIN) == states[0][:1]


def test_models_are_closed_with_the_index(opened, monkeypatch):
    closed = []
    close = LanguageModelClient.close
    monkeypatch.setattr(
        LanguageModelClient, "close", lambda client: (closed.append(client.name), close(client))
    )
    with ScriptedServer(rewrites("weld")) as server:
        index = opened(server)
        index.search(QUERY, retriever=by_model())
        plain = index.without_cache()
        del index
        gc.collect()
        assert closed == []
        plain.search(QUERY, retriever=by_model())
        del plain
        gc.collect()
        assert closed == ["writer"]


def test_a_model_that_the_config_lacks_is_named(opened):
    with ScriptedServer() as server:
        index = opened(server)
        with pytest.raises(RewritesError, match=r"'poet'.*writer"):
            index.search_many([QUERY], retriever=by_model(model="poet"))
        found = index.search(QUERY, retriever=by_model(model="poet"))

    assert "'poet'" in found.rewritten.failure  # a retriever that serves may outlive its model
    assert ids(found) == ids(index.search(QUERY, retriever=PLAIN))
