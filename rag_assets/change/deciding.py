"""What a refresh would do to a table: decided by reading alone, nothing is written.

`refresh` decides first and then does what the plan says; whoever only wants to know asks `decide`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change.changing_inputs import ChangingInputs
from rag_assets.change.data_versions import Identities
from rag_assets.change.difference import (
    INPUTS,
    CountedInputs,
    Difference,
    InputChanges,
    compare,
    compare_changes,
)
from rag_assets.change.quarantine import (
    ENTRIES,
    Failure,
    entries,
    quarantined,
    valid_entries,
    waiting,
)
from rag_assets.change.work import Derivation, Inputs, Target
from rag_assets.identity import fingerprint
from rag_assets.process import clock
from rag_assets.store import PassRecord

OTHER_COLUMNS = "it has the columns of another release"


@dataclass(slots=True, kw_only=True)
class Plan:
    """What a refresh would do to a table."""

    target: Target
    parts: Mapping[str, str]
    """What the table is made from now, by name."""
    recipe: Mapping[str, str] = field(default_factory=dict)
    """The parts of the recipe as they are now: see `Derivation.recipe`."""
    differs: Sequence[str] = ()
    """The names of those parts that are other than at the last complete pass; all of them if there
    was none, or if it is not known what it was made from."""
    is_up_to_date: bool = False
    """A complete pass was made from the same, and nothing waits to be tried again."""
    rebuild_reason: str | None = None
    """Why the table is begun anew, if it is; what it holds is kept for those who read it."""
    inputs: int = 0
    """Number of all inputs."""
    added: int = 0
    changed: int = 0
    removed: Sequence[str] = ()
    """Keys of inputs that are gone."""
    unchanged: int = 0
    failures: Sequence[Failure] = ()
    """Inputs in quarantine; read here only where the table is up to date."""
    today: date = field(default_factory=lambda: clock.today())
    """A pass that ends after midnight is of the day on which it began."""
    finished: PassRecord | None = None
    """The last complete pass, if the table is as it left it."""
    before: Identities | None = None
    """The rows of the table before the pass; None if it has none, or is begun anew."""
    read_at: Mapping[str, str] | None = None
    """The versions of the tables whose rows are the inputs: see `ChangingInputs.read_at`."""
    is_settled: bool = True
    """Whether the inputs were made from the same parts before and after they were read."""
    entries: pa.Table = field(default_factory=partial(pa.Table.from_batches, [], schema=ENTRIES))
    """What stands in quarantine for the table (`ENTRIES`). `Schema.empty_table` would import
    pandas, which a refresh with nothing to do may not need."""
    valid: frozenset[str] = frozenset()
    """Keys in quarantine whose input is still the one that failed."""
    to_replace: frozenset[str] = frozenset()
    """Keys of the changed inputs: the table holds rows of them, which are replaced."""
    pending: pa.Table | None = None
    """The inputs to be done (schema `INPUTS`), the added ones first."""

    @property
    def made_from(self) -> str:
        """Fingerprint of the parts."""
        return fingerprint_of(self.parts)

    def hand_over(self) -> pa.Table:
        """The inputs to be done, which are not kept here any longer: they may be a million."""
        pending, self.pending = self.pending, None
        assert pending is not None, "they are handed over once"
        return pending


def decide(derivation: Derivation, *, retry: bool = False, afresh: bool = False) -> Plan:
    """What a refresh of the table would do, as far as that is known without landing anything.

    Args:
        derivation: The table and what it is made from.
        retry: Also try again what failed on its own content, or at a limit.
        afresh: Hold all inputs against all rows, whatever the record of the last pass says.

    Raises:
        DamagedTablesError: Files of the table cannot be read.
    """
    plan = check_completed(derivation, retry=retry)
    if afresh or not plan.is_up_to_date:
        plan.is_up_to_date = False
        compare_inputs(plan, derivation, retry=retry, afresh=afresh)
    return plan


def check_completed(derivation: Derivation, *, retry: bool) -> Plan:
    """Check whether the last complete pass still holds: the first half of `decide`.

    No input is read, unless a side table is gone.
    """
    store = derivation.store
    target = replace(derivation.target, name=store.known_as(derivation.target.name))
    plan = Plan(target=target, parts=derivation.made_from(), recipe=derivation.recipe)
    plan.rebuild_reason = (
        derivation.lost() if derivation.lost and store.exists(target.name) else None
    )
    finished = store.completion(target.name)
    plan.differs = _differs(plan.parts, finished or store.ended(target.name))
    failures = quarantined(store, target.name) if finished and finished.failed else []
    is_known = finished is not None and len(failures) == finished.failed
    is_same = finished is not None and finished.made_from == plan.made_from
    if finished and is_same and is_known and not (plan.rebuild_reason or (retry and failures)):
        store.check_as_left(target.name, finished)
        plan.is_up_to_date = True
        plan.inputs, plan.unchanged = finished.inputs, finished.inputs - finished.failed
        plan.failures, plan.finished = failures, finished
    return plan


def compare_inputs(
    plan: Plan, derivation: Derivation, *, retry: bool, afresh: bool = False
) -> None:
    """The second half of `decide`: which inputs are to be done, and what is gone."""
    store, target = derivation.store, plan.target
    finished = store.completion(target.name)
    inputs = derivation.inputs()
    plan.read_at = inputs.read_at() if isinstance(inputs, ChangingInputs) else None
    # Inputs may have moved while they were opened: such a pass is not proof of a no-op.
    plan.is_settled = fingerprint_of(derivation.made_from()) == plan.made_from
    is_there = store.exists(target.name)
    if is_there and {*store.schema(target.name).names} != {*target.schema.names}:
        plan.rebuild_reason = plan.rebuild_reason or OTHER_COLUMNS
    if is_there and plan.rebuild_reason is None:
        plan.before = Identities.of(store, target.name, key=target.group)
        # A table that is begun anew has no entries: all inputs are tried again.
        plan.entries = entries(store, target.name)
    plan.finished = finished if finished and _is_as_left(finished, plan) else None
    _compare(plan, inputs, retry=retry, afresh=afresh)


def _compare(plan: Plan, inputs: Inputs, *, retry: bool, afresh: bool) -> None:
    """Hold the inputs against the target, or against those of the last pass where that can be."""
    difference: Difference
    is_whole = afresh or (retry and len(plan.entries) > 0)
    changes = None if is_whole else _input_changes(inputs, plan.finished)
    if changes:
        plan.inputs = changes.count
        failed = changes.as_they_are_now(plan.entries.select(INPUTS.names))
        difference = compare_changes(changes, quarantined=failed)
    else:
        every = CountedInputs(inputs, keys=plan.entries["key"])
        difference = compare(every, plan.before or _NoRows())
        plan.inputs, failed = every.count, every.quarantined
        if retry:
            difference = difference.marked_changed(failed)
    blocked = [] if retry else waiting(plan.entries, inputs=failed, today=plan.today)
    plan.valid = frozenset(valid_entries(plan.entries, inputs=failed))
    added, changed = (_without(part, blocked) for part in (difference.added, difference.changed))
    plan.added, plan.changed = added.num_rows, changed.num_rows
    plan.removed, plan.unchanged = difference.removed, difference.unchanged
    plan.to_replace = frozenset(changed["key"].to_pylist())
    plan.pending = pa.concat_tables([added, changed])


def fingerprint_of(parts: Mapping[str, str]) -> str:
    """What stands for everything that a table is made from: for one part, that part itself."""
    values = list(parts.values())
    return values[0] if len(values) == 1 else fingerprint(*values)


def _differs(parts: Mapping[str, str], ended: PassRecord | None) -> list[str]:
    """The names of `parts` that are other than those the pass `ended` was made from."""
    before = (ended.parts if ended else None) or {}
    return [name for name, value in parts.items() if before.get(name) != value]


def _is_as_left(finished: PassRecord, plan: Plan) -> bool:
    """Whether the target and its quarantine are what the pass `finished` left behind."""
    if plan.before is None:
        return False
    files = plan.before.store.files(plan.before.name, version=plan.before.version)
    return (finished.files, finished.failed) == (files, len(plan.entries))


def _input_changes(inputs: Inputs, finished: PassRecord | None) -> InputChanges | None:
    """How `inputs` differ from those that the pass `finished` was made from, if it can be told."""
    if finished is None or finished.read_at is None or not isinstance(inputs, ChangingInputs):
        return None
    return inputs.since(finished.read_at)


class _NoRows:
    """The rows of a table that is not there."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(())

    def at(
        self,
        row_ids: np.ndarray,  # noqa: ARG002 - of no rows, whichever are asked for
        *,
        rows: int,  # noqa: ARG002 - there are none
    ) -> Iterator[pa.RecordBatch]:
        return iter(())


def _without(inputs: pa.Table, keys: list[str]) -> pa.Table:
    if not keys:
        return inputs
    return inputs.filter(pc.invert(pc.is_in(inputs["key"], pa.array(keys, pa.string()))))
