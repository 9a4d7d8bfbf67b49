"""Old runs leave Dagster's records, and take nothing with them that is still needed."""

import time
from pathlib import Path

import dagster as dg
import pytest

from rag_assets.config import Config
from rag_assets.operations import run_history
from rag_assets.serving import dagster_instance
from rag_assets_testing.dagster_records import make_ready

VARIANTS = dg.StaticPartitionsDefinition(["default", "other"])


@dg.asset(partitions_def=VARIANTS)
def vectors() -> dg.MaterializeResult:
    return dg.MaterializeResult(data_version=dg.DataVersion("1"))


@dg.asset
def rows() -> dg.MaterializeResult:
    return dg.MaterializeResult(data_version=dg.DataVersion("1"))


@dg.asset
def broken() -> None:
    raise ValueError("no such file")


@pytest.fixture
def config(tmp_path) -> Config:
    return Config(state_dir=tmp_path / "state")


@pytest.fixture
def instance(config):
    make_ready(config)
    with dagster_instance.opened(config) as opened:
        yield opened


def run(instance, asset, *, partition: str | None = None) -> str:
    result = dg.materialize(
        [asset], instance=instance, partition_key=partition, raise_on_error=False
    )
    return result.run_id


def forget(instance, *, days: float) -> run_history.ForgottenRuns:
    config = Config(state_dir=Path(instance.root_directory).parent)
    return run_history.forget_old_runs(instance, config, keep_days=days, log=print)


def files_of(config: Config, run_id: str) -> list[Path]:
    return list(dagster_instance.home(config).rglob(f"*{run_id}*"))


def test_an_old_run_leaves_with_its_events_its_logs_and_its_file(instance, config):
    old, newest = run(instance, rows), run(instance, rows)

    done = forget(instance, days=0)

    assert (done.runs, instance.get_run_ids()) == (1, [newest])
    assert instance.all_logs(old) == []
    assert files_of(config, old) == []
    assert done.bytes_freed > 0


def test_what_holds_the_newest_event_of_a_partition_stays(instance):
    other = run(instance, vectors, partition="other")
    default = [run(instance, vectors, partition="default") for _ in range(3)]

    forget(instance, days=0)

    assert set(instance.get_run_ids()) == {other, default[-1]}
    key = dg.AssetKey("vectors")
    assert instance.get_materialized_partitions(key) == {"default", "other"}
    record = instance.fetch_materializations(
        dg.AssetRecordsFilter(key, asset_partitions=["other"]), limit=1
    ).records[0]
    assert record.run_id == other


def test_runs_of_the_last_days_stay_and_so_do_runs_that_go_on(instance):
    run(instance, rows)
    failed = run(instance, broken)
    going_on = instance.create_run_for_job(
        dg.define_asset_job("job", [rows]).resolve(
            asset_graph=dg.Definitions(assets=[rows]).resolve_asset_graph()
        ),
        status=dg.DagsterRunStatus.STARTED,
    ).run_id
    before = set(instance.get_run_ids())

    assert forget(instance, days=1).runs == 0
    assert set(instance.get_run_ids()) == before

    time.sleep(0.01)
    forget(instance, days=0)
    assert going_on in instance.get_run_ids()
    assert failed not in instance.get_run_ids()
