"""Whether a table holds a row of each input, of the input as it is, and no other.

What its step would do is asked of the step itself (`StepKind.derivation`), with all inputs held
against all rows. A table whose record says that it was made from older inputs waits for a refresh;
where the record says that nothing is due, each difference is a fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change.deciding import OTHER_COLUMNS, Plan, decide
from rag_assets.change.steps import StepContext
from rag_assets.config import ConfigError
from rag_assets.documents.parsers.description import ParserUnavailableError
from rag_assets.graph import STEPS
from rag_assets.models.hosted import ServerError
from rag_assets.models.weights import WeightsError
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice
from rag_assets.operations.doctor.faults import EXAMPLES, Fault, reopened
from rag_assets.store import serving_pointer
from rag_assets.tables.exported import ExportRunsError

REFRESH = "rag-assets refresh"
NOT_COMPARED = (ConfigError, ExportRunsError, ParserUnavailableError, ServerError, WeightsError)
"""Why a step cannot say what it would do: something is not on this machine, or at work."""


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What one step would do to its table, by the keys of its inputs."""

    asset: str
    plan: Plan

    @property
    def added(self) -> Sequence[str]:
        """Keys of inputs of which the table holds nothing: missing units."""
        return self._pending.slice(0, self.plan.added).to_pylist()

    @property
    def changed(self) -> Sequence[str]:
        """Keys of inputs that are other than when the rows were made: stale units."""
        return self._pending.slice(self.plan.added).to_pylist()

    @property
    def removed(self) -> Sequence[str]:
        """Keys of inputs that are gone, while the table still holds rows of them: orphans."""
        return self.plan.removed

    @property
    def unfinished(self) -> Sequence[str]:
        """Keys in quarantine whose input is still the one that failed."""
        is_valid = pc.is_in(self.plan.entries["key"], pa.array([*self.plan.valid], pa.string()))
        return self.plan.entries["key"].filter(is_valid).to_pylist()

    @property
    def unchanged(self) -> int:
        """Number of inputs for which nothing is to be done."""
        return self.plan.unchanged

    @property
    def differs(self) -> Sequence[str]:
        """The names of what the table is made from that is other than at the last pass."""
        return self.plan.differs

    @property
    def _pending(self) -> pa.ChunkedArray:
        if self.plan.pending is None:
            return pa.chunked_array([], pa.string())
        return self.plan.pending["key"]


def plan_of(practice: Practice, table: ExaminedTable) -> StepPlan | None:
    """What the step of a table would do; None where nothing says so, or it cannot run here."""
    step, variants = table.step, table.variants or tuple(practice.variants)
    work = StepContext(
        store=practice.store, config=practice.config, variant=variants[0], steps=STEPS
    )
    try:
        made = step.kind.derivation(work)
        return StepPlan(step.asset, decide(made, afresh=True)) if made else None
    except NOT_COMPARED as error:
        practice.log(f"{table.subject(practice.store)} is not compared with its inputs: {error}")
        return None


def waiting(practice: Practice, table: ExaminedTable, planned: StepPlan) -> Fault | None:
    """Whether a refresh has to bring the table up to date, as its record says."""
    fault = partial(
        Fault,
        subject=table.subject(practice.store),
        variants=table.variants,
        mends=[reopened(table.step.table)],
        is_redone=True,
    )
    if planned.plan.rebuild_reason:
        is_older = planned.plan.rebuild_reason == OTHER_COLUMNS
        kind = "other-columns" if is_older else "lost"
        return fault(kind=kind, reason=planned.plan.rebuild_reason)
    if not planned.differs:
        return None
    return fault(
        kind=behind(practice, table),
        count=max(1, len(planned.added) + len(planned.changed) + len(planned.removed)),
        reason=f"{', '.join(planned.differs)} changed since: {len(planned.added):,} to add, "
        f"{len(planned.changed):,} to change, {len(planned.removed):,} to remove",
        remedy=command_of(table),
    )


def behind(practice: Practice, table: ExaminedTable) -> str:
    """The kind of a table that waits for a refresh: a note where nothing that serves reads it."""
    serving = serving_pointer.serving_variant(practice.store, practice.config)
    is_served = not table.variants or serving in table.variants
    return "behind" if is_served else "behind-unserved"


def faults_of(practice: Practice, table: ExaminedTable, planned: StepPlan) -> Iterator[Fault]:
    """What the step would do, although its record says that nothing is due."""
    failed = set(planned.unfinished)
    found = {
        "missing": [key for key in planned.added if key not in failed],
        "stale": [key for key in planned.changed if key not in failed],
        "orphan": planned.removed,
    }
    for kind, keys in found.items():
        if keys:
            yield _of_keys(practice, table, kind, keys)


def command_of(table: ExaminedTable) -> str:
    """The refresh that brings a table up to date."""
    if not table.variants:
        return REFRESH
    return f"{REFRESH} --variant {table.variants[0]}"


def _of_keys(practice: Practice, table: ExaminedTable, kind: str, keys: Sequence[str]) -> Fault:
    return replace(
        table.fault(practice.store, kind),
        count=len(keys),
        examples=keys[:EXAMPLES],
        mends=[reopened(table.step.table)],
    )
