"""Small projects that are built, as a refresh leaves them."""

from pathlib import Path

from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project


@built_once
def small(home: Path) -> Project:
    """Three documents and six rows, whose variant `default` serves."""
    made = project.make(home, documents=3, rows=6)
    with hashing():
        refresh(made.config)
    return made


@built_once
def small_of_two_variants(home: Path) -> Project:
    """As `small`, with the variant `other` beside it."""
    made = small(home)
    with hashing():
        refresh(made.config, variant="other")
    return made


@built_once
def whole(home: Path) -> Project:
    """Eight documents and 24 rows, whose variant `default` serves."""
    made = project.make(home)
    with hashing():
        refresh(made.config)
    return made


@built_once
def two_variants(home: Path) -> Project:
    """As `whole`, with the variant `other` beside it."""
    made = whole(home)
    with hashing():
        refresh(made.config, variant="other")
    return made
