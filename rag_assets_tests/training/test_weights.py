"""Weights are kept under their hash, found by name, and stay as long as somebody needs them."""

import os
import time

import pytest

from rag_assets import config as configuration
from rag_assets.config.training import newest_weights, with_trained
from rag_assets.models.weights import WeightsError, weights_of
from rag_assets.store import Store
from rag_assets.training import weights
from rag_assets.training.running import TrainingRun
from rag_assets_tests.training import project

RUN = TrainingRun("mrr@10", 0.1, 0.2, [(1, 0.5)], [(0, 0.1), (1, 0.2)], 1, 0, 1.0, 8.0, "a test")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "state")


def trained(store, recipe, content=None):
    calls = []

    def train(checkpoints, out):
        calls.append(recipe)
        checkpoints.mkdir(parents=True)
        out.mkdir()
        (out / "model.safetensors").write_text(content or recipe)
        return RUN

    done = weights.trained(
        store, "retriever", "tuned", made_from={"recipe": recipe}, train=train, log=print
    )
    return done, calls


def test_the_same_is_trained_once_and_another_recipe_lies_beside_it(store):
    first, _ = trained(store, "a")
    again, calls = trained(store, "a")
    other, _ = trained(store, "b")

    assert (first.is_new, again.is_new, calls) == (True, False, [])
    assert again.folder == first.folder != other.folder
    assert newest_weights(store.root, "retriever", "tuned") == other.folder
    assert trained(store, "a")[0].folder == newest_weights(store.root, "retriever", "tuned")
    assert not list((store.root / weights.UNFINISHED).glob("*/*/*"))


def test_a_training_that_fails_leaves_the_newest_weights_and_its_checkpoints(store):
    kept, _ = trained(store, "a")

    def train(checkpoints, out):
        checkpoints.mkdir(parents=True)
        out.mkdir()
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        weights.trained(store, "retriever", "tuned", made_from={"b": 1}, train=train, log=print)
    assert newest_weights(store.root, "retriever", "tuned") == kept.folder
    assert list((store.root / weights.UNFINISHED).glob("*/*/*"))


def test_a_path_means_the_newest_weights_of_a_name(store):
    assert with_trained("trained:tuned", state=store.root, kind="retriever") == "trained:tuned"
    done, _ = trained(store, "a")
    found = with_trained("trained:tuned", state=store.root, kind="retriever")
    assert found == str(done.folder)
    assert with_trained("trained:tuned", state=store.root, kind="reranker") == "trained:tuned"


def test_a_config_makes_a_model_of_each_retriever(tmp_path):
    config = configuration.load(project.write(tmp_path))

    assert config.models["tuned"].path == "trained:tuned"
    with pytest.raises(WeightsError, match="training run tuned"):
        weights_of(config.models["tuned"])
    done, _ = trained(Store.of(config), "a")
    assert configuration.load().models["tuned"].path == str(done.folder)


def test_clean_up_keeps_what_is_newest_or_named(store, tmp_path):
    old, _ = trained(store, "a")
    named, _ = trained(store, "b")
    newest, _ = trained(store, "c")
    long_ago = time.time() - 30 * 86_400
    for folder in (old.folder, named.folder, newest.folder):
        for path in (folder, *folder.rglob("*")):
            os.utime(path, (long_ago, long_ago))
    given = {"models": {"mine": {"path": str(named.folder)}}, "state_dir": str(store.root)}
    config = configuration.Config.model_validate(given)

    removed, freed = weights.remove_unused_weights(store, config, keep_days=7)

    assert (removed, freed > 0) == (1, True)
    assert not old.folder.exists()
    assert named.folder.exists()
    assert newest.folder.exists()
