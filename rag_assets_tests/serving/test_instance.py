from pathlib import Path

import dagster as dg
import yaml

from rag_assets.config import Config
from rag_assets.serving import instance

ROOT = Path(__file__).parents[2]


def test_the_repository_and_the_command_line_use_one_instance(tmp_path, monkeypatch):
    """`dagster dev` in the repository shows what `rag-assets refresh` recorded, and vice versa."""
    said = yaml.safe_load((ROOT / "dagster.yaml").read_text())

    assert said == instance.settings() | instance.storage("data/.state/dagster")

    own = tmp_path / "own"
    own.mkdir()
    state = tmp_path / "data/.state"
    placed = instance.settings() | instance.storage("data/.state/dagster")
    (own / "dagster.yaml").write_text(yaml.safe_dump(placed))
    monkeypatch.chdir(tmp_path)
    with instance.opened(Config(state_dir=state)) as first:
        dg.materialize([seen], instance=first)
        logs = first.compute_log_manager.get_log_metadata(["a"]).stderr_location
        artifacts = first.storage_directory()
    with dg.DagsterInstance.from_config(str(own)) as second:
        assert second.get_latest_materialization_event(dg.AssetKey("seen"))
        assert second.compute_log_manager.get_log_metadata(["a"]).stderr_location == logs
        assert (tmp_path / second.storage_directory()).samefile(artifacts)


def test_a_settings_file_that_someone_edited_is_kept(tmp_path):
    config = Config(state_dir=tmp_path)
    file = instance.prepare(config) / instance.FILE
    file.write_text("telemetry: {enabled: false}\n# ours\n")

    assert instance.prepare(config) == file.parent
    assert "# ours" in file.read_text()


def test_nothing_calls_home_and_crashed_runs_free_the_gpu(tmp_path):
    with instance.opened(Config(state_dir=tmp_path)) as opened:
        assert not opened.telemetry_enabled
        assert opened.run_retries_enabled
        assert opened.run_monitoring_enabled
        assert opened.get_concurrency_config().pool_config.default_pool_limit == 1


@dg.asset
def seen() -> None: ...
