"""In somebody's Dagster project: two indexes beside assets, jobs and runs of others."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from rag_assets import config as configuration
from rag_assets.config import ConfigError, Naming
from rag_assets.definitions import definitions
from rag_assets.operations import run_history
from rag_assets.operations.alerts import messages
from rag_assets.operations.alerts.record import Change
from rag_assets.operations.erasure import run_records
from rag_assets.operations.erasure.traces import Traces
from rag_assets.operations.problems import lost_runs, own_runs, runs
from rag_assets.serving import cli, dagster_instance
from rag_assets.store import serving_pointer
from rag_assets_testing import small_project
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.project import Project

CONFIG = f"""\
{project.CONFIG}
execution: {{parsing: in_process}}
dagster: {{key_prefix: %s, executor: false, code_location: ours}}
alerts: {{channels: [{{name: team, type: json, url: "http://127.0.0.1:9/hook"}}]}}
"""
INDEXES = ("handbook", "team/manuals")
WRITTEN = "written by the project around it"


@dg.asset
def chunks() -> dg.MaterializeResult:
    """An asset of the project that is called like one of ours."""
    return dg.MaterializeResult(metadata={"what": WRITTEN})


@dg.op
def do_something() -> None:
    raise ValueError("something of the project broke")


@dg.job
def promote() -> None:
    """A job of the project that is called like one of ours."""
    do_something()


@dataclass(frozen=True)
class Shared:
    """A code location with two indexes and a project around them."""

    indexes: dict[str, Project]
    defs: dg.Definitions


def code_location(home: Path) -> Shared:
    made = {}
    for number, prefix in enumerate(INDEXES):
        made[prefix] = project.make(home / prefix, documents=2 + number, rows=4)
        made[prefix].file.write_text(CONFIG % prefix)
    defs = dg.Definitions.merge(
        *(definitions(each.config) for each in made.values()),
        dg.Definitions(assets=[chunks], jobs=[promote], executor=dg.in_process_executor),
    )
    return Shared(made, defs)


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Shared:
    return code_location(tmp_path_factory.mktemp("shared"))


def of(names: set[str], prefix: str, between: str) -> set[str]:
    begins = prefix.replace("/", between) + between
    return {name.removeprefix(begins) for name in names if name.startswith(begins)}


def names_of(defs: dg.Definitions) -> dict[str, set[str]]:
    """All names by which Dagster knows something, by what it is."""
    repository = defs.get_repository_def()
    jobs = [job for job in repository.get_all_jobs() if not job.name.startswith("__")]
    specs = defs.resolve_all_asset_specs()
    pools = {op.pool for assets in defs.assets or () for op in (assets.op,)}
    return {
        "assets": {spec.key.to_user_string() for spec in specs},
        "checks": {
            f"{key.asset_key.to_user_string()}:{key.name}"
            for key in defs.resolve_asset_graph().asset_check_keys
        },
        "groups": {str(spec.group_name) for spec in specs},
        "pools": {str(pool) for pool in pools if pool},
        "jobs": {job.name for job in jobs},
        "steps": {node.name for job in jobs for node in job.nodes},
        "schedules": {each.name for each in repository.schedule_defs},
        "sensors": {each.name for each in repository.sensor_defs},
    }


def test_all_names_of_an_index_begin_with_its_prefix_and_are_otherwise_as_they_were(shared):
    [index, _] = shared.indexes.values()
    alone = names_of(definitions(index.config, key_prefix="x"))
    without = names_of(
        definitions(index.config.model_copy(update={"dagster": Naming(executor=False)}))
    )
    both = names_of(shared.defs)
    dg.Definitions.validate_loadable(shared.defs)

    for what, names in alone.items():
        between = "/" if what in ("assets", "checks") else "__"
        assert of(names, "x", between) == without[what], what
        others = {f"x{between}{each}" for each in without[what]}
        assert names == others, f"{what}: nothing is without a prefix"
        for prefix in INDEXES:
            assert of(both[what], prefix, between) == without[what], what
    assert "chunks" in both["assets"]
    assert "promote" in both["jobs"]


def test_the_dependencies_of_an_index_stay_within_it(shared):
    for spec in shared.defs.resolve_all_asset_specs():
        first = spec.key.path[0]
        if first != "chunks":
            assert {dep.asset_key.path[0] for dep in spec.deps} <= {first}, spec.key


def test_runs_of_an_index_carry_its_tag_and_those_without_a_prefix_none(shared):
    for prefix in INDEXES:
        names = shared.indexes[prefix].config.dagster
        for job in own_runs.JOBS & {"nightly_refresh", "promote", "evaluate_answers"}:
            tags = shared.defs.resolve_job_def(names.name(job)).tags
            assert tags["rag_assets/index"] == prefix
    assert dict(Naming().tags) == {}


def test_jobs_and_assets_that_are_looked_for_are_those_that_there_are(tmp_path):
    """What is not in these lists would be taken for somebody else's."""
    home = small_project.make(tmp_path)
    file = home / "all.yaml"
    training = "{retrievers: {tuned: {}}, rerankers: {order: {retriever: tuned}}}"
    answers = "{grounding: {design: rag_or_not}}"
    file.write_text(
        f"{small_project.CONFIG}experiments:\n  serializers:\ntraining: {training}\n"
        f"answer_experiments: {answers}\n"
    )
    defs = definitions(configuration.load(file))
    jobs = {job.name for job in defs.resolve_all_job_defs() if not job.name.startswith("__")}
    assert jobs == own_runs.JOBS
    first = {spec.key.path[0] for spec in defs.resolve_all_asset_specs()}
    assert first <= own_runs.ASSETS


def test_a_prefix_that_names_cannot_have_is_refused(shared):
    config = shared.indexes["handbook"].config
    assert definitions(config, key_prefix=["team", "x"]).resolve_job_def("team__x__promote")
    for wrong in ("Hand book", "a__b", "a-b", "/a", ["a", "b/"]):
        with pytest.raises(ConfigError, match=r"key_prefix = .*: give lowercase letters"):
            definitions(config, key_prefix=wrong)


def test_with_an_executor_of_the_project_none_of_ours_is_set(shared):
    config = shared.indexes["handbook"].config
    assert definitions(config).executor is None
    for job in ("handbook__nightly_refresh", "handbook__promote", "handbook__backfill_variant"):
        assert shared.defs.resolve_job_def(job).executor_def is dg.in_process_executor
    assert definitions(config, executor=True).executor is dg.in_process_executor
    named = config.model_copy(
        update={"execution": config.execution.model_copy(update={"steps": "dagster:x"})}
    )
    with pytest.raises(ConfigError, match=r"execution\.steps: with dagster\.executor: false"):
        definitions(named)


@dataclass(frozen=True)
class Refreshed:
    """The code location after one run of each job, in an instance that all share."""

    shared: Shared
    instance: dg.DagsterInstance
    runs: dict[str, str]


@pytest.fixture(scope="module")
def refreshed(shared):
    with dg.instance_for_test() as instance, hashing():
        done = {}
        for prefix, made in shared.indexes.items():
            job = shared.defs.resolve_job_def(made.config.dagster.name("nightly_refresh"))
            result = job.execute_in_process(instance=instance, partition_key="default")
            done[prefix] = result.run_id
        done["theirs"] = dg.materialize([chunks], instance=instance).run_id
        yield Refreshed(shared, instance, done)


def test_two_indexes_and_a_foreign_asset_are_refreshed_apart(refreshed):
    for prefix, made in refreshed.shared.indexes.items():
        pointer = serving_pointer.current(made.store)
        assert pointer is not None
        documents = sum(1 for _ in made.documents.rglob("*.md"))
        assert made.store.count("document_files") == documents
        key = dg.AssetKey([*prefix.split("/"), "chunks"])
        event = refreshed.instance.get_latest_materialization_event(key)
        assert event.run_id == refreshed.runs[prefix]
    theirs = refreshed.instance.get_latest_materialization_event(dg.AssetKey("chunks"))
    assert theirs.asset_materialization.metadata["what"].value == WRITTEN
    counts = Counter(key.path[0] for key in refreshed.instance.all_asset_keys())
    assert counts.keys() == {"handbook", "team", "chunks"}
    assert counts["handbook"] == counts["team"]
    states = [set(made.config.state_dir.iterdir()) for made in refreshed.shared.indexes.values()]
    assert all(states)
    assert not states[0] & states[1]


def test_a_sensor_sees_the_changes_and_the_runs_of_its_own_index(refreshed):
    handbook, manuals = refreshed.shared.indexes.values()
    handbook.write("new.md", "# New")

    def asked(name: str) -> list[str]:
        sensor = refreshed.shared.defs.resolve_sensor_def(name)
        result = sensor(
            dg.build_sensor_context(instance=refreshed.instance, definitions=refreshed.shared.defs)
        )
        keys = {event.asset_key.path[0] for event in getattr(result, "asset_events", ())}
        assert keys <= {name.partition("__")[0]}
        return [run.tags["changed"] for run in getattr(result, "run_requests", None) or ()]

    nightly = refreshed.shared.defs.resolve_job_def("team__manuals__nightly_refresh")
    going = refreshed.instance.create_run_for_job(nightly, status=dg.DagsterRunStatus.STARTED)
    try:
        assert asked("handbook__source_changes") == ["document_files"]
        assert asked("team__manuals__source_changes") == []
    finally:
        refreshed.instance.report_run_canceled(going)
        refreshed.instance.delete_run(going.run_id)
    assert manuals.store.count("document_files") == 3


def test_the_command_line_plans_and_explains_by_the_keys_of_its_index(refreshed):
    job = refreshed.shared.defs.resolve_job_def("handbook__plan")
    with hashing():
        assert job.execute_in_process(instance=refreshed.instance).success
    observed = {
        key.path[0]
        for key in refreshed.instance.all_asset_keys()
        if refreshed.instance.fetch_observations(key, limit=1).records
    }
    assert "handbook" in observed
    assert "chunks" not in observed


def failed(instance: dg.DagsterInstance, job: str, prefix: str | None) -> str:
    """A failed run of a job of that name."""

    @dg.op(name="broken")
    def broken() -> None:
        raise ValueError(f"{job} broke")

    tags = {"rag_assets/index": prefix} if prefix else {}
    made = dg.GraphDefinition(job, node_defs=[broken]).to_job(tags=tags)
    return made.execute_in_process(instance=instance, raise_on_error=False).run_id


def going(instance: dg.DagsterInstance, job: str, *, tags: dict[str, str]) -> str:
    @dg.op(name="endless")
    def endless() -> None:
        """It is not executed."""

    made = dg.GraphDefinition(job, node_defs=[endless]).to_job()
    started = dg.DagsterRunStatus.STARTED
    return instance.create_run_for_job(made, status=started, tags=tags).run_id


@pytest.fixture
def three(tmp_path):
    """The configs of two indexes with a prefix and one without, in the instance of none."""
    made = {}
    for prefix in (*INDEXES, None):
        config = configuration.Config(
            state_dir=tmp_path / (prefix or "plain"), dagster=Naming(key_prefix=prefix)
        )
        made[prefix] = config
    return made


def test_problems_are_told_of_the_own_runs_alone(three):
    with dg.instance_for_test() as instance:
        for prefix, config in three.items():
            failed(instance, config.dagster.name("nightly_refresh"), prefix)
        failed(instance, "their_job", None)
        for prefix, config in three.items():
            told = [one for one in runs.run_problems(instance, config) if one.kind == "run_failed"]
            assert [one.subject for one in told] == [config.dagster.name("nightly_refresh")], prefix


def test_single_assets_are_of_the_index_whose_keys_they_have(three):
    with dg.instance_for_test() as instance:
        for path in ("chunks", "handbook/chunks", "theirs", "handbook/theirs/chunks"):

            @dg.asset(key=path.split("/"))
            def broken() -> None:
                raise ValueError

            job = dg.Definitions(assets=[broken]).resolve_implicit_global_asset_job_def()
            job.execute_in_process(
                instance=instance, asset_selection=[broken.key], raise_on_error=False
            )
        told = {
            prefix: [one.subject for one in runs.run_problems(instance, config)]
            for prefix, config in three.items()
        }
    assert told == {
        "handbook": ["materialization of handbook/chunks"],
        "team/manuals": [],
        None: ["materialization of chunks"],
    }


def test_a_command_closes_the_killed_runs_of_its_own_index_alone(three):
    with dg.instance_for_test() as instance:
        begun = {
            prefix: going(
                instance,
                config.dagster.name("nightly_refresh"),
                tags={**config.dagster.tags, **lost_runs.ORIGIN},
            )
            for prefix, config in three.items()
        }
        assert lost_runs.close_dead_runs(instance, three["handbook"]) == 1
        status = {prefix: instance.get_run_by_id(one).status.name for prefix, one in begun.items()}
        assert status == {"handbook": "FAILURE", "team/manuals": "STARTED", None: "STARTED"}
        assert runs.is_running(instance, three["handbook"], within_seconds=1e9) is False


def test_a_clean_up_and_a_purge_leave_the_records_of_others(three):
    with dg.instance_for_test() as instance:
        made = {
            prefix: failed(instance, config.dagster.name("clean_up"), prefix)
            for prefix, config in three.items()
        }
        theirs = failed(instance, "clean_their_things_up", None)
        config, home = three["handbook"], Path(instance.root_directory)
        traces = Traces(
            names=frozenset({b"broke"}), longer=frozenset(), ngrams=frozenset(), words=frozenset()
        )
        found = run_records.affected_records(instance, config, home, traces)
        assert found.runs == [made["handbook"]]
        run_history.forget_old_runs(instance, config, keep_days=0, log=print)
        assert set(instance.get_run_ids()) == {made["team/manuals"], made[None], theirs}


def test_an_index_without_a_prefix_leaves_runs_of_other_code_locations_alone(three):
    """They may be of jobs that are called like its own."""
    config = three[None]
    with dg.instance_for_test() as instance:
        for location in ("theirs", config.dagster.code_location):
            run = dg.DagsterRun(
                job_name="training",
                status=dg.DagsterRunStatus.SUCCESS,
                remote_job_origin=dagster_instance.repository_origin(location).get_job_origin(
                    "training"
                ),
                tags={"place": location},
            )
            instance.add_run(run)
        run_history.forget_old_runs(instance, config, keep_days=0, log=print)
        assert [run.tags["place"] for run in instance.get_runs()] == ["theirs"]


def test_a_message_says_of_which_index_it_is_and_leads_to_its_asset(three):
    finding = runs.Finding(
        "asset_overdue",
        "chunks",
        since=runs.datetime.now(runs.UTC),
        reason="",
        remedy="",
        assets=("chunks",),
    )
    names = three["team/manuals"].dagster
    said = messages.message_of([Change(finding)], ui_url="https://d.example.com", names=names)
    assert said.title.startswith("rag_assets team/manuals on ")
    assert said.entries[0].link == "https://d.example.com/assets/team/manuals/chunks"


def test_a_command_is_recorded_in_the_instance_of_dagster_home_by_the_names_of_its_index(
    tmp_path, monkeypatch, capsys
):
    home = tmp_path / "dagster_home"
    home.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    made = project.make(tmp_path / "project", documents=2, rows=4)
    made.file.write_text((CONFIG % "handbook").partition("alerts:")[0])
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    with hashing():
        assert cli.main(["refresh", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)

    assert "chunks" in json.dumps(said)
    assert not (made.config.state_dir / "dagster").exists()
    with dg.DagsterInstance.from_config(str(home)) as instance:
        [run] = instance.get_runs()
        assert run.job_name == "handbook__nightly_refresh"
        assert run.tags["rag_assets/index"] == "handbook"
        origin = run.remote_job_origin.repository_origin
        assert origin.code_location_origin.location_name == "ours"
        assert instance.get_latest_materialization_event(dg.AssetKey(["handbook", "chunks"]))
        assert instance.get_latest_materialization_event(dg.AssetKey("chunks")) is None
    with dagster_instance.opened(made.config) as instance:
        assert runs.newest_nightly(instance, made.config, variant="default").dagster_run.run_id
    assert not (home / "dagster.yaml").exists(), "that folder is somebody's"


def test_commands_work_by_the_names_of_their_index(tmp_path, monkeypatch, capsys):
    """Those that choose assets or jobs, or look at runs."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)  # an instance for tests sets it
    made = project.make(tmp_path, documents=2, rows=4)
    made.file.write_text((CONFIG % "team/manuals").partition("alerts:")[0])
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))

    def said(*command: str) -> dict:
        capsys.readouterr()
        with hashing():
            assert cli.main([*command, "--json"]) == 0, command
        return json.loads(capsys.readouterr().out)

    refreshed = said("refresh")
    assert {"document_files", "chunks", "serving_index"} <= refreshed["assets"].keys()
    assert said("refresh")["assets"]["chunks"]["changed"] == 0
    said("variants", "backfill", "other")
    said("status")
    assert said("alerts")["problems"] == []
    said("clean-up")
    with dagster_instance.opened(made.config) as instance:
        jobs = Counter(run.job_name for run in instance.get_runs())
        first = {key.path[:2] == ["team", "manuals"] for key in instance.all_asset_keys()}
    assert jobs == {"team__manuals__nightly_refresh": 2, "team__manuals__backfill_variant": 1}
    assert first == {True}
