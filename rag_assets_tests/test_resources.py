"""Resources: the UI lists them, and a run asks those that it is given."""

from types import SimpleNamespace

import dagster as dg
import pytest

from rag_assets import config as configuration
from rag_assets.config import ConfigError, LanguageModelSettings
from rag_assets.definitions import definitions
from rag_assets.resources import keys_of, of_run, resources_of
from rag_assets.store import Store
from rag_assets_testing import small_project

SERVER = LanguageModelSettings.model_validate({"base_url": "http://host:8000/v1", "model": "m"})


def test_a_run_writes_to_the_state_that_it_is_handed(tmp_path):
    config = configuration.load(small_project.make(tmp_path) / "rag_assets.yaml")
    defs = definitions(config)
    assert keys_of(config) == set(defs.resources or {})
    elsewhere = {"state": {"config": {"folder": str(tmp_path / "elsewhere")}}}
    job = defs.resolve_implicit_global_asset_job_def()

    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(
            instance=instance,
            run_config={"resources": elsewhere},
            asset_selection=[dg.AssetKey("document_files"), dg.AssetKey("table_rows")],
        )

    assert done.success
    assert Store(tmp_path / "elsewhere").count("document_files") == 2
    assert not Store.of(config).exists("document_files")


def test_a_run_asks_the_models_that_it_is_handed(tmp_path):
    entries = {"writer": SERVER}
    config = configuration.Config(state_dir=tmp_path).model_copy(
        update={"language_models": entries}
    )

    @dg.op(required_resource_keys=keys_of(config))
    def looking(context: dg.OpExecutionContext) -> None:
        seen.append(of_run(context.resources, config))

    @dg.job(resource_defs=resources_of(config))
    def look() -> None:
        looking()

    seen: list[configuration.Config] = []
    assert look.execute_in_process().success
    other = {"language_models": {"config": {"servers": {"writer": "http://test:1/v1"}}}}
    paths = {**{name: one.path for name, one in config.models.items()}, "e5": "/models/e5"}
    assert look.execute_in_process(
        run_config={"resources": {**other, "models": {"config": {"paths": paths}}}}
    ).success

    same, swapped = seen
    assert same == config
    assert swapped.models["e5"].path == "/models/e5"
    assert swapped.models["minilm"] == config.models["minilm"]
    assert str(swapped.language_models["writer"].base_url) == "http://test:1/v1"


@pytest.mark.parametrize(
    ("kind", "given"),
    [("models", {"paths": {"e6": "x"}}), ("language_models", {"servers": {"e6": "x"}})],
)
def test_a_model_that_the_config_does_not_have_is_refused(tmp_path, kind, given):
    config = configuration.Config(state_dir=tmp_path)
    held = resources_of(config)
    changed = {**held, kind: type(held[kind])(**given)}

    with pytest.raises(ConfigError, match=f"the resource {kind} names e6, which is not in"):
        of_run(SimpleNamespace(**changed), config)


def test_labels_and_trained_weights_are_upstream_of_what_reads_them(tmp_path):
    file = tmp_path / "rag_assets.yaml"
    file.write_text(
        "training: {retrievers: {mine: {}}, rerankers: {read: {retriever: mine}, "
        "unread: {retriever: mine}}}\n"
        "retrieval: {rerankers: {best: {path: 'trained:read'}}}\n"
        "language_models: {judge: {base_url: 'http://host:8000/v1', model: judge}}\n"
        "evaluation: {judges: [{model: judge}]}\n"
    )
    graph = definitions(configuration.load(file)).resolve_asset_graph()

    def above(name: str) -> set[str]:
        return {key.to_user_string() for key in graph.get(dg.AssetKey(name)).parent_keys}

    assert above("retrieval_evaluation") == {
        "joint_index",
        "question_sets",
        "reranker_weights/read",
    }
    assert "labels" in above("answer_evaluation")
