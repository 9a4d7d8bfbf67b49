"""What is relied on of each private name of Dagster. A release that changes one fails here."""

import ast
import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import dagster as dg
import pytest

from rag_assets import dagster_internals as internals
from rag_assets_testing.ports import free_port
from rag_assets_tests.test_floors import PACKAGE

PRIVATE = ("dagster._", "dagster_shared")

KEY = dg.AssetKey("watched")
NIGHTLY = "0 2 * * *"


@pytest.fixture(scope="module")
def instance():
    with dg.instance_for_test() as made:
        yield made


def test_no_other_module_names_what_dagster_keeps_private():
    texts = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    private = {
        path
        for path, text in texts.items()
        if any(name in text for name in PRIVATE)
        for node in ast.walk(ast.parse(text))
        for module in named_in(node)
        if module.startswith(PRIVATE)
    }
    assert private == {Path(internals.__file__)}


def named_in(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_each_private_name_is_used_tested_and_not_public():
    here = Path(__file__).read_text("utf-8")
    texts = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py")]
    for name in (*imported(at_the_top=True), *internals.LATE):
        assert not hasattr(dg, name), f"dagster hands out {name}: import it from there"
        assert f"internals.{name}" in here, f"say in a test what is relied on of {name}"
        assert sum(name in text for text in texts) > 1, f"nothing uses {name} any more"


def test_the_type_checker_sees_the_late_names_where_they_are_imported_from():
    assert imported(at_the_top=False) == internals.LATE


def imported(*, at_the_top: bool) -> dict[str, str]:
    """The private names that are imported at once, or for the type checker alone, by module."""
    tree = ast.parse(Path(internals.__file__).read_text("utf-8"))
    [late] = [node for node in tree.body if isinstance(node, ast.If)]
    nodes = [
        node
        for node in (tree.body if at_the_top else late.body)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dagster.")
    ]
    return {alias.name: str(node.module) for node in nodes for alias in node.names}


def test_what_dagster_has_not_loaded_is_loaded_when_it_is_asked_for():
    late = sorted({*internals.LATE.values()})
    code = (
        "import sys, dagster\nfrom rag_assets import dagster_internals\n"
        f"print([name for name in {late!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="dagster_internals has no Nothing"):
        _ = internals.Nothing


def test_crons_come_in_their_time_zone():
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    ticks = internals.cron_string_iterator(begin.timestamp(), NIGHTLY, "Europe/Stockholm")
    first, second = islice(ticks, 2)

    assert first == datetime(2026, 1, 1, 1, tzinfo=UTC)
    assert second - first == timedelta(days=1)


def test_an_output_marked_as_observed_stores_no_materialization(instance):
    marked = {internals.SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION: True}

    @dg.asset
    def watched(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        context.log_event(dg.AssetObservation(KEY))
        return dg.MaterializeResult(metadata=marked)

    @dg.asset(deps=[watched])
    def after() -> None: ...

    assert dg.materialize([watched, after], instance=instance).success
    assert instance.get_latest_materialization_event(KEY) is None
    assert instance.fetch_observations(KEY, limit=1).records
    assert instance.get_latest_materialization_event(dg.AssetKey("after"))


def test_a_job_in_memory_is_run_under_the_address_of_a_code_location(instance):
    @dg.op
    def fail() -> None:
        raise ValueError("no such number")

    @dg.job(executor_def=dg.in_process_executor)
    def failing() -> None:
        fail()

    location = internals.RegisteredCodeLocationOrigin("place")  # ty: ignore
    name = dg.Definitions().get_repository_def().name
    origin = internals.RemoteRepositoryOrigin(location, name)
    here = failing.as_ephemeral_job(resource_defs={}, input_values={})
    run = instance.create_run_for_job(here, remote_job_origin=origin.get_job_origin("failing"))

    result = internals.execute_run(internals.InMemoryJob(here), run, instance)

    assert isinstance(result, dg.JobExecutionResult)
    assert instance.get_run_by_id(run.run_id).remote_job_origin.location_name == "place"
    [failure] = [event for event in result.all_events if event.is_step_failure]
    error = failure.step_failure_data.error
    assert error.cause is not None
    assert (error.cause.cls_name, error.cause.message.strip()) == (
        "ValueError",
        "ValueError: no such number",
    )


def test_an_instance_is_opened_with_storages_of_ones_own(tmp_path):
    folder = str(tmp_path)
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    own = {
        "run_storage": {
            "module": f"{internals.SqliteRunStorage.__module__}",
            "class": "SqliteRunStorage",
            "config": {"base_dir": folder},
        }
    }
    ref = internals.InstanceRef.from_dir(folder, overrides=own)
    with dg.DagsterInstance.from_ref(ref) as opened:
        assert isinstance(opened.run_storage, internals.SqliteRunStorage)
        assert (tmp_path / "runs.db").exists()


@pytest.mark.parametrize("storage", ["SqliteRunStorage", "SqliteEventLogStorage"])
def test_the_storages_are_made_from_their_settings_by_these_methods(storage):
    made = getattr(internals, storage)
    for method in ("from_config_value", "dispose"):
        assert callable(getattr(made, method))
    assert internals.ConfigurableClassData.__name__ == "ConfigurableClassData"
    assert "base_dir" in internals.SqliteStorageConfig.__annotations__


def test_the_databases_of_events_are_opened_by_these_methods(tmp_path):
    assert internals.SQLITE_BUSY_TIMEOUT_SECONDS > 0
    runs = internals.SqliteRunStorage.from_local(str(tmp_path / "history"))
    events = internals.SqliteEventLogStorage(str(tmp_path / "runs"))
    try:
        assert "runs.db" in runs._conn_string
        with runs.connect() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM runs").scalar() == 0
        assert events._initialized_dbs == {"index"}
        assert not events._db_lock.locked()
        with events._connect("a-run"):
            assert "a-run" in events._initialized_dbs
        assert events.conn_string_for_shard("a-run").endswith("a-run.db")
        assert Path(events.path_for_shard("a-run")).exists()
        assert events.has_table("event_logs")
        assert not events.has_table("not_there")
    finally:
        events.dispose()
        runs.dispose()


def test_failed_backfills_are_asked_for_since_a_time(instance):
    since, states = datetime.now(UTC) - timedelta(days=1), internals.BulkActionStatus
    failed = internals.PartitionBackfill(
        "failed",
        status=states.FAILED,
        from_failure=False,
        tags={},
        backfill_timestamp=datetime.now(UTC).timestamp(),
        asset_selection=[KEY],
    )
    instance.add_backfill(failed)

    wanted = internals.BulkActionsFilter(created_after=since)
    [found] = instance.get_backfills(filters=wanted, limit=5)

    assert (found.backfill_id, found.status, found.error) == ("failed", states.FAILED, None)
    assert {found.partition_set_name, found.partition_names} == {None}
    assert found.backfill_end_timestamp is None
    assert {states.COMPLETED_FAILED, states.COMPLETED_SUCCESS} <= set(states)


def test_no_state_of_freshness_is_known_before_the_daemon_has_looked(instance):
    assert internals.FreshnessState.FAIL.value == "FAIL"
    states = instance.event_log_storage.get_freshness_state_records([KEY])
    assert not any(states.values())


def test_a_server_that_is_gone_is_told_by_an_error_with_its_cause():
    import grpc

    assert internals.GRPC_INFO_TAG == ".dagster/grpc_info"
    assert internals.SCHEDULED_EXECUTION_TIME_TAG == ".dagster/scheduled_execution_time"
    logging.getLogger("grpc").setLevel(logging.CRITICAL)
    server = internals.DagsterGrpcClient(host="localhost", port=free_port())
    request = internals.CanCancelExecutionRequest(run_id="a run")

    with pytest.raises(internals.DagsterUserCodeUnreachableError) as gone:
        server.can_cancel_execution(request, timeout=5)

    cause = gone.value.__cause__
    assert isinstance(cause, grpc.Call)
    assert cause.code() == grpc.StatusCode.UNAVAILABLE
    answer = dg.serialize_value(internals.CanCancelExecutionResult(can_cancel=False))
    assert not dg.deserialize_value(answer, internals.CanCancelExecutionResult).can_cancel
