"""The same work in this process, in worker processes and on a Ray cluster."""

import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from rag_assets.config import Config, Execution, ParserSettings, Variant
from rag_assets.documents.chunks.chunk import refresh_chunks
from rag_assets.documents.elements.parse import refresh_elements
from rag_assets.index.embed import refresh_units
from rag_assets.index.encoders import encoder_of
from rag_assets.index.units import chunk_source
from rag_assets.models import paths
from rag_assets.workers import WARM_UP_SECONDS, Done, Failed, Pool, Task, ray_pool
from rag_assets.workers.executors import Threads, for_embedding, for_parsing, outcomes
from rag_assets.workers.ray_pool import ClusterError, ClusterShare, RayPool, shared, versions_of
from rag_assets_testing.documents.making import SENTENCE, Project, pdf
from rag_assets_testing.embedding import refresh_documents
from rag_assets_tests.models.tiny import PLAIN_MODELS

pytestmark = pytest.mark.filterwarnings("ignore:lance is not fork-safe")

TASKS = "rag_assets_tests.workers.worker_tasks"
MEMORY = 4 << 30


def silent(_):
    """Progress that nobody reads."""


@pytest.fixture(scope="module")
def cluster():
    """A real cluster on this machine."""
    ray = pytest.importorskip("ray", reason="needs the extra: pip install 'rag-assets[ray]'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        "local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 << 20,
    )
    yield
    ray.shutdown()


def task(key, function, seconds=60.0, file=None, **arguments):
    return Task(str(key), f"{TASKS}:{function}", arguments, seconds, file)


def all_of(executor, tasks):
    with executor:
        return {task.key: outcome for task, outcome in outcomes(executor, iter(tasks))}


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """Three documents, one of which is no document."""
    project = Project(tmp_path_factory.mktemp("sources"))
    pages = [f"<h1>Part {n}</h1><p>{SENTENCE * (1 + n)}</p>" for n in range(5)]
    pdf(project.folder / "long.pdf", pages)
    project.write("notes.md", "# Notes\n\n" + "\n\n".join(SENTENCE for _ in range(30)))
    project.write("bad.pdf", b"%PDF-1.7 and nothing more")
    return project.folder


def prepared(documents, state, place):
    """The manifest of the documents in a state of its own, and the config."""
    project = Project(state, pages_per_task=2)
    project.folder = documents
    project.list_files()
    config = Config(
        state_dir=project.store.root,
        sources={"documents": str(documents)},
        parsers={"plain": ParserSettings(**project.settings)},
        variants={"default": Variant(parser="plain", chunking="fixed_256", model="minilm")},
        models=PLAIN_MODELS,
        execution=Execution(parsing=place, embedding=place, workers=2),
    )
    return project.store, config


def built(documents, state, place):
    """The tables that come of parsing, cutting and embedding, sorted, and what is reported."""
    store, config = prepared(documents, state, place)
    parsed = refresh_elements(store, config, parser="plain", log=silent)
    refresh_chunks(store, config, parser="plain", chunking="fixed_256", log=silent)
    embedded = refresh_documents(store, config, variant="default", log=silent)
    assert [(failure.label, failure.kind) for failure in parsed.failures] == [("bad.pdf", "input")]
    assert parsed.pages == 5
    assert embedded.embedded > 3
    tables = config.tables_of("default")
    return [
        store.read(tables.elements).sort_by("element_id"),
        store.read(tables.chunks).sort_by("chunk_id"),
        store.read(tables.documents).sort_by("unit_id"),
        [parsed.failures, parsed.data_version, embedded.report.data_version, embedded.encoder_id],
    ]


def assert_alike(units, others):
    """Vectors may differ in their last digits, which on some CPUs hang on the number of threads."""
    assert units.drop_columns("vector") == others.drop_columns("vector")
    assert np.allclose(units["vector"].to_pylist(), others["vector"].to_pylist(), atol=1e-5)


def assert_as_in_one_process(found, in_process):
    *tables, units, report = found
    *first_tables, first_units, first_report = in_process
    assert (tables, report) == (first_tables, first_report)
    assert_alike(units, first_units)


@pytest.fixture(scope="module")
def in_process(documents, tmp_path_factory):
    return built(documents, tmp_path_factory.mktemp("built"), "in_process")


def test_worker_processes_give_the_tables_of_one_process(documents, tmp_path, in_process):
    assert_as_in_one_process(built(documents, tmp_path, "processes"), in_process)


@pytest.mark.nightly(guards=["rag_assets/workers"])
def test_a_ray_cluster_gives_the_tables_of_one_process(documents, tmp_path, in_process, cluster):
    assert_as_in_one_process(built(documents, tmp_path, "ray"), in_process)


@pytest.mark.nightly(guards=["rag_assets/workers"])
def test_the_path_of_a_model_is_chosen_on_the_cluster(documents, tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(paths, "choose", lambda *_, **__: pytest.fail("chosen here"))
    store, config = prepared(documents, tmp_path, "ray")
    found = encoder_of(store, config, model="minilm")
    assert found.encoder_id.endswith(("/cpu/torch/fp32", "/cpu/torch/bf16"))


@pytest.mark.parametrize(
    "make", [lambda: Threads(2), lambda: Pool(size=2)], ids=["threads", "pool"]
)
def test_tasks_are_drawn_no_faster_than_they_are_done(make):
    drawn = []

    def tasks():
        for number in range(40):
            drawn.append(number)
            yield task(number, "echo", value=number)

    most = 0
    with make() as executor:
        for done, _ in enumerate(outcomes(executor, tasks()), start=1):
            most = max(most, len(drawn) - done)
    assert len(drawn) == 40
    assert most <= 5


def test_a_thread_gives_up_the_task_that_nobody_waits_for():
    with Threads(1) as executor:
        executor.submit(task("endless", "endless"))
    [(_, outcome)] = executor.finished()
    assert outcome == Failed("error", "nobody waits for this any more", "AbandonedError")


@pytest.mark.nightly(guards=["rag_assets/workers"])
def test_limits_hold_on_a_cluster_and_a_task_that_breaks_them_costs_only_itself(tmp_path, cluster):
    (tmp_path / "one.txt").write_text("one")
    (tmp_path / "two.txt").write_text("two")
    done = all_of(
        RayPool(size=1, memory_bytes=1 << 30),
        [
            task("one", "read_text", file=tmp_path / "one.txt"),
            task("hang", "slow", seconds=0.5 - WARM_UP_SECONDS, value=1),  # a first call has more
            task("crash", "crash", number=signal.SIGSEGV),
            task("hog", "hog"),
            task("two", "read_text", file=tmp_path / "two.txt"),
        ],
    )
    assert done["one"] == Done(["one.txt", "one"])
    assert done["two"] == Done(["two.txt", "two"])
    kinds = {key: outcome.kind for key, outcome in done.items() if isinstance(outcome, Failed)}
    assert kinds == {"hang": "timeout", "crash": "crash", "hog": "memory"}


@pytest.mark.nightly(guards=["rag_assets/workers"])
def test_a_node_runs_a_task_in_the_interpreter_that_it_names(cluster, tasks_elsewhere):
    done = all_of(RayPool(size=1, memory_bytes=1 << 30), tasks_elsewhere)
    assert isinstance(done["a.txt"], Done)
    assert [element["text"] for element in done["a.txt"].value] == ["One.", "Two."]
    assert isinstance(done["a.md"], Failed)
    assert "markdown_it" in done["a.md"].reason


@pytest.mark.nightly(guards=["rag_assets/workers"])
def test_a_task_whose_ray_worker_dies_twice_is_a_crash_and_the_others_are_done(cluster):
    done = all_of(
        RayPool(size=2, calls_at_once=2),
        [task("crash", "die"), *(task(n, "echo", value=n) for n in range(6))],
    )
    crash = done.pop("crash")
    assert isinstance(crash, Failed)
    assert crash.kind == "crash"
    assert [outcome for outcome in done.values() if isinstance(outcome, Failed)] == []


@pytest.mark.nightly(guards=["rag_assets/workers"])
def test_texts_whose_workers_are_lost_are_embedded_by_the_next_refresh(
    documents, tmp_path, in_process, cluster
):
    store, config = prepared(documents, tmp_path, "ray")
    refresh_elements(store, config, parser="plain", log=silent)
    refresh_chunks(store, config, parser="plain", chunking="fixed_256", log=silent)
    tables = config.tables_of("default")
    deadly = replace(
        encoder_of(store, config, model="minilm"), task=lambda key, _: task(key, "die")
    )
    lost = refresh_units(
        store,
        source=chunk_source(tables.chunks),
        target=tables.documents,
        encoder=deadly,
        execution=config.execution,
        log=silent,
    )
    assert {failure.kind for failure in lost.report.failures} == {"environment"}
    assert lost.report.failed == store.count(tables.chunks)
    again = refresh_documents(store, config, variant="default", log=silent)
    assert again.report.failed == 0
    assert_alike(store.read(tables.documents).sort_by("unit_id"), in_process[2])


@pytest.mark.nightly(guards=["rag_assets/workers"])
def test_a_node_with_other_packages_is_refused(cluster):
    with RayPool(packages=["pypdfium2"]) as pool:
        pool._versions["pypdfium2"] = "1.0"
        pool.submit(task("a", "echo", value=1))
        with pytest.raises(ClusterError, match=r"pypdfium2 1\.0: install the same"):
            list(pool.finished())


def test_ray_is_asked_for_only_when_there_is_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    execution = Execution(parsing="ray", embedding="ray")
    with (
        for_parsing(execution, memory_bytes=MEMORY, packages=[]) as parsing,
        for_embedding(execution, device="cpu") as embedding,
    ):
        assert parsing.has_room
        assert list(embedding.finished()) == []
        parsing.submit(task("a", "echo", value=1))
        with pytest.raises(ClusterError, match=r"pip install 'rag-assets\[ray\]'"):
            list(parsing.finished())


def test_an_address_without_a_cluster_is_named(monkeypatch):
    pytest.importorskip("ray", reason="needs the extra: pip install 'rag-assets[ray]'")
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with RayPool(address="127.0.0.1:1") as pool:
        pool.submit(task("a", "echo", value=1))
        with pytest.raises(ClusterError, match=r"127\.0\.0\.1:1.*execution\.ray_address"):
            list(pool.finished())


@pytest.mark.parametrize(
    ("address", "host"),
    [("127.0.0.1:6379", "127.0.0.1"), ("[::1]:6379", "::1"), ("ray://head:10001", "head")],
)
def test_a_cluster_is_knocked_at_where_its_address_says(monkeypatch, address, host):
    knocked = []

    def connect(place, timeout):
        knocked.append(place[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(ray_pool.socket, "create_connection", connect)
    with pytest.raises(ConnectionRefusedError):
        ray_pool._knock_at(address)
    assert knocked == [host]


NODE = {"CPU": 16.0, "memory": 1e9}


@pytest.mark.parametrize(
    ("nodes", "wishes", "share"),
    [
        ([NODE, NODE], {"isolated": True}, ClusterShare(workers=32, cpus=1, gpus=0)),
        ([NODE, NODE], {"isolated": True, "size": 3}, ClusterShare(workers=3, cpus=1, gpus=0)),
        ([NODE, NODE, {"memory": 1.0}], {}, ClusterShare(workers=2, cpus=16, gpus=0)),
        ([NODE, NODE], {"size": 8}, ClusterShare(workers=8, cpus=4, gpus=0)),
        ([NODE, NODE], {"size": 1}, ClusterShare(workers=1, cpus=16, gpus=0)),
        ([NODE, NODE | {"GPU": 4}], {"device": "cuda"}, ClusterShare(workers=4, cpus=1, gpus=1)),
        ([NODE, NODE | {"GPU": 4}], {"device": None}, ClusterShare(workers=4, cpus=1, gpus=1)),
        ([NODE, NODE | {"GPU": 4}], {}, ClusterShare(workers=2, cpus=16, gpus=0)),
    ],
)
def test_a_cluster_is_shared_out_by_what_its_nodes_have(nodes, wishes, share):
    defaults = {"size": None, "isolated": False, "device": "cpu"}
    assert shared(nodes, **{**defaults, **wishes}) == share


def test_a_cluster_without_a_gpu_cannot_compute_what_was_computed_on_one():
    with pytest.raises(ClusterError, match="no GPU"):
        shared([NODE], size=None, isolated=False, device="cuda")


def test_versions_are_those_of_the_installed_packages():
    assert versions_of(["pyarrow", "no-such-package"]) == {
        "pyarrow": pa.__version__,
        "no-such-package": "none",
    }
