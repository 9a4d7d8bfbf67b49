"""A trained reranker in a config: which weights it means, and what serves meanwhile."""

import dagster as dg
import pytest
import yaml

from rag_assets.config import ConfigError, load
from rag_assets.config.training import NEWEST, folder_of
from rag_assets.definitions import definitions
from rag_assets.laboratory.training.trainers import TrainingError, reranker_weights
from rag_assets.models.rerankers import RerankerError, load_reranker
from rag_assets.store import Store
from rag_assets.store.serving_pointer import QuerySide

CONFIG = {
    "state_dir": "state",
    "sources": {"documents": "documents"},
    "training": {"retrievers": {"tuned": {}}, "rerankers": {"mine": {"retriever": "tuned"}}},
    "retrieval": {
        "rerankers": {"mine": {"path": "trained:mine"}},
        "retrievers": {"best": {"reranker": "mine"}},
    },
}


@pytest.fixture
def file(tmp_path):
    (tmp_path / "documents").mkdir()
    path = tmp_path / "rag_assets.yaml"
    path.write_text(yaml.safe_dump(CONFIG))
    return path


def publish(file, name):
    folder = folder_of(file.parent / "state", "reranker", "mine")
    (folder / name).mkdir(parents=True)
    (folder / NEWEST).write_text(name)
    return str(folder / name)


def test_a_newer_training_is_another_query_side_and_what_serves_keeps_its_own(file):
    first = publish(file, "one")
    served = QuerySide.of(load(file).retrieval)
    assert served.rerankers["mine"]["path"] == first

    second = publish(file, "two")
    now = load(file).retrieval
    assert now.rerankers["mine"].path == second
    assert QuerySide.of(now) != served, "the gate decides about it"
    assert served.within(now).rerankers["mine"].path == first


def test_a_reranker_that_was_not_trained_yet_says_how(file, tmp_path):
    settings = load(file).retrieval.rerankers["mine"]
    with pytest.raises(RerankerError, match=r"nothing was trained as mine yet.*training run mine"):
        load_reranker(settings, name="mine", home=tmp_path)


def test_the_name_of_a_reranker_that_is_not_trained_is_refused(file):
    """Retrievers would read with the untrained one, and nothing would say so."""
    said = yaml.safe_load(file.read_text())
    said["training"]["rerankers"] = {"bge_reranker_base": {"retriever": "tuned"}}
    del said["retrieval"]
    file.write_text(yaml.safe_dump(said))

    with pytest.raises(
        ConfigError, match=r"bge_reranker_base: a reranker .* has that name.*rename"
    ):
        load(file)

    said["retrieval"] = {"rerankers": {"bge_reranker_base": {"path": "trained:bge_reranker_base"}}}
    file.write_text(yaml.safe_dump(said))
    load(file)


def test_it_is_an_asset_that_comes_after_its_retriever(file):
    config = load(file)
    asset = definitions(config).get_assets_def(dg.AssetKey(["reranker_weights", "mine"]))
    [key] = asset.keys
    assert {each.to_user_string() for each in asset.asset_deps[key]} == {
        "training_pairs",
        "retriever_weights/tuned",
    }
    with pytest.raises(TrainingError, match=r"rerankers\.mine starts from .* run tuned` first"):
        reranker_weights(Store.of(config), config, "mine", log=print)


def test_a_retriever_that_nobody_trains_is_named(file):
    training = CONFIG["training"] | {"rerankers": {"mine": {"retriever": "turned"}}}
    file.write_text(yaml.safe_dump(CONFIG | {"training": training}))
    with pytest.raises(ConfigError, match=r"training\.rerankers\.mine\.retriever"):
        load(file)
