"""The quarantine: what failed on the way to which table, and why.

A failure of the input waits until its input changes, one of the environment is tried again at every
refresh, and what ran into a limit of time, memory or pages after 1, 2, 4 and more nights: a file
that holds a worker until it is killed costs that ever more rarely. The table `quarantine` holds
them all; beside it, a folder with an empty file for each table that it names tells a refresh with
nothing to do that it need not be opened.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.difference import INPUTS
from rag_assets.change.pending import Pending
from rag_assets.columns.sql import is_one_of, parts_of, quoted
from rag_assets.process import clock
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.file_names import name_of, path_of

QUARANTINE = schemas.QUARANTINE_TABLE
_WAITS = [schemas.QUARANTINE.field(name) for name in ("attempts", "tried_again", "stale_since")]
"""Columns that say how long a failure waits."""
_FAILURE = ["key", "reason", "label", "kind", *(item.name for item in _WAITS)]
"""Columns that make a `Failure`."""
ENTRIES = pa.schema([*INPUTS, pa.field("kind", pa.string()), *_WAITS])
"""An input as it failed, whose fault it was, how long it waits, and since when it is stale."""
MOST_NIGHTS = 64
"""The longest that an input waits which ran into a limit."""

Blame: TypeAlias = Literal["input", "environment", "limit"]
"""What caused a failure: the input itself, the environment, or a limit."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that could not be transformed."""

    key: str
    reason: str
    """What happened and what to do about it, one sentence."""
    label: str
    """The file or row, as a person knows it."""
    kind: Blame = "input"
    """An environment failure is tried again at every refresh, one at a limit after some nights."""
    attempts: int | None = None
    """How often it ran into a limit, once that is in quarantine; None for other kinds."""
    tried_again: date | None = None
    """The day (UTC) from which it is tried again unasked; `attempts` says for which kinds."""
    stale_since: datetime | None = None
    """Since when (UTC) the target keeps what an earlier version of the input gave; None: nothing
    of it is there, or a part of what it gives now."""


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """A failure as it stands in quarantine."""

    target: str
    """The table on the way to which it failed."""
    failed_at: datetime
    """The time of its last failure (UTC)."""
    fingerprint: str
    """The fingerprint of the input that failed; empty where the input has none."""
    failure: Failure


def all_entries(store: Store) -> list[QuarantineEntry]:
    """Everything that stands in quarantine, sorted by target and label."""
    if not quarantined_targets(store) or not store.exists(QUARANTINE):
        return []
    columns = ["target", "failed_at", "fingerprint", *_FAILURE]
    rows = store.read(QUARANTINE, columns=columns, where=None)
    return [
        QuarantineEntry(
            row.pop("target"), row.pop("failed_at"), row.pop("fingerprint"), Failure(**row)
        )
        for row in rows.sort_by([("target", "ascending"), ("label", "ascending")]).to_pylist()
    ]


def quarantined(store: Store, target: str | None = None) -> list[Failure]:
    """What failed on the way to `target`, or to any table."""
    target = store.known_as(target) if target else None
    targets = quarantined_targets(store)
    if not store.exists(QUARANTINE) or not (target in targets if target else targets):
        return []
    where = f"target = {quoted(target)}" if target else None
    rows = store.read(QUARANTINE, columns=_FAILURE, where=where)
    return [Failure(**row) for row in rows.sort_by("label").to_pylist()]


def quarantined_targets(store: Store) -> list[str]:
    """The tables on the way to which something failed, without opening the quarantine.

    Right after a killed run one may be named of which nothing is left in quarantine, none is
    missing.
    """
    if _marks(store).exists():
        marks = (mark for mark in _marks(store).rglob("*") if mark.is_file())
        return sorted(name_of(mark.relative_to(_marks(store))) for mark in marks)
    if not store.exists(QUARANTINE):
        return []
    return sorted(set(store.read(QUARANTINE, columns=["target"])["target"].to_pylist()))


def record(store: Store, *, target: str, failures: Sequence[Failure]) -> None:
    """Let the quarantine hold exactly `failures` for a `target` that `refresh` does not build."""
    keys = [failure.key for failure in failures]
    tried = Pending(pa.table([keys, [""] * len(keys)], schema=INPUTS))
    known = entries(store, target)
    record_failures(
        store,
        target,
        known=known,
        valid=frozenset(),
        tried=tried,
        failures=failures,
        today=clock.today(),
    )


def entries(store: Store, target: str) -> pa.Table:
    """What stands in quarantine for `target`: each input as it failed (`ENTRIES`)."""
    target = store.known_as(target)
    if target not in quarantined_targets(store) or not store.exists(QUARANTINE):
        return ENTRIES.empty_table()
    where = f"target = {quoted(target)}"
    return store.read(QUARANTINE, columns=ENTRIES.names, where=where).cast(ENTRIES)


def waiting(known: pa.Table, *, inputs: pa.Table, today: date) -> list[str]:
    """Keys that failed on their own content or wait for a later day, and have not changed since.

    Args:
        known: The `entries` of a target.
        inputs: Those of its inputs, as they are now, that have an entry.
        today: The day that it is.
    """
    is_of_input = pc.equal(known["kind"], "input")
    is_later = pc.fill_null(pc.greater(known["tried_again"], pa.scalar(today)), False)
    return _unchanged(known.filter(pc.or_(is_of_input, is_later)), inputs).to_pylist()


def valid_entries(known: pa.Table, *, inputs: pa.Table) -> set[str]:
    """Keys of `known` whose input is still the one that failed; arguments as for `waiting`."""
    return set(_unchanged(known, inputs).to_pylist())


def _unchanged(known: pa.Table, inputs: pa.Table) -> pa.ChunkedArray:
    if not inputs.num_rows:
        return inputs["key"]
    return inputs.join(known.select(INPUTS.names), keys=INPUTS.names, join_type="inner")["key"]


def record_failures(
    store: Store,
    target: str,
    *,
    known: pa.Table,
    valid: Collection[str],
    tried: Pending,
    failures: Sequence[Failure],
    today: date,
) -> None:
    """Let the quarantine hold the new failures and of the old ones the `valid` not tried again.

    `known` are the `entries` of the target, whose one writer calls. How often an input ran into a
    limit outlives whoever is killed meanwhile: its entry is replaced in one commit.
    """
    target = store.known_as(target)
    before = known["key"].to_pylist()
    stale = set(before).difference(valid).union(tried.fingerprints(before))
    rows = _quarantine_rows(target, tried, failures, known=known, today=today)
    is_limit = pc.equal(rows["kind"], "limit")
    limits, others = rows.filter(is_limit), rows.filter(pc.invert(is_limit))
    with store.lock(QUARANTINE, log=lambda _: None):
        is_marked = target in quarantined_targets(store)
        if not failures and not stale and is_marked == bool(before):
            return
        if not store.exists(QUARANTINE):
            store.append(QUARANTINE, schemas.QUARANTINE.empty_table(), schema=schemas.QUARANTINE)
        if not is_marked:  # the mark was lost: what failed has just been tried again
            store.open(QUARANTINE).delete(f"target = {quoted(target)}")
        # Marked before the entries are written: a mark without an entry is looked at in vain, an
        # entry without one is never seen.
        _mark(store, [*quarantined_targets(store), target])
        # Put in the place of the former entries, as these count how often an input ran into a
        # limit.
        if limits.num_rows:
            store.upsert(QUARANTINE, limits, on=["target", "key"])
        for part in parts_of(sorted(stale.difference(limits["key"].to_pylist()))):
            store.open(QUARANTINE).delete(f"target = {quoted(target)} AND {is_one_of('key', part)}")
        if failures:
            store.append(QUARANTINE, others, schema=schemas.QUARANTINE)
        elif not len(entries(store, target)):
            (_marks(store) / path_of(target)).unlink()


def forget(store: Store, target: str, keys: Sequence[str]) -> None:
    """Take entries out of the quarantine, whatever became of their inputs."""
    with store.lock(QUARANTINE, log=lambda _: None):
        for part in parts_of(sorted(keys)):
            store.open(QUARANTINE).delete(f"target = {quoted(target)} AND {is_one_of('key', part)}")
        if not store.count(QUARANTINE, where=f"target = {quoted(target)}"):
            (_marks(store) / path_of(target)).unlink(missing_ok=True)


def mark_anew(store: Store) -> None:
    """Let there be a mark for each table that the quarantine names, and no other."""
    with store.lock(QUARANTINE, log=lambda _: None):
        named = set(store.read(QUARANTINE, columns=["target"])["target"].to_pylist())
        for target in set(quarantined_targets(store)) - named:
            (_marks(store) / path_of(target)).unlink(missing_ok=True)
        _mark(store, named)


def _marks(store: Store) -> Path:
    """A folder with one empty file for each table named in the quarantine."""
    return store.root / "quarantined"


def _mark(store: Store, targets: Iterable[str]) -> None:
    _marks(store).mkdir(exist_ok=True)
    for target in targets:
        mark = _marks(store) / path_of(target)
        if not mark.is_file():
            write_atomically(mark, "")


def _quarantine_rows(
    target: str, tried: Pending, failures: Sequence[Failure], *, known: pa.Table, today: date
) -> pa.Table:
    marks = tried.fingerprints(failure.key for failure in failures)
    entries = known.to_pylist()
    before = {(entry["key"], entry["fingerprint"]): entry["attempts"] or 0 for entry in entries}
    stale = {entry["key"]: entry["stale_since"] for entry in entries}
    now = datetime.now(UTC)
    rows = [
        {
            "target": target,
            "key": failure.key,
            "fingerprint": marks[failure.key],
            "kind": failure.kind,
            "reason": failure.reason,
            "label": failure.label,
            "failed_at": now,
            # The first day counts: what is stale stays so, however often it fails again.
            "stale_since": failure.stale_since and (stale.get(failure.key) or failure.stale_since),
            **_wait(failure, before.get((failure.key, marks[failure.key]), 0) + 1, today=today),
        }
        for failure in failures
    ]
    return pa.Table.from_pylist(rows, schema=schemas.QUARANTINE)


def _wait(failure: Failure, attempts: int, *, today: date) -> dict[str, object]:
    """What an entry says of how long it waits, after so many `attempts` at the same input."""
    if failure.kind != "limit":
        return {}
    day = today + timedelta(days=min(2 ** (attempts - 1), MOST_NIGHTS))
    reason = f"{failure.reason}; tried again on {day}, or at once with --retry-failed"
    return {"attempts": attempts, "tried_again": day, "reason": reason}
