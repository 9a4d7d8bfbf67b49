"""A project of beams and springs with its index, built for real, once in a run of the tests."""

from pathlib import Path

from rag_assets.config import Config
from rag_assets_testing import small_project
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import pipeline
from rag_assets_testing.faults.project import Project


def built(home: Path) -> Config:
    """The small project below `home`, with an index."""
    return beams_and_springs(home).config


@built_once
def beams_and_springs(home: Path) -> Project:
    home.mkdir()
    small_project.make(home)
    (home / "documents" / "spring.md").write_text(
        "# Springs\n\nA spring stores energy. Its stiffness is 12 N/mm at room temperature. "
        "The paint is red.\n"
    )
    made = Project(home)
    pipeline.refresh(made.config)
    return made
