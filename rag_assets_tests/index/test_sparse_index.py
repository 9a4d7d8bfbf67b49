"""Lexical weights beside the vectors: kept, reused, searched and fused."""

import numpy as np
import pytest

from rag_assets.config import Config, Fusion, Retriever
from rag_assets.models.embedding import load_encoder
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.sparse import MissingWeightsError
from rag_assets.store import Store
from rag_assets_testing.embedding import refresh_documents
from rag_assets_tests.index.corpus import VARIANT, put_chunks, put_rows, texts
from rag_assets_tests.index.test_hosted_index import refreshed
from rag_assets_tests.models.tiny import save_tiny_m3

ROWS = [f"Grade S{n} with fuel {n % 3}" for n in range(200, 210)]
QUERY = "fuel cell S204"
SPARSE = Retriever(signals=["sparse"])


@pytest.fixture(scope="module")
def m3(tmp_path_factory) -> str:
    return str(save_tiny_m3(tmp_path_factory.mktemp("m3") / "model"))


def config_of(folder, m3: str, **settings: object) -> Config:
    model = {"path": m3, "backend": "flag_embedding", "engine": "torch", "precision": "fp32"}
    return Config.model_validate(
        {
            "state_dir": folder,
            "models": {"m3": model | settings},
            "variants": {VARIANT: {"model": "m3"}},
        }
    )


@pytest.fixture(scope="module")
def config(tmp_path_factory, m3) -> Config:
    config = config_of(tmp_path_factory.mktemp("sparse"), m3, sparse=True)
    store = Store(config.state_dir)
    put_chunks(store, config, texts(12))
    put_rows(store, config, ROWS)
    refreshed(config)
    return config


def index_of(config: Config):
    return open_index(Store(config.state_dir), config, VARIANT)


def expected(config: Config, *, contents: list[str]) -> dict[str, float]:
    """The scores of all texts, by the model itself."""
    encoder = load_encoder(config.models["m3"], path="cpu/torch/fp32")
    [query] = encoder.weigh_queries([QUERY])
    weights = dict(zip(query.tokens.tolist(), query.weights.tolist(), strict=True))
    found = encoder.embed_passages(contents).sparse
    return {
        text: sum(
            weights.get(token, 0.0) * weight
            for token, weight in zip(one.tokens.tolist(), one.weights.tolist(), strict=True)
        )
        for text, one in zip(contents, found, strict=True)
    }


def test_the_best_units_are_those_of_the_largest_products(config):
    scores = expected(config, contents=[*texts(12), *ROWS])
    hits = index_of(config).search(QUERY, retriever=SPARSE, top_k=22).hits
    assert len(hits) == sum(score > 0 for score in scores.values())
    np.testing.assert_allclose(
        [hit.score for hit in hits], [scores[hit.text] for hit in hits], atol=1e-5
    )
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_batch_a_filter_and_a_cached_search_give_the_same(config):
    index = index_of(config)
    alone = index.search(QUERY, retriever=SPARSE, top_k=22).hits
    for _ in range(2):
        _, together = index.rank(["another", QUERY], retriever=SPARSE, top_k=22).rankings
        assert together.unit_ids == tuple(hit.unit_id for hit in alone)
        assert together.scores == tuple(hit.score for hit in alone)
    rows_only = index.search(
        QUERY, retriever=SPARSE, top_k=22, filters=Filters(domain="table")
    ).hits
    assert [hit.unit_id for hit in rows_only] == [
        hit.unit_id for hit in alone if hit.domain == "table"
    ]


def test_it_is_fused_with_the_other_signals(config):
    fused = Retriever(
        signals=["dense", "sparse", "bm25"],
        signal_fusion=Fusion(mode="max_norm", weights={"dense": 0.4, "sparse": 0.2}),
    )
    [ranking] = index_of(config).rank([QUERY], retriever=fused).rankings
    assert set(ranking.arms) == {"dense", "sparse", "bm25"}


def test_the_recipe_of_bge_m3_gives_each_unit_the_score_of_flag_embedding(config, m3):
    from FlagEmbedding import BGEM3FlagModel

    hits = index_of(config).search(QUERY, retriever="bge_m3", top_k=22).hits
    assert len(hits) == 22
    short = [hit for hit in hits if len(hit.text) <= 60]  # the tiny model reads no more
    weights = [1.0, 0.3, 1.0]
    expected = BGEM3FlagModel(m3, use_fp16=False, devices=["cpu"]).compute_score(
        [(QUERY, hit.text) for hit in short], weights_for_different_modes=weights
    )
    # it takes the mean; and a relevance of (1 + s) / 2, doubled, is 1 more than s
    sums = np.array(expected["colbert+sparse+dense"]) * sum(weights) + 1
    assert len(sums) > 10
    np.testing.assert_allclose([hit.score for hit in short], sums, atol=1e-3)  # half precision


def test_an_index_without_weights_names_the_remedy(tmp_path, m3):
    config = config_of(tmp_path, m3)
    put_chunks(Store(tmp_path), config, texts(3))
    put_rows(Store(tmp_path), config, ROWS)
    refreshed(config)
    with pytest.raises(MissingWeightsError, match=r"sparse: true.*rag-assets refresh"):
        index_of(config).search(QUERY, retriever=SPARSE)


def test_turning_it_on_embeds_once_and_turning_it_off_embeds_nothing(tmp_path, m3):
    plain, sparse = config_of(tmp_path, m3), config_of(tmp_path, m3, sparse=True)
    store = Store(tmp_path)
    put_chunks(store, plain, texts(6))

    def embedded(config: Config) -> int:
        return refresh_documents(store, config, variant=VARIANT, log=lambda _: None).embedded

    assert [embedded(sparse), embedded(sparse), embedded(plain), embedded(sparse)] == [6, 0, 0, 0]
    put_chunks(store, plain, [*texts(6), "one more"])
    assert [embedded(plain), embedded(sparse)] == [1, 1]
    names = [config.tables_of(VARIANT).documents for config in (plain, sparse)]
    assert ["sparse" in store.schema(name).names for name in names] == [False, True]


def test_a_text_of_another_table_keeps_its_weights(tmp_path, m3):
    config = config_of(tmp_path, m3, sparse=True)
    store = Store(tmp_path)
    put_chunks(store, config, texts(4))
    refresh_documents(store, config, variant=VARIANT, log=lambda _: None)
    put_chunks(store, config, texts(4), uri="reports/copy.md")
    report = refresh_documents(store, config, variant=VARIANT, log=lambda _: None)
    assert (report.embedded, report.reused) == (0, 4)
    rows = store.read(config.tables_of(VARIANT).documents).to_pylist()
    assert all(row["sparse"] for row in rows)
