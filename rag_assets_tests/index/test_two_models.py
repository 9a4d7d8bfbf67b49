"""An embedding model for each domain: no joint list of vectors, and all else as with one model."""

import json
import re

import pytest

from rag_assets.config import Config, Variant
from rag_assets.index.checks import subjects
from rag_assets.retrieval.encoders import TwoModelsError
from rag_assets.retrieval.opening import open_index
from rag_assets.serving.cli import main
from rag_assets.store import Store
from rag_assets.store.complete_sets import file_of, set_of
from rag_assets_testing import small_project
from rag_assets_tests.index.corpus import VARIANT, put_chunks, put_rows, texts
from rag_assets_tests.index.test_hosted_index import refreshed
from rag_assets_tests.models.tiny import save_tiny_model
from rag_assets_tests.quality.judging import failures, judged

BOTH = {"document": "wide", "table": "tiny"}
ROWS = [f"Item in Steel grades where grade is S{n} and fuel is {n % 3}." for n in range(200, 210)]
QUERY = "fuel cell S204"


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, dict[str, object]]:
    """Three of random weights, two of which share theirs."""
    folder = tmp_path_factory.mktemp("models")
    plain = {"engine": "torch", "precision": "fp32"}
    tiny = plain | {"path": str(save_tiny_model(folder / "tiny"))}
    wide = plain | {"path": str(save_tiny_model(folder / "wide", seed=1, dimension=64))}
    return {"wide": wide, "tiny": tiny, "tiny_40": tiny | {"max_tokens": 40}}


def config_of(folder, models: dict[str, dict[str, object]], model: object) -> Config:
    return Config.model_validate(
        {
            "state_dir": folder,
            "models": models,
            "variants": {VARIANT: {"model": model}},
        }
    )


def filled(config: Config) -> Config:
    store = Store(config.state_dir)
    put_chunks(store, config, texts(12))
    put_rows(store, config, ROWS)
    refreshed(config)
    return config


@pytest.fixture(scope="module")
def config(tmp_path_factory, models) -> Config:
    return filled(config_of(tmp_path_factory.mktemp("both"), models, BOTH))


def index_of(config: Config):
    return open_index(Store(config.state_dir), config, VARIANT)


def test_each_domain_has_vectors_of_its_own_model_and_the_joint_table_none(config):
    store, names = Store(config.state_dir), config.tables_of(VARIANT)

    assert store.schema(names.documents).field("vector").type.list_size == 64
    assert store.schema(names.rows).field("vector").type.list_size == 32
    assert "vector" not in store.schema(names.joint).names
    assert store.count(names.joint) == 22
    found = set_of(store, config, VARIANT)
    assert (found.model, found.row_model) == ("wide", "tiny")


def test_what_a_reranker_orders_comes_from_both_domains_searched_apart(config):
    """There is no joint list by vectors, and the first units of each list are read all the same."""
    ranking = index_of(config).search(QUERY, retriever="reranked", top_k=20).ranking
    stages = ranking.stages()
    for domain in BOTH:
        for signal in ("dense", "bm25"):
            first = stages[f"candidates/{domain}/{signal}"].unit_ids[:5]
            assert {*first} <= {*ranking.unit_ids}


@pytest.mark.parametrize("retriever", ["late_fusion", "hybrid_late_fusion"])
def test_each_domain_is_searched_as_with_its_model_alone(config, models, tmp_path, retriever):
    ranking = index_of(config).search(QUERY, retriever=retriever).ranking
    for domain, model in BOTH.items():
        alone = index_of(filled(config_of(tmp_path / model, models, model)))
        whole = alone.search(QUERY, retriever=retriever).ranking
        [stage] = {domain, f"candidates/{domain}"} & {*ranking.stages()}
        assert ranking.stages()[stage].entries == whole.stages()[stage].entries
    assert {unit for arm in ranking.arms.values() for unit in arm.unit_ids} >= {*ranking.unit_ids}


def test_words_are_searched_in_the_joint_list(config, models, tmp_path):
    plain = index_of(filled(config_of(tmp_path, models, "tiny")))
    both = index_of(config)
    one, two = (index.search(QUERY, retriever="bm25").ranking for index in (plain, both))
    assert two.entries == one.entries
    many = both.search_many([QUERY, "fatigue"], retriever="bm25", top_k=3)
    assert many.num_rows == 5


@pytest.mark.parametrize(
    "retriever", ["baseline", "hybrid", "simple_fusion", "fast", "best", "near", "unscaled"]
)
def test_what_compares_vectors_of_both_is_refused_and_what_works_is_named(config, retriever):
    near = {"signals": ["bm25"], "collapse": {"near": 0.9}}
    simple = {"mode": "simple"}
    unscaled = {"signals": ["dense", "bm25"], "signal_fusion": simple, "domain_fusion": simple}
    config = Config.from_record(
        config.model_dump() | {"retrieval": {"retrievers": {"near": near, "unscaled": unscaled}}}
    )
    with pytest.raises(TwoModelsError, match="wide and tiny") as refused:
        index_of(config).search(QUERY, retriever=retriever)
    named = str(refused.value).partition("fuses the domains: ")[2].split(", ")
    works = {"bm25", "late_fusion", "hybrid_late_fusion", "weighted_fusion"}
    assert works | {"reranked", "hybrid_reranked"} <= {*named}
    refused = {"best", "fast", "unscaled", "baseline", "hybrid", "simple_fusion", "near"}
    assert not refused & {*named}


def test_one_model_named_twice_is_one_model():
    twice = Variant.model_validate({"model": {"document": "minilm", "table": "minilm"}})
    assert twice == Variant(model="minilm")
    assert twice.model_dump() == Variant(model="minilm").model_dump()


def test_another_model_of_rows_leaves_the_documents_alone(config, models):
    other = config_of(config.state_dir, models, BOTH | {"table": "tiny_40"})
    before, after = config.tables_of(VARIANT), other.tables_of(VARIANT)
    assert after.documents == before.documents
    assert (after.rows, after.joint) != (before.rows, before.joint)

    answering = open_index(Store(config.state_dir), other, VARIANT)
    now, then = (
        one.search(QUERY, retriever="late_fusion") for one in (answering, index_of(config))
    )
    assert now.ranking.entries == then.ranking.entries, "the last complete set answers"


def test_the_record_of_one_model_names_none_of_rows(models, tmp_path):
    config = filled(config_of(tmp_path, models, "tiny"))
    record = json.loads(file_of(Store(config.state_dir), VARIANT).read_text())
    assert (record["row_model"], record["row_settings"]) == (None, None)


def test_the_checks_judge_each_domain_by_its_own_encoder(config):
    for asset in ("chunk_vectors", "row_vectors", "joint_index"):
        judge = judged(subjects(config), Store(config.state_dir), asset=asset, variant=VARIANT)
        assert failures(judge) == {}


def test_a_project_with_two_models_is_built_judged_measured_and_searched(
    tmp_path, models, monkeypatch, capsys
):
    home = small_project.make(tmp_path)
    file = home / "rag_assets.yaml"
    text = file.read_text().replace(
        "model: minilm}\n  json_rows",
        "model: {document: tiny, table: tiny_40}}\n  json_rows",
    )
    retrievers = "retrievers: [baseline, bm25, late_fusion]"
    text = text.replace("evaluation:\n", f"evaluation:\n  {retrievers}\n")
    text = re.sub("  json_rows: .*\n", "", text)
    file.write_text(f"{text}models: {json.dumps(models)}\n")
    monkeypatch.chdir(home)

    assert main(["refresh", "--json"]) == 0
    refresh = json.loads(capsys.readouterr().out)
    assert refresh["checks"]["failed"] == []
    assert main(["search", "salt", "--retriever", "late_fusion", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"]
    assert main(["search", "salt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["retriever"] == "reranked"
    assert main(["search", "salt", "--retriever", "fast"]) == 1
    assert "Use a retriever that fuses the domains: bm25, " in capsys.readouterr().err
    questions = ["evaluate", "--questions", "questions.jsonl", "--json"]
    assert main(questions) == 0
    said = capsys.readouterr()
    assert "not measured with baseline" in said.err
    assert json.loads(said.out)["retrievers"] == ["reranked", "bm25", "late_fusion"]
    assert main([*questions, "--retriever", "baseline"]) == 1
    assert "tiny and tiny_40" in capsys.readouterr().err
    assert main(["status"]) == 0
