"""The rule of change, once: transform what changed, delete what is gone, leave the rest alone.

`refresh` holds a target table against its inputs by (key, fingerprint):

    changed = inputs whose (key, fingerprint) the target does not hold
    removed = target keys whose input is gone
    transform only the changed, in batches; each batch is one atomic commit
    delete the removed; report added / changed / removed / unchanged / failed

One input gives one row (`group == key`: a row's text, a unit's vector) or several (`group` is the
input's key: the elements of a document), which are replaced as a set. A killed run leaves its
committed batches behind and the next run goes on from there. An input that fails is recorded in
the table `quarantine` with its reason and leaves no rows, or those of its last good version
(`Work.keeps_last_good`); it is tried again when its fingerprint changes or, where the environment
was at fault, at every refresh, or, where it ran into a limit, on the day that its entry names: what
waits for a day does not keep a pass from being finished.
"""

import gc
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change.commits import commit, is_partial, with_row_fingerprints
from rag_assets.change.data_versions import Identities, content_after, content_of
from rag_assets.change.deciding import Plan, check_completed, compare_inputs, decide
from rag_assets.change.difference import INPUTS, Difference, compare
from rag_assets.change.pending import Pending
from rag_assets.change.quarantine import (
    QUARANTINE,
    Failure,
    quarantined,
    quarantined_targets,
    record,
    record_failures,
)
from rag_assets.change.shrinking import ShrinkError, guard_shrink
from rag_assets.change.throughput import kind_of, note
from rag_assets.change.work import (
    Batch,
    Derivation,
    Inputs,
    Target,
    Transform,
    Work,
    with_recipe,
)
from rag_assets.columns.contents import Content
from rag_assets.process import clock
from rag_assets.process.memory import MANY_ROWS, release_memory
from rag_assets.process.overlap import write_behind
from rag_assets.store import PassRecord, Store

__all__ = [
    "INPUTS",
    "QUARANTINE",
    "AskedReport",
    "Batch",
    "Derivation",
    "Difference",
    "Failure",
    "Inputs",
    "Plan",
    "Report",
    "ShrinkError",
    "Target",
    "Transform",
    "Work",
    "compare",
    "concatenated",
    "decide",
    "guard_shrink",
    "held_groups",
    "is_partial",
    "quarantined",
    "quarantined_targets",
    "record",
    "refresh",
    "refresh_part",
    "with_recipe",
    "with_row_fingerprints",
]

OBJECTS_A_COLLECTION = 50_000
"""A pass makes many objects and hardly a cycle: looking for cycles at every 700 objects, as Python
does by itself, takes a tenth of a first build."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one pass did to a table, counted in inputs."""

    target: str
    data_version: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: int = 0
    rows: int = 0
    """The number of rows of the table after the pass."""
    seconds: float = 0.0
    failures: Sequence[Failure] = field(default=(), repr=False)
    """All inputs in quarantine, those of earlier passes included."""

    @property
    def touched(self) -> bool:
        """Whether the table was written."""
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class AskedReport(Report):
    """What one pass did, and what it used of a language model."""

    spending: Mapping[str, int | float | str] = field(default_factory=dict)
    """What the language model took: see `Spending.record`; empty where none was asked."""

    @classmethod
    def of(cls, report: Report, *, spending: Mapping[str, int | float | str]) -> Self:
        """What a pass did, with what it used."""
        counted = {item.name: getattr(report, item.name) for item in fields(Report)}
        return cls(**counted, spending=spending)


@dataclass(frozen=True, slots=True)
class PartDone:
    """Some inputs of a table that were done before the others."""

    table: str
    """The generation that holds their rows; there may be none if there was nothing to do."""
    failures: Sequence[Failure] = ()


@dataclass(slots=True)
class _Tally:
    """What was done so far."""

    added: int = 0
    replaced: set[str] = field(default_factory=set)
    """Keys of inputs whose rows were there and are others now."""
    failures: list[Failure] = field(default_factory=list)
    failed: int = 0
    """Number of inputs that gave nothing."""


def refresh(work: Work, *, log: Callable[[str], None], retry: bool = False) -> Report:
    """Bring a table up to its inputs and report what changed.

    Args:
        work: The table, its inputs and the code that makes its rows.
        log: Receives progress, one line at a time.
        retry: Also try again what failed on its own content, or at a limit.
    """
    started = time.monotonic()
    with work.store.lock(work.target.name, log=log):
        # Under the lock: whoever held it before may have done the work that this run came for.
        plan = check_completed(work, retry=retry)
        if plan.is_up_to_date:
            report = _unchanged(plan, work, started=started)
        else:
            with _few_collections():
                if work.land:
                    work.land()
                compare_inputs(plan, work, retry=retry)
                report = _carried_out(plan, work, log=log, started=started)
            note(
                work.store,
                kind_of(plan.target.name),
                items=report.added + report.changed,
                seconds=report.seconds,
            )
            release_memory(rows=report.rows)
        if work.ended:
            work.ended()
        return report


def refresh_part(work: Work, *, keys: Collection[str], log: Callable[[str], None]) -> PartDone:
    """Do the inputs with these `keys` that are to be done, and leave the others.

    Nothing is deleted and no failure is recorded. A table that is there does not count as complete
    afterwards, and the next refresh goes on from there. One that was not there is retired at once:
    nobody takes it for a build that was interrupted, and what it holds can be reused.

    Args:
        work: The table, its inputs and the code that makes its rows.
        keys: Of inputs; those that are done, or that there are not, are passed over.
        log: Receives progress, one line at a time.
    """
    store = work.store
    with store.lock(work.target.name, log=log):
        plan = check_completed(work, retry=False)
        is_new = not store.exists(plan.target.name)
        if plan.is_up_to_date:
            return PartDone(store.generation(plan.target.name))
        compare_inputs(plan, work, retry=False)
        changed = plan.hand_over()
        plan.pending = changed.filter(pc.is_in(changed["key"], pa.array(keys, pa.string())))
        if plan.pending.num_rows == 0:
            return PartDone(store.generation(plan.target.name))
        _made_ready(plan, work, log=log)
        generation = store.generation(plan.target.name)
        _, tally = _written(plan, work, log=log)
        if is_new:
            store.retire(plan.target.name)
        return PartDone(generation, tally.failures)


def _unchanged(plan: Plan, work: Work, *, started: float) -> Report:
    """A pass with nothing to do."""
    assert plan.finished is not None, "that is what says so"
    work.store.found_unchanged(plan.target.name)
    return Report(
        target=plan.target.name,
        data_version=plan.finished.data_version,
        unchanged=plan.unchanged,
        failed=plan.finished.failed,
        rows=plan.finished.rows,
        seconds=time.monotonic() - started,
        failures=plan.failures,
    )


def _carried_out(plan: Plan, work: Work, *, log: Callable[[str], None], started: float) -> Report:
    """Do what the `plan` says."""
    store, target = work.store, plan.target
    before = _made_ready(plan, work, log=log)
    pending, tally = _written(plan, work, log=log)
    failed = {failure.key for failure in tally.failures}
    emptied = sorted(plan.to_replace & failed - tally.replaced)
    if work.keeps_last_good and emptied:
        kept, emptied = set(held_groups(store, target, emptied)), []
        now = clock.now()
        tally.failures = [
            replace(failure, stale_since=now) if failure.key in kept else failure
            for failure in tally.failures
        ]
    # After all writes: a renamed file finds what was parsed and embedded under its former name.
    store.delete(target.name, column=target.group, keys=[*plan.removed, *emptied])
    record_failures(
        store,
        target.name,
        known=plan.entries,
        valid=plan.valid,
        tried=pending,
        failures=tally.failures,
        today=plan.today,
    )
    if work.settle:
        work.settle()
    remaining = quarantined(store, target.name)
    # The pass is recorded last: a run that is killed before this goes on from what it committed.
    content = _content(plan.finished, before=replace(before, key=target.key))
    if pending.is_done:
        store.complete(target.name, _completion(plan, store, content, remaining))
    return Report(
        target=target.name,
        data_version=content.data_version,
        added=tally.added,
        changed=len(tally.replaced),
        removed=len(plan.removed),
        unchanged=plan.unchanged,
        failed=len(remaining),
        rows=content.rows,
        seconds=time.monotonic() - started,
        failures=remaining,
    )


def _made_ready(plan: Plan, work: Work, *, log: Callable[[str], None]) -> Identities:
    """Have the table there with the columns that it should have; returns its rows before the pass.

    From here on, and until the pass is complete, no record says that the table is up to date.
    """
    store, target = work.store, plan.target
    # Before the first write, or a killed run would leave a record of a table that has moved on.
    store.reopen(target.name)
    if plan.rebuild_reason:
        log(f"{target.name} is built again: {plan.rebuild_reason}")
        store.retire(target.name)
    elif plan.before:
        return plan.before
    record(store, target=target.name, failures=[])  # what failed in part is made again too
    store.append(target.name, target.schema.empty_table(), schema=target.schema)
    return Identities.of(store, target.name, key=target.group)


def _written(plan: Plan, work: Work, *, log: Callable[[str], None]) -> tuple[Pending, _Tally]:
    """Make and commit the rows of all pending inputs; what is left of these, and what was done."""
    store, target, tally = work.store, plan.target, _Tally()
    changed = plan.hand_over()
    pending = Pending(changed)
    batches = work.transform(changed) if len(pending) else ()
    del changed  # keys and fingerprints as text are now the transform's alone, to hold or to drop
    release_memory(rows=plan.inputs)

    def write(batch: Batch) -> None:
        commit(store, target, batch, pending=pending, to_replace=plan.to_replace)

    rows = 0
    for number, batch in enumerate(write_behind(batches, write)):
        replaced = plan.to_replace.intersection(batch.done)
        tally.replaced |= replaced
        tally.added += len(batch.done) - len(replaced)
        tally.failures.extend(batch.failed)
        pending.finish([*batch.done, *(failure.key for failure in batch.failed)])
        tally.failed += len({failure.key for failure in batch.failed}.difference(batch.done))
        rows += batch.rows.num_rows
        if rows >= MANY_ROWS:
            release_memory(rows=rows)
            rows = 0
        if number or tally.failed or not pending.is_done:  # else each small table has its line
            log(f"{target.inputs}: {_progress(tally, of=len(pending))}")
    return pending, tally


def held_groups(store: Store, target: Target, keys: Sequence[str]) -> list[str]:
    """Which of `keys` a table holds rows of; none if there is no table."""
    if not keys or not store.exists(target.name):
        return []
    column = target.group
    rows = store.read_keys(target.name, column=column, keys=keys, columns=[column])
    return rows[column].unique().to_pylist()


def _progress(tally: _Tally, *, of: int) -> str:
    done = tally.added + len(tally.replaced)
    failed = f", {tally.failed:,} failed" if tally.failed else ""
    return f"{done:,} of {of:,} done{failed}"


def _completion(
    plan: Plan, store: Store, content: Content, remaining: Collection[Failure]
) -> PassRecord:
    """The record of a pass that went through all its inputs."""
    name = plan.target.name
    is_tried_again = any(failure.kind == "environment" for failure in remaining)
    days = [failure.tried_again.isoformat() for failure in remaining if failure.tried_again]
    return PassRecord(
        made_from=plan.made_from if plan.is_settled else "",
        parts=plan.parts if plan.is_settled else None,
        recipe=dict(plan.recipe) or None,
        data_version=content.data_version,
        inputs=plan.inputs,
        rows=content.rows,
        failed=len(remaining),
        bits=content.bits,
        files=store.files(name),
        read_at=plan.read_at,
        sizes=store.sizes(name),
        is_settled=plan.is_settled and not is_tried_again,
        settled_until=min(days, default=None),
    )


def _content(finished: PassRecord | None, *, before: Identities) -> Content:
    """What a table holds after a pass that began with `before`, `finished` if that was complete."""
    now = Identities.of(before.store, before.name, key=before.key)
    if finished is None:
        return content_of(now)
    return content_after(Content(finished.rows, finished.bits), before=before, now=now)


@contextmanager
def _few_collections() -> Generator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(OBJECTS_A_COLLECTION, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def concatenated(parts: Iterator[pa.Table], schema: pa.Schema) -> pa.Table:
    """`parts` as one table; an empty one of `schema` if there are none."""
    return pa.concat_tables([schema.empty_table(), *parts])
