import pytest

from rag_assets_testing.documents.making import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def in_process(project):
    """Read its files in this process: a worker imports docling anew for each refresh."""
    project.execution["parsing"] = "in_process"
