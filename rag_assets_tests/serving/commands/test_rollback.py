"""`rag-assets variants rollback`: what it says that it did."""

import pytest

from rag_assets import config as configuration
from rag_assets.operations.serving_index.promotion import promote
from rag_assets.operations.serving_index.rollback import roll_back
from rag_assets.serving import cli
from rag_assets.serving.replies import OK
from rag_assets_testing.faults import project
from rag_assets_testing.faults.built import small
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh


@pytest.fixture
def moved(tmp_path, monkeypatch):
    """A project whose second index serves, number 2."""
    with hashing():
        made = small(tmp_path / "made")
        made.write("series0/report0.md", project.report(0, edition=7))
        refresh(made.config)
        monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
        yield made


def test_what_serves_again_is_not_said_to_be_unable_to_serve(moved, capsys):
    """The newest earlier record is a rollback itself: what it restored is what serves again."""
    roll_back(moved.store, moved.config)
    promote(moved.store, moved.config, "default", log=print)
    capsys.readouterr()

    assert cli.main(["variants", "rollback"]) == OK
    said = capsys.readouterr().out
    assert "Variant default as of number 1 serves again (number 5)" in said
    assert "cannot serve" not in said
