"""A project of beams and springs with its index, built for real."""

from pathlib import Path

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets_testing import small_project
from rag_assets_testing.faults import pipeline


def built(home: Path) -> Config:
    """The small project below `home`, with an index."""
    small_project.make(home)
    (home / "documents" / "spring.md").write_text(
        "# Springs\n\nA spring stores energy. Its stiffness is 12 N/mm at room temperature. "
        "The paint is red.\n"
    )
    config = configuration.load(home / "rag_assets.yaml")
    pipeline.refresh(config)
    return config
