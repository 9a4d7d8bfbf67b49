"""What all tests share."""

import os
import signal
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, settings

from rag_assets.workers import Task

BUSY_MACHINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
"""A slow machine is not a failure."""
settings.register_profile("project", derandomize=True, **BUSY_MACHINE)
settings.register_profile(
    "fuzz",
    print_blob=True,
    phases=[phase for phase in Phase if phase is not Phase.explicit],
    **BUSY_MACHINE,
)
settings.load_profile("project")

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell starts what runs in the background with interrupts ignored."""


@pytest.fixture(autouse=True)
def keep_priority(monkeypatch):
    """A command that yields to others runs in the process of the tests, which goes on after it."""
    monkeypatch.setattr(os, "setpriority", lambda *_: None)


@pytest.fixture(autouse=True)
def answer_interrupts():
    """A library that an earlier test used may have left the process to die of an interrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
