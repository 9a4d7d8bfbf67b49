"""What all tests share."""

import ctypes
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings

from rag_assets.models import embedding, openvino, paths, rerankers
from rag_assets.models.weights import weights_of
from rag_assets.process import user_cache
from rag_assets.process.memory import share_arenas
from rag_assets.workers import Task
from rag_assets_testing import built_once, effort
from rag_assets_tests import durations, nightly
from rag_assets_tests.models import exporting

BUSY_MACHINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
"""A slow machine is not a failure."""
settings.register_profile("day", derandomize=True, max_examples=effort.BY_DAY, **BUSY_MACHINE)
settings.register_profile(
    "night",
    print_blob=True,
    max_examples=effort.AT_NIGHT,
    phases=[phase for phase in Phase if phase is not Phase.explicit],
    **BUSY_MACHINE,
)
settings.load_profile("night" if effort.is_night() else "day")

MUCH_MEMORY = 2e9
"""Bytes of a process from which on it gives back what the next tests may not need."""

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell starts what runs in the background with interrupts ignored."""

share_arenas()  # as every command does

gc.disable()  # until all tests are collected: little of what is imported is ever garbage


def pytest_collection_modifyitems(config, items):
    """By day, what is left to the night does not run; at night, the longest files start first."""
    if effort.is_night():
        durations.put_longest_first(items)
    else:
        nightly.leave_out(config, items)


def pytest_collection_finish():
    """What was imported for all tests stays: the garbage collector need not walk it each time."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure():
    """The process ends as it would: libraries tell of what was not freed."""
    gc.unfreeze()


@pytest.fixture(scope="module", autouse=True)
def give_memory_back(load_each_model_once):
    """What the tests of a file used is not held until the end of the run, models included."""
    yield
    if psutil.Process().memory_info().rss > MUCH_MEMORY:
        load_each_model_once.clear()
        embedding._loaded.cache_clear()
        rerankers._loaded.cache_clear()
        gc.collect()
        pa.default_memory_pool().release_unused()
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # of glibc alone
            trim(0)


@pytest.fixture(autouse=True)
def keep_priority(monkeypatch):
    """A command that yields to others runs in the process of the tests, which goes on after it."""
    monkeypatch.setattr(os, "setpriority", lambda *_: None)


@pytest.fixture(scope="session")
def folder_of_this_run(tmp_path_factory) -> Path:
    """A folder that all processes of this run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def make_each_thing_once(folder_of_this_run):
    """What projects derive from packages and weights is made once for all processes of this run.

    So are the projects that tests get copies of. Commands that tests start share it, too. Tests of
    `models` keep to their own: there it is what is tested.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(user_cache.VARIABLE, str(folder_of_this_run / "derived"))
        patch.setenv(built_once.SHARED, str(folder_of_this_run))
        patch.delenv("DAGSTER_HOME", raising=False)  # the instance of whoever runs the tests
        yield


@pytest.fixture(scope="session", autouse=True)
def load_each_model_once():
    """Each model is loaded once in a process of tests, and its path chosen once.

    An export takes seconds, and PyTorch never frees what it has traced: a process does it that
    ends. A loaded model takes hundreds of megabytes, and the choice of its path computes it twice:
    projects of one process share both. Tests of `models`, where this is what is tested, do all of
    it themselves.
    """
    export, compiled, choose = openvino._export, openvino._compile, paths.choose
    loaded, chosen = {}, {}

    def is_tested():
        return "/models/" in os.environ.get("PYTEST_CURRENT_TEST", "")

    def exported_elsewhere(weights, folder):
        if is_tested():
            export(weights, folder)
            return
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawned) as pool:
            pool.submit(exporting.export, weights, folder).result()

    def loaded_once(folder, *, precision):
        if is_tested():
            return compiled(folder, precision=precision)
        key = folder.parent.name, folder.name, precision  # the first begins with the model's id
        if key not in loaded:
            loaded[key] = compiled(folder, precision=precision)
        return loaded[key]

    def chosen_once(model, *, weights=None, home=None):
        weights = weights or weights_of(model, home=home)
        if is_tested():
            return choose(model, weights=weights, home=home)
        key = model, weights.model_id, openvino.is_installed()
        if key not in chosen:
            chosen[key] = choose(model, weights=weights, home=home)
        return chosen[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "choose", chosen_once)
        patch.setattr(openvino, "_export", exported_elsewhere)
        patch.setattr(openvino, "_compile", loaded_once)
        yield loaded


@pytest.fixture(scope="session")
def another_python(tmp_path_factory):
    """An interpreter without any package."""
    folder = tmp_path_factory.mktemp("another") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


@pytest.fixture
def tasks_elsewhere(another_python, tmp_path):
    """Plain text and Markdown, to be read by another interpreter: there only the first can be."""
    plain = tmp_path / "a.txt"
    plain.write_text("One.\n\nTwo.")
    markdown = tmp_path / "a.md"
    markdown.write_text("# One")
    function, arguments = "rag_assets.documents.parsers.text.markdown:parse", {"pages": None}
    return [
        Task(file.name, function, arguments, 60, file=file, python=another_python)
        for file in (plain, markdown)
    ]
