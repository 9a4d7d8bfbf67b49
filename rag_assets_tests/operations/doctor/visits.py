"""Examinations and repairs of a project that was broken on purpose."""

from collections.abc import Sequence
from unittest.mock import patch

from rag_assets.operations.doctor import repairing
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.examining import Examination, examine
from rag_assets.operations.doctor.repairing import Repair
from rag_assets.store import Store
from rag_assets_testing.faults.project import Project


def practice(
    made: Project, *, variants: Sequence[str] = ("default",), deep: bool = False
) -> Practice:
    """The doctor's view of a project, as a new process has it."""
    config = made.config
    return Practice(Store.of(config), config, variants, lambda _: None, is_deep=deep)


def examined(
    made: Project, *, variants: Sequence[str] = ("default",), deep: bool = False
) -> Examination:
    """What an examination finds."""
    return examine(practice(made, variants=variants, deep=deep))


def codes(found: Examination) -> list[str]:
    """The codes of what is wrong, notes apart."""
    return sorted({fault.code for fault in found.found})


def repaired(
    made: Project, *, variants: Sequence[str] = ("default",), deep: bool = False
) -> Repair:
    """What a repair does."""
    return repairing.repair(practice(made, variants=variants, deep=deep))


def looked_and_repaired(made: Project) -> tuple[Examination, Repair]:
    """What a repair sees at its first look, and what it does."""
    looks: list[Examination] = []

    def look(practice: Practice) -> Examination:
        looks.append(examine(practice))
        return looks[-1]

    with patch.object(repairing, "examine", look):
        done = repaired(made)
    return looks[0], done
