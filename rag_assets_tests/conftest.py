"""What all tests share."""

import subprocess
import sys

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None)  # a busy machine is not a failure
settings.load_profile("project")


@pytest.fixture(scope="session")
def another_python(tmp_path_factory):
    """An interpreter without any package."""
    folder = tmp_path_factory.mktemp("another") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"
