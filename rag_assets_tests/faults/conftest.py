import pytest

from rag_assets_tests.faults.pipeline import Runs


@pytest.fixture(scope="session")
def runs() -> Runs:
    """Starts runs that may be killed; the process they are forked from lives as long as pytest."""
    return Runs()
