"""The gate looks at what another model finds by itself, where words hide it."""

import json
import shutil
from dataclasses import replace

import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.operations.gate.compared_rankings import Side
from rag_assets.operations.gate.judging import judge
from rag_assets.operations.gate.verdict_wording import verdict_markdown, verdict_text
from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.operations.serving_index import candidates
from rag_assets.operations.serving_index.promotion import promote_refreshed
from rag_assets.serving import cli
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet, set_of
from rag_assets_testing.embedding import refresh_rows
from rag_assets_testing.faults.pipeline import build_index
from rag_assets_tests.operations.static_rows import QUESTIONS, Made, make

WORDS = {"mode": "max_norm", "weights": {"dense": 0.05, "bm25": 0.95}}
BY_WORDS = {
    "retriever": "words",
    "retrievers": {"words": {"signals": ["dense", "bm25"], "signal_fusion": WORDS}},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Made:
    """See `static_rows`; two of its variants are built."""
    found = make(tmp_path_factory.mktemp("dense_alone"))
    for variant in ("alike", "worst", "both"):
        refresh_rows(found.store, found.config(), variant=variant, log=lambda _: None)
        build_index(found.config(), variant=variant)
    return found


def judged(made: Made, candidate: str, *, accepts_dense: bool = False, **retrieval) -> Verdict:
    config = made.config(**(retrieval or BY_WORDS))
    return judge(
        made.store,
        config,
        serving=set_of(made.store, config, "default"),
        candidate=set_of(made.store, config, candidate),
        accepts_dense=accepts_dense,
        log=lambda _: None,
    )


@pytest.fixture(scope="module")
def verdict(made) -> Verdict:
    """What the gate says of a spoiled model."""
    return judged(made, "worst")


def test_a_spoiled_model_is_held_though_words_hide_it(verdict):
    assert verdict.outcome == "HOLD"
    assert verdict.difference
    assert verdict.difference.outcome(verdict.margin or 0) == "PASS", "what serves hides it"
    assert verdict.dense
    assert verdict.dense.status == "is worse"
    assert verdict.dense.lost
    assert "Dense search alone finds less: hit_rate@10" in " ".join(verdict.reasons)
    assert "in other words than the text's" in " ".join(verdict.reasons)
    assert "promote worst --accept-dense" in verdict.remedy
    assert "--override" not in verdict.remedy


def test_old_and_new_stand_side_by_side(verdict):
    assert verdict.dense
    alone, serves = (
        {each.metric: each for each in measured}
        for measured in (verdict.dense.measured, verdict.measured)
    )
    assert list(alone) == list(serves) == ["hit_rate@1", "hit_rate@10", "mrr@10"]
    assert alone["hit_rate@10"].candidate < alone["hit_rate@10"].serving - 0.1
    assert alone["hit_rate@10"].difference.questions == QUESTIONS
    shown = f"{alone['hit_rate@1'].serving:.3f}", f"{alone['hit_rate@1'].candidate:.3f}"
    for text in (verdict_text(verdict), verdict_markdown(verdict)):
        [line] = [line for line in text.splitlines() if "dense alone" in line and "@1 " in line]
        assert line.index(shown[0]) < line.index(shown[1])
        assert "what serves (words)" in text
    assert "Questions on which dense search alone is worse" in verdict_text(verdict)


def test_it_passes_once_a_person_accepts_that(made):
    verdict = judged(made, "worst", accepts_dense=True)
    assert verdict.outcome == "PASS"
    assert verdict.dense
    assert verdict.dense.is_accepted
    assert "accepted" in " ".join(verdict.reasons)

    fine = judged(made, "alike", accepts_dense=True)
    assert fine.dense
    assert not fine.dense.is_accepted, "there was nothing to accept"


def test_a_model_that_is_hardly_worse_passes(made):
    verdict = judged(made, "alike")
    assert verdict.outcome == "PASS", verdict.reasons
    assert verdict.dense
    assert verdict.dense.status == "fine"


def test_where_dense_search_is_what_serves_it_is_not_asked_twice(made):
    verdict = judged(made, "worst", retriever="baseline")
    assert verdict.outcome == "FAIL"
    assert verdict.dense is None


def test_the_same_model_and_one_that_nobody_asks_are_not_compared(made):
    assert judged(made, "default", **BY_WORDS).dense is None
    assert judged(made, "worst", retriever="bm25").dense is None


def test_a_person_promotes_it_all_the_same_and_the_history_says_why(
    made, tmp_path, monkeypatch, capsys
):
    home = shutil.copytree(made.home, tmp_path / "home")
    file, moved = home / "rag_assets.yaml", {"state_dir": str(home / "state")}
    settings = yaml.safe_load(file.read_text()) | moved | {"retrieval": BY_WORDS}
    file.write_text(yaml.safe_dump(settings, sort_keys=False))
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(file))
    # its rows were put into the state without a source
    monkeypatch.setattr(candidates, "why_stale", lambda *_: None)
    config = configuration.load()
    promote_refreshed(Store.of(config), config, log=lambda _: None)

    assert cli.main(["variants", "promote", "worst"]) == 1
    said, wrong = capsys.readouterr()
    assert "Variant worst does not serve" in said, wrong
    assert "dense alone" in said
    accepted = ["--accept-dense", "people ask by words", "--json"]
    assert cli.main(["variants", "promote", "worst", *accepted]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert (reply["status"], reply["verdict"]) == ("moved", "PASS")
    assert reply["measured"][0]["searched by"] == "dense alone"

    assert cli.main(["variants", "history", "--json"]) == 0
    newest = json.loads(capsys.readouterr().out)["history"][0]
    assert (newest["variant"], newest["by"]) == ("worst", "promote")
    assert newest["reason"].endswith("which was accepted: people ask by words")
    assert "dense alone" in newest["found"]
    assert newest["measured"] == reply["measured"]
    assert cli.main(["variants", "history"]) == 0
    assert newest["found"] in capsys.readouterr().out


def test_a_verdict_survives_json(verdict):
    record = json.loads(json.dumps(verdict.to_json()))
    assert Verdict.from_json(record) == verdict


def test_a_verdict_of_an_earlier_release_is_read(verdict):
    record = json.loads(json.dumps(verdict.to_json()))
    del record["measured"], record["dense"]
    assert Verdict.from_json(record) == replace(verdict, measured=(), dense=None)


def test_signals_alone_find_units_where_each_domain_has_a_model(made):
    """No reranker orders them then, and without one scores of two models are not compared."""
    refresh_rows(made.store, made.config(), variant="both", log=lambda _: None)
    build_index(made.config(), variant="both")
    side = Side.of(made.store, made.config(retriever="reranked"), both_of(made))

    ranked = side.signals_alone().rankings(["steel copper zinc"], log=lambda _: None)

    assert ranked.num_rows


def both_of(made: Made) -> CompleteSet:
    """The index of the variant that has a model for each domain."""
    return set_of(made.store, made.config(), "both")


def test_an_evaluation_depends_on_the_signals_of_both_domains_where_each_has_a_model(made):
    refresh_rows(made.store, made.config(), variant="both", log=lambda _: None)
    build_index(made.config(), variant="both")
    found = both_of(made)
    side = Side.of(made.store, made.config(retriever="reranked"), found)
    chosen = side.config.retrieval.retrievers["reranked"]
    signals_of_tables = len(chosen.signals) * 2
    assert len(side.index.state(chosen)) == signals_of_tables
