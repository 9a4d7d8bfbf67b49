"""The rule of change, once: transform what changed, delete what is gone, leave the rest alone.

`refresh` holds a target table against its inputs by (key, fingerprint):

    changed = inputs whose (key, fingerprint) the target does not hold
    removed = target keys whose input is gone
    transform only the changed, in batches; each batch is one atomic commit
    delete the removed; report added / changed / removed / unchanged / failed

One input gives one row (`group == key`: a row's text, a unit's vector) or several (`group` is the
input's key: the elements of a document), which are replaced as a set. A killed run leaves its
committed batches behind and the next run goes on from there. An input that fails is recorded in
the table `quarantine` with its reason and leaves no rows; it is tried again when its fingerprint
changes or, where the environment was at fault, at every refresh, or, where it ran into a limit, on
the day that its entry names: what waits for a day does not keep a pass from being finished.
"""

import gc
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.data_versions import Content, Identities, moved_on
from rag_assets.change.difference import INPUTS, Difference, Moved, Watched, compare, compare_moved
from rag_assets.change.pending import Pending
from rag_assets.change.quarantine import (
    QUARANTINE,
    Failure,
    entries,
    quarantined,
    quarantined_targets,
    record,
    record_failures,
    valid_entries,
    waiting,
)
from rag_assets.change.row_inputs import RowInputs
from rag_assets.columns.arrow_sql import query
from rag_assets.columns.sql import quoted
from rag_assets.identity import fingerprint
from rag_assets.process import clock
from rag_assets.process.memory import release_memory
from rag_assets.process.overlap import write_behind
from rag_assets.store import Completion, Store

__all__ = [
    "INPUTS",
    "QUARANTINE",
    "Difference",
    "Failure",
    "compare",
    "quarantined",
    "quarantined_targets",
    "record",
]

SHRINK_LIMIT = 0.5
OBJECTS_A_COLLECTION = 50_000
"""A pass makes many objects and hardly a cycle: looking for cycles at every 700 objects, as Python
does by itself, takes a tenth of a first build."""
ROWS_HASHED_AT_ONCE = 2_048
"""A table in one piece is left to one thread of DuckDB."""


class ShrinkError(Exception):
    """A source lost more than half of what it held; nothing was deleted."""


Inputs: TypeAlias = pa.Table | pa.RecordBatchReader | RowInputs
"""What a target is made from: key and fingerprint of each input, of schema `INPUTS`."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a transform yields: the complete output of some inputs."""

    rows: pa.Table
    """Content columns of the target; the system columns are filled in by `refresh`."""
    done: Sequence[str]
    """Keys of the inputs that `rows` covers completely."""
    failed: Sequence[Failure] = ()
    """Inputs that gave nothing, or, when also in `done`, not everything."""


class Transform(Protocol):
    """Turns changed inputs (schema `INPUTS`) into batches of output."""

    def __call__(self, changed: pa.Table, /) -> Iterable[Batch]:
        """Yield the complete output of every changed input, in batches of bounded size."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """A derived table."""

    name: str
    schema: pa.Schema
    key: str
    """Column that names a row."""
    group: str
    """Column that names the row's input; the same as `key` where one input gives one row."""


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
    """Rows of the table afterwards."""
    seconds: float = 0.0
    failures: Sequence[Failure] = field(default=(), repr=False)
    """All inputs in quarantine, those of earlier passes included."""

    @property
    def touched(self) -> bool:
        """Whether the table was written."""
        return bool(self.added or self.changed or self.removed)


def refresh(
    store: Store,
    *,
    target: Target,
    made_from: Callable[[], str],
    inputs: Callable[[], Inputs],
    transform: Transform,
    log: Callable[[str], None],
    retry: bool = False,
    settle: Callable[[], None] | None = None,
) -> Report:
    """Bring `target` up to its inputs and report what changed.

    Args:
        store: Where the target lies.
        target: The derived table.
        made_from: Fingerprint of the data versions of all inputs and of the recipe, as they stand
            when it is called: at first, and again once the inputs are read. If a complete pass
            was made from the same, nothing is read.
        inputs: Reads the inputs, of schema `INPUTS`, at once or in batches. The fingerprint of an
            input covers its content and the recipe: see `with_recipe`. Of inputs that are rows of
            other tables, only those are read that moved since the last complete pass.
        transform: Turns the changed inputs into batches. It may read what the target holds, since
            old rows go only when their replacement is committed.
        log: Receives progress, one line at a time.
        retry: Also try again what failed on its own content, or at a limit.
        settle: Brings what is kept beside the target in line with it, once all is committed. Until
            it has returned, the pass does not count as finished.
    """
    started = time.monotonic()
    with store.lock(target.name, log=log):
        target = replace(target, name=store.known_as(target.name))
        asked = made_from()
        finished = store.completion(target.name)
        failures = quarantined(store, target.name) if finished and finished.failed else []
        is_known = finished is not None and len(failures) == finished.failed
        if finished and finished.made_from == asked and is_known and not (retry and failures):
            store.check_as_left(target.name, finished)
            return Report(
                target=target.name,
                data_version=finished.data_version,
                unchanged=finished.inputs - finished.failed,
                failed=finished.failed,
                rows=finished.rows,
                seconds=time.monotonic() - started,
                failures=failures,
            )
        request = _Request(
            store, target, made_from, inputs, transform, log, retry, settle, clock.today()
        )
        with _few_collections():
            report = _pass(request, finished, asked=asked, started=started)
        release_memory(rows=report.rows)
        return report


@dataclass(frozen=True, slots=True)
class _Request:
    """What `refresh` was called with."""

    store: Store
    target: Target
    made_from: Callable[[], str]
    inputs: Callable[[], Inputs]
    transform: Transform
    log: Callable[[str], None]
    retry: bool
    settle: Callable[[], None] | None
    today: date
    """A pass that ends after midnight is of the day on which it began."""


def _pass(request: _Request, finished: Completion | None, *, asked: str, started: float) -> Report:
    """One pass after the `finished` one, over inputs that were made from what was `asked` first."""
    store, target, log, retry = request.store, request.target, request.log, request.retry
    inputs = request.inputs()
    read_at = inputs.read_at() if isinstance(inputs, RowInputs) else None
    is_settled = request.made_from() == asked
    store.reopen(target.name)
    if store.exists(target.name) and not store.widen(target.name, target.schema):
        log(f"{target.name} was written with other columns: building it again")
        store.retire(target.name)
    if not store.exists(target.name):
        record(store, target=target.name, failures=[])  # what failed in part is to be had again
        store.append(target.name, target.schema.empty_table(), schema=target.schema)

    before = Identities.of(store, target.name, key=target.group)
    failed_before = entries(store, target.name)
    if finished and not _is_as_left(finished, before=before, failed=len(failed_before)):
        finished = None
    moved = _moved(inputs, finished) if not (retry and len(failed_before)) else None
    if moved:
        count, watched = moved.count, moved.named(failed_before.select(INPUTS.names))
        difference = compare_moved(moved, watched=watched)
    else:
        every = Watched(inputs, keys=failed_before["key"])
        difference = compare(every, before)
        count, watched = every.count, every.watched
        if retry:
            difference = difference.with_again(watched)
    blocked = [] if retry else waiting(failed_before, inputs=watched, today=request.today)
    valid = valid_entries(failed_before, inputs=watched)
    known = set(difference.changed["key"].to_pylist())
    removed, unchanged = difference.removed, difference.unchanged
    changed = _without(difference.pending, blocked)
    del difference
    pending = Pending(changed)
    batches = request.transform(changed) if len(pending) else ()
    del changed  # keys and fingerprints as text are now the transform's alone, to hold or to drop
    release_memory(rows=count)

    added = 0
    redone: set[str] = set()
    failures: list[Failure] = []

    def commit(batch: Batch) -> None:
        _commit(store, target, batch, pending=pending, known=known)

    for batch in write_behind(batches, commit):
        replaced = known.intersection(batch.done)
        redone |= replaced
        added += len(batch.done) - len(replaced)
        failures.extend(batch.failed)
        pending.finish([*batch.done, *(failure.key for failure in batch.failed)])
        log(f"{target.name}: {added + len(redone):,} of {len(pending):,} inputs done")

    lost = sorted(known & {failure.key for failure in failures} - redone)
    store.delete(target.name, column=target.group, keys=removed + lost)
    record_failures(
        store,
        target.name,
        held=failed_before,
        valid=valid,
        tried=pending,
        failures=failures,
        today=request.today,
    )

    if request.settle:
        request.settle()
    remaining = quarantined(store, target.name)
    content = _content(finished, before=replace(before, key=target.key))
    is_tried_again = any(failure.kind == "environment" for failure in remaining)
    days = [failure.tried_again.isoformat() for failure in remaining if failure.tried_again]
    if pending.is_done:
        store.complete(
            target.name,
            Completion(
                made_from=asked if is_settled else "",
                data_version=content.data_version,
                inputs=count,
                rows=content.rows,
                failed=len(remaining),
                bits=content.bits,
                files=store.files(target.name),
                read_at=read_at,
                sizes=store.sizes(target.name),
                is_settled=is_settled and not is_tried_again,
                settled_until=min(days, default=None),
            ),
        )
    return Report(
        target=target.name,
        data_version=content.data_version,
        added=added,
        changed=len(redone),
        removed=len(removed),
        unchanged=unchanged,
        failed=len(remaining),
        rows=content.rows,
        seconds=time.monotonic() - started,
        failures=remaining,
    )


def with_recipe(table: pa.Table, *, key: str, content: str, recipe: str) -> pa.Table:
    """Inputs of a derived table: `key` and the fingerprint of its `content` under a `recipe`.

    Returns a table of schema `INPUTS`; `content` is the column that names what the input says.
    """
    return query(
        f"SELECT {key} AS key, sha256({content} || ':' || {quoted(recipe)}) AS fingerprint "
        "FROM inputs",
        inputs=table,
    ).cast(INPUTS)


def data_version_of(table: pa.Table | pa.RecordBatchReader) -> str:
    """Order-independent hash over (key, fingerprint): same content, same version, anywhere.

    `table` has the key in its first column and the fingerprint in its second.
    """
    return Content.of(table).data_version


def current_version(store: Store, name: str, *, key: str) -> str:
    """Data version of a derived table as it stands, complete or not; of an absent one, `absent`."""
    if not store.exists(name):
        return "absent"
    ended = store.ended(name)
    if ended:
        return ended.data_version
    return Content.of(iter(Identities.of(store, name, key=key))).data_version


def guard_shrink(source: str, *, held: int, removed: int, allow_shrink: bool) -> None:
    """Refuse a deletion that is more likely an accident.

    Raises:
        ShrinkError: More than half of the `held` items of a source are gone and nobody said so.
    """
    if allow_shrink or removed <= held * SHRINK_LIMIT:
        return
    raise ShrinkError(
        f"{source}: {removed:,} of {held:,} items are gone. Nothing was deleted. If that is "
        "right, refresh with --allow-shrink (in the UI: allow_shrink in the run's config); "
        "otherwise check the source"
    )


def _is_as_left(finished: Completion, *, before: Identities, failed: int) -> bool:
    """Whether the target and its quarantine are what the pass `finished` left behind."""
    held = before.store.files(before.name, version=before.version)
    return (finished.files, finished.failed) == (held, failed)


def _moved(inputs: Inputs, finished: Completion | None) -> Moved | None:
    """How `inputs` differ from those that the pass `finished` was made from, if it can be told."""
    if finished is None or finished.read_at is None or not isinstance(inputs, RowInputs):
        return None
    return inputs.since(finished.read_at)


def _content(finished: Completion | None, *, before: Identities) -> Content:
    """What a table holds after a pass that began with `before`, `finished` if that was complete."""
    now = Identities.of(before.store, before.name, key=before.key)
    if finished is None or finished.bits is None:
        return Content.of(iter(now))
    return moved_on(Content(finished.rows, finished.bits), before=before, now=now)


@contextmanager
def _few_collections() -> Generator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(OBJECTS_A_COLLECTION, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _commit(
    store: Store,
    target: Target,
    batch: Batch,
    *,
    pending: Pending,
    known: set[str],
) -> None:
    """Write one batch in one commit; known groups are replaced."""
    silent = set(batch.done).difference(
        batch.rows[target.group].to_pylist(), (failure.key for failure in batch.failed)
    )
    if silent:
        raise ValueError(f"{target.name}: no output and no failure for {sorted(silent)[:3]}")
    rows = with_row_fingerprints(batch.rows, target)
    marks = pending.fingerprints(batch.done)
    for key in {failure.key for failure in batch.failed}.intersection(marks):
        marks[key] = _partial(marks[key], rows.filter(pc.equal(rows[target.group], key)))
    made_from = pa.array([marks[key] for key in rows[target.group].to_pylist()], pa.string())
    rows = rows.append_column(schemas.FINGERPRINT, made_from)
    rows = rows.select(target.schema.names).cast(target.schema)
    if replaced := sorted(known.intersection(batch.done)):
        store.replace(target.name, rows, group=target.group, groups=replaced)
    else:
        store.append(target.name, rows, schema=target.schema)


def is_partial(mark: str, *, of: str) -> bool:
    """Whether rows with this `mark` are a part of what an input with the fingerprint `of` gives."""
    return mark.startswith(_partial_half(of))


def _partial(mark: str, rows: pa.Table) -> str:
    """What stands in `rows` that are not all that their input gives, instead of its own `mark`.

    So nobody takes the input for done, whoever was killed before its failure was written down. The
    mark follows the content too: the next attempt may lack another part.
    """
    content = fingerprint(rows[schemas.ROW_FINGERPRINT.name].to_pylist())
    return _partial_half(mark) + content[len(_partial_half(mark)) :]


def _partial_half(mark: str) -> str:
    return fingerprint(mark, "partial")[:32]


def with_row_fingerprints(rows: pa.Table, target: Target) -> pa.Table:
    """The content columns of `rows`, and a hash over those of each row."""
    content = [name for name in target.schema.names if name not in schemas.SYSTEM_COLUMNS]
    rows = rows.select(content)
    left_out = {"vector", "text"} if "text_hash" in content else {"vector"}  # its hash tells a text
    hashed = [name for name in content if name not in left_out]
    members = ", ".join(f"'{name}': \"{name}\"" for name in hashed)
    hashes = query(
        f"SELECT sha256(to_json({{{members}}})::VARCHAR) AS row_fingerprint FROM content",
        content=_in_pieces(rows.select(hashed)),
    )
    return rows.append_column(schemas.ROW_FINGERPRINT, hashes["row_fingerprint"])


def _in_pieces(rows: pa.Table) -> pa.Table:
    """The same, so that all threads of DuckDB have something to do."""
    pieces = rows.to_batches(max_chunksize=ROWS_HASHED_AT_ONCE)
    return pa.Table.from_batches(pieces, schema=rows.schema)


def _without(inputs: pa.Table, keys: list[str]) -> pa.Table:
    if not keys:
        return inputs
    return inputs.filter(pc.invert(pc.is_in(inputs["key"], pa.array(keys, pa.string()))))


def concatenated(parts: Iterator[pa.Table], schema: pa.Schema) -> pa.Table:
    """`parts` as one table; an empty one of `schema` if there are none."""
    return pa.concat_tables([schema.empty_table(), *parts])
