"""An index whose vectors a server computes: built, searched, and kept from a replaced model."""

import pytest

from rag_assets.change import completing
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.index.indexes import maintain
from rag_assets.index.joint import refresh_joint
from rag_assets.models import hosted
from rag_assets.models.replicas import EncoderError
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store
from rag_assets_testing.embedding import refresh_documents, refresh_rows
from rag_assets_tests.index.corpus import VARIANT, put_chunks, put_rows, texts
from rag_assets_tests.models.model_server import serving
from rag_assets_tests.models.test_hosted_embedding import other_model


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(hosted, "FIRST_PAUSE", 0.01)
    with serving() as model:
        yield model


def config_of(server, folder, *, execution=None, **endpoint) -> Config:
    model = {
        "backend": "embeddings_api",
        "path": "all-minilm",
        "max_tokens": 256,
        "endpoint": {"url": server.url, "attempts": 2, **endpoint},
    }
    return Config.model_validate(
        {
            "state_dir": folder,
            "models": {"hosted": model},
            "variants": {VARIANT: {"model": "hosted"}},
            "execution": execution or {},
        }
    )


def refreshed(config: Config, log=lambda _: None):
    store = Store(config.state_dir)
    outcome = refresh_documents(store, config, variant=VARIANT, log=log)
    refresh_rows(store, config, variant=VARIANT, log=log)
    refresh_joint(store, config, variant=VARIANT, log=log)
    names = config.tables_of(VARIANT)
    for name in (names.documents, names.rows, names.joint):
        ended = store.ended(name)
        assert ended is not None
        maintain(
            store, name, settings=config.index, data_version=ended.data_version, log=lambda _: None
        )
    completing.record_all(store, config, STEPS)
    return outcome


@pytest.fixture
def config(server, tmp_path):
    config = config_of(server, tmp_path)
    store = Store(config.state_dir)
    put_chunks(store, config, texts(12))
    put_rows(store, config, ["Item in Steel grades where grade is 316L."])
    return config


def found(config: Config, retriever: str = "hybrid"):
    index = open_index(Store(config.state_dir), config, VARIANT)
    return index.search("fuel cell", retriever=retriever)


def test_an_index_is_built_and_searched_through_the_server(server, config):
    outcome = refreshed(config)
    assert (outcome.embedded, outcome.report.failed) == (12, 0)
    assert "fuel cell" in found(config, "baseline")[0].text

    server.asked.clear()
    assert refreshed(config).embedded == 0
    assert {tuple(body["input"][1:]) for body in server.asked} == {()}, "the probe alone"


def test_a_moved_server_keeps_the_tables(server, config, tmp_path):
    first = refreshed(config)
    with serving() as moved:
        again = refreshed(config_of(moved, tmp_path, seconds=9))
    assert (again.encoder_id, again.embedded) == (first.encoder_id, 0)


def test_a_replaced_model_is_refused_and_the_index_goes_on_by_words(server, config):
    refreshed(config)
    server.embed = other_model

    with pytest.raises(EncoderError, match="computes another model"):
        refreshed(config)
    with pytest.raises(EncoderError, match="computes another model"):
        found(config)
    assert "fuel cell" in found(config, "bm25")[0].text


def test_a_server_that_is_away_is_missed_only_where_there_is_work(server, config, tmp_path):
    refreshed(config)
    server.always = 503
    said: list[str] = []
    assert refreshed(config, log=said.append).embedded == 0
    assert any("is not known" in line and "status 503" in line for line in said)

    put_chunks(Store(config.state_dir), config, [*texts(12), "a new text"])
    with pytest.raises(EncoderError, match="status 503"):
        refreshed(config)
    server.always = None
    assert refreshed(config).embedded == 1


def test_other_processes_do_not_compute_what_a_server_does(server, tmp_path):
    config = config_of(server, tmp_path, execution={"embedding": "processes"})
    put_chunks(Store(config.state_dir), config, texts(3))
    put_rows(Store(config.state_dir), config, ["a row"])
    assert refreshed(config).embedded == 3
