import pytest

from rag_assets_testing.documents.making import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)
