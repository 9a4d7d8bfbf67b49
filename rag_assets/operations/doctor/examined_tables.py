"""The tables that the doctor looks at: those of all steps, each once, whoever shares them."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_assets.change.steps import Step
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.operations.doctor.faults import Fault, Log
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of


@dataclass(frozen=True, slots=True)
class Practice:
    """What is examined, and how thoroughly."""

    store: Store
    config: Config
    variants: Sequence[str]
    log: Log
    is_deep: bool = False


@dataclass(frozen=True, slots=True)
class ExaminedTable:
    """The table of a step, and who reads it."""

    step: Step
    variants: tuple[str, ...]
    """The variants that read the table; empty for a shared step."""

    def subject(self, store: Store) -> str:
        """The folder of the table, as people find it."""
        return folder_of(store.generation(self.step.table))

    def fault(self, store: Store, kind: str) -> Fault:
        """A finding on the table, whose step makes again what a repair takes away."""
        subject, variants = self.subject(store), self.variants
        return Fault(kind=kind, subject=subject, variants=variants, is_redone=True)


def step_tables(practice: Practice) -> list[ExaminedTable]:
    """All tables of the variants that are examined and of the shared steps, in building order."""
    found: dict[str, ExaminedTable] = {}
    for step in STEPS.shared(practice.config).values():
        found[step.table] = ExaminedTable(step, ())
    for variant in practice.variants:
        for step in STEPS.of_variant(practice.config, variant).values():
            name = practice.store.known_as(step.table)
            known = found.get(name, ExaminedTable(step, ()))
            found[name] = ExaminedTable(known.step, (*known.variants, variant))
    return list(found.values())
