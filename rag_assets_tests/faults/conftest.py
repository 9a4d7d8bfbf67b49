import pytest

from rag_assets_testing.faults import project
from rag_assets_testing.faults.kills import Killing
from rag_assets_testing.faults.pipeline import Runs


@pytest.fixture(scope="session")
def runs() -> Runs:
    """Starts runs that may be killed; the process they are forked from lives as long as pytest."""
    return Runs()


@pytest.fixture(scope="session")
def killing(tmp_path_factory, runs) -> Killing:
    """A project with two editions of its sources, and what a build of each holds."""
    made = Killing(project.make(tmp_path_factory.mktemp("killed")), runs=runs, seed=1)
    made.prepare()
    return made
