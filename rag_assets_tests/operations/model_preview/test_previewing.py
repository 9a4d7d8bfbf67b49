"""A preview refuses what the gate could not pass, and nothing else; what it embeds is kept."""

import json
import shutil
from argparse import Namespace

import pytest

from rag_assets import config as configuration
from rag_assets.evaluation.gold import DocumentGold
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.projection import GoldItems, IndexedGold, RankedUnit
from rag_assets.evaluation.questions import Question, read_questions
from rag_assets.evaluation.scores import units_of
from rag_assets.operations.model_preview import units as preview_pool
from rag_assets.operations.model_preview.previewing import NoPreviewError, preview
from rag_assets.operations.model_preview.units import (
    GoldUnits,
    codes_of,
    gold_units_of,
    units_to_embed,
)
from rag_assets.operations.serving_index.promotion import promote_refreshed
from rag_assets.retrieval.opening import open_index
from rag_assets.serving import cli
from rag_assets.serving.commands.variants import preview as command
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of
from rag_assets_testing.embedding import refresh_rows
from rag_assets_testing.faults.pipeline import build_index
from rag_assets_tests.operations.static_rows import QUESTIONS, ROWS, Made, make


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Made:
    """See `static_rows`."""
    return make(tmp_path_factory.mktemp("preview"))


def previewed(made: Made, variant: str, **retrieval: object):
    return preview(made.store, made.config(**retrieval), variant=variant, log=lambda _: None)


def true_hits(made: Made, variant: str, **retrieval: object) -> float:
    """hit@10 of a built variant."""
    config, store = made.config(**retrieval), made.store
    questions = read_questions(store)
    index = open_index(store, config, variant)
    table = index.search_many([one.text for one in questions], length=100)
    gold = [piece for one in questions for piece in one.gold]
    joint = set_of(store, config, variant).joint
    indexed = read_indexed_gold(store, config, variant=variant, joint=joint, gold=gold)
    hits = 0
    for question, ranking in zip(questions, units_of(table, count=len(questions)), strict=True):
        goal = indexed.items_at("gold", question.gold)
        assert goal is not None
        hits += any(goal.relevance(ranking)[1][:10])
    return hits / len(questions)


def test_a_model_that_cannot_reach_the_margin_is_refused_before_its_backfill(made):
    before = set_of(made.store, made.config(), "default")
    found = previewed(made, "worst")

    assert found.basis == "dense"
    assert found.is_refused
    assert found.bound < found.serving_hits - found.margin
    assert found.lost
    assert (found.difference.questions, found.left_out) == (QUESTIONS, 0)
    assert set_of(made.store, made.config(), "default") == before
    assert not made.store.exists(made.config().tables_of("worst").rows), "it is not half built"


def test_a_model_that_is_hardly_worse_goes_on(made):
    found = previewed(made, "alike")
    assert not found.is_worse
    assert found.bound >= found.serving_hits - found.margin


@pytest.mark.parametrize("retriever", ["baseline", "hybrid"])
def test_the_bound_holds_for_the_index_that_is_built_and_its_vectors_are_taken_over(
    made, monkeypatch, retriever
):
    monkeypatch.setattr(preview_pool, "ALWAYS_CHEAP", 0)
    variant = {"baseline": "half", "hybrid": "worse"}[retriever]
    found = previewed(made, variant, retriever=retriever)
    assert found.basis == {"baseline": "dense", "hybrid": "fused"}[retriever]
    assert found.embedded == found.pool < ROWS

    rest = refresh_rows(made.store, made.config(), variant=variant, log=lambda _: None)
    assert rest.embedded == ROWS - found.embedded
    build_index(made.config(), variant=variant)
    assert found.bound >= true_hits(made, variant, retriever=retriever)

    again = previewed(made, variant, retriever=retriever)
    assert (again.embedded, again.bound) == (0, found.bound)
    assert found.serving_hits == true_hits(made, "default", retriever=retriever)


def test_behind_a_reranker_it_only_warns(made):
    found = previewed(made, "worst", retriever="hybrid_reranked")
    assert found.basis == "dense alone"
    assert found.is_worse
    assert not found.is_refused


def test_it_warns_where_dense_search_alone_loses_though_the_retriever_may_not(made):
    found = previewed(made, "worst", retriever="hybrid")
    assert found.basis == "fused"
    assert not found.is_refused
    assert found.is_worse
    assert [each.metric for each in found.dense] == ["hit_rate@1", "hit_rate@10"]
    assert found.dense[1].candidate < found.dense[1].serving - found.margin
    assert not previewed(made, "alike", retriever="hybrid").is_worse


@pytest.mark.parametrize(("retriever", "is_seen"), [("hybrid", True), ("bm25", False)])
def test_it_says_that_the_gate_holds_only_what_the_gate_looks_at(made, retriever, is_seen):
    """A retriever of words alone asks no vectors, and the gate asks none beside it."""
    given = {"signals": [retriever]} if retriever == "bm25" else {"signals": ["dense", "bm25"]}
    found = previewed(made, "worst", retriever="own", retrievers={"own": given})
    assert found.is_worse
    said = "\n".join(command._lines(found))
    assert said.startswith("WARNING: worst is likely to find less by dense search alone")
    assert ("the gate holds it" in said) == is_seen


def test_ten_questions_warn_of_a_large_loss_and_decide_nothing_else(made, monkeypatch, capsys):
    monkeypatch.setattr(
        "rag_assets.serving.commands.variants.preview.yield_to_others", lambda: None
    )
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.home / "rag_assets.yaml"))
    ten = read_questions(made.store)[:10]
    monkeypatch.setattr(
        "rag_assets.operations.model_preview.previewing.read_questions", lambda _: ten
    )
    found = previewed(made, "worse", retriever="hybrid")
    assert found.is_worse
    said = "\n".join(command._lines(found))
    assert said.startswith("WARNING: worse is likely to find less by dense search alone")

    assert cli.main(["variants", "preview", "alike"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("OPEN")
    assert "Too few decide: 10 questions, of 109" in said


def test_a_sample_of_the_rest_tells_what_is_likely(made, monkeypatch):
    """The bound of a model that is spoiled says little where few units are embedded."""
    whole = previewed(made, "worse", retriever="hybrid")
    assert whole.likely == whole.dense, "the whole index was embedded"
    monkeypatch.setattr(preview_pool, "ALWAYS_CHEAP", 0)
    monkeypatch.setattr(preview_pool, "MOST_SHARE", 0.5)
    half = previewed(made, "worse", retriever="hybrid")
    assert half.pool < whole.pool
    truth, likely, most = (found[1].candidate for found in (whole.dense, half.likely, half.dense))
    assert likely <= most
    assert abs(likely - truth) < abs(most - truth)


def test_in_a_small_index_building_is_as_cheap(made, monkeypatch, capsys):
    monkeypatch.setattr(
        "rag_assets.serving.commands.variants.preview.yield_to_others", lambda: None
    )
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.home / "rag_assets.yaml"))
    assert cli.main(["variants", "preview", "alike"]) == 0
    assert "building costs about as much as a preview" in capsys.readouterr().out
    monkeypatch.setattr("rag_assets.operations.model_preview.previewing.ALWAYS_CHEAP", ROWS // 2)
    assert not previewed(made, "alike").is_small


def test_a_gate_with_another_metric_is_not_bounded(made):
    config = made.config()
    gate = config.gate.model_copy(update={"metric": "mrr@10"})
    other = config.model_copy(update={"gate": gate})
    found = preview(made.store, other, variant="worst", log=lambda _: None)
    assert found.basis == "dense alone"


@pytest.mark.parametrize(
    ("variant", "why"), [("json_rows", "not built yet"), ("both", "a model for each domain")]
)
def test_where_nothing_can_be_said_it_says_why(made, variant, why):
    with pytest.raises(NoPreviewError, match=why):
        previewed(made, variant)


def test_without_questions_there_is_no_preview(made, monkeypatch):
    monkeypatch.setattr(
        "rag_assets.operations.model_preview.previewing.read_questions", lambda _: []
    )
    with pytest.raises(NoPreviewError, match=r"evaluation\.questions"):
        previewed(made, "alike")


@pytest.mark.parametrize(
    ("variant", "code", "outcome"),
    [("worst", 1, "refused"), ("alike", 0, "open"), ("json_rows", 0, "none")],
)
def test_the_command_ends_as_a_script_needs_it(made, monkeypatch, variant, code, outcome):
    monkeypatch.setattr(
        "rag_assets.serving.commands.variants.preview.yield_to_others", lambda: None
    )
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.home / "rag_assets.yaml"))
    reply = command.run(Namespace(variant=variant))
    assert reply.code == code
    assert json.loads(json.dumps(reply.record))["outcome"] == outcome
    assert {"refused": "REFUSED", "open": "OPEN", "none": "No preview"}[outcome] in reply.text


def test_what_serves_is_what_the_pointer_says(made, tmp_path):
    shutil.copytree(made.home / "state", tmp_path / "state")
    here = {"state_dir": tmp_path / "state"}
    store = Store(tmp_path / "state")
    promote_refreshed(store, made.config().model_copy(update=here), log=lambda _: None)
    config = made.config(retriever="hybrid").model_copy(update=here)

    found = preview(store, config, variant="alike", log=lambda _: None)
    assert (found.serving, found.retriever, found.basis) == ("default", "hybrid", "fused")
    assert found.serving_hits == true_hits(made, "default"), "searched as it was promoted"


def unit(name: str, *pages: int) -> RankedUnit:
    return RankedUnit(name, "documents", f"{name[0]}.pdf", None, None, pages)


def test_a_pool_holds_all_gold_and_then_the_first_ranks_of_all_questions(monkeypatch):
    monkeypatch.setattr(preview_pool, "ALWAYS_CHEAP", 5)
    goal = GoldItems("page", (), ())
    gold = [GoldUnits(None, goal, {"a1": unit("a1")}), GoldUnits(None, goal, {"b1": unit("b1")})]
    near = [[unit("c1"), unit("c2"), unit("c3")], [unit("a1"), unit("d1"), unit("d2")]]
    assert [*units_to_embed(gold, near, units=5)] == ["a1", "b1", "c1", "c2", "d1"]
    assert [*units_to_embed(gold, near, units=20)] == ["a1", "b1"], "half is for a sample"
    assert len(units_to_embed(gold, near, units=1_000)) == 7


def test_what_a_search_leaves_out_is_neither_gold_nor_in_the_way():
    gold = (DocumentGold("old.pdf"), DocumentGold("new.pdf"))
    asked = Question("s/1", "s", "how strong?", "document", "en", "dev", gold)
    keys = [("documents", "old.pdf"), ("documents", "new.pdf")]
    indexed = IndexedGold(
        documents={uri: [key] for key in keys for _, uri in [key]},
        pages={key: {f"{key[1]}-1": [1]} for key in keys},
        quotes={},
        rows={},
        reasons={},
    )
    [(_, every)] = gold_units_of([asked], indexed)
    [(_, current)] = gold_units_of([asked], indexed, left_out=keys[:1])
    assert {*every.units} == {"old.pdf-1", "new.pdf-1"}
    assert {*current.units} == {"new.pdf-1"}
    assert gold_units_of([asked], indexed, left_out=keys) == []


def test_units_count_as_the_items_that_a_ranking_counts():
    units = [unit("a1", 3, 4), unit("a2", 3), unit("a3", 4), unit("b1", 3)]
    assert codes_of(units, "page").tolist() == [0, 0, 1, 2]
    assert codes_of(units, "document").tolist() == [0, 0, 0, 1]
