"""The quarantine: what failed on the way to which table, and why.

A failure of the input waits until its input changes, one of the environment is tried again at every
refresh. The table `quarantine` holds them all; beside it, a folder with an empty file for each
table that it names tells a refresh with nothing to do that it need not be opened.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.difference import INPUTS
from rag_assets.pending import Pending
from rag_assets.store import Store, is_one_of, parts_of, quoted

QUARANTINE = "quarantine"
ENTRIES = pa.schema([*INPUTS, pa.field("kind", pa.string())])
"""An input as it failed, and whose fault it was."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that could not be transformed."""

    key: str
    reason: str
    """What happened and what to do about it, one sentence."""
    label: str
    """The file or row, as a person knows it."""
    kind: Literal["input", "environment"] = "input"
    """Whose fault it was: an environment failure is tried again at every refresh."""


def quarantined(store: Store, target: str | None = None) -> list[Failure]:
    """What failed on the way to `target`, or to any table."""
    target = store.known_as(target) if target else None
    targets = quarantined_targets(store)
    if not store.exists(QUARANTINE) or not (target in targets if target else targets):
        return []
    where = f"target = {quoted(target)}" if target else None
    rows = store.read(QUARANTINE, columns=["key", "reason", "label", "kind"], where=where)
    return [Failure(**row) for row in rows.sort_by("label").to_pylist()]


def quarantined_targets(store: Store) -> list[str]:
    """The tables on the way to which something failed, without opening the quarantine.

    Right after a killed run one may be named of which nothing is left in quarantine, none is
    missing.
    """
    if _marks(store).exists():
        return sorted(unquote(mark.name) for mark in _marks(store).iterdir())
    if not store.exists(QUARANTINE):
        return []
    return sorted(set(store.read(QUARANTINE, columns=["target"])["target"].to_pylist()))


def record(store: Store, *, target: str, failures: Sequence[Failure]) -> None:
    """Let the quarantine hold exactly `failures` for a `target` that `refresh` does not build."""
    keys = [failure.key for failure in failures]
    tried = Pending(pa.table([keys, [""] * len(keys)], schema=INPUTS))
    held = entries(store, target)
    record_failures(store, target, held=held, valid=frozenset(), tried=tried, failures=failures)


def entries(store: Store, target: str) -> pa.Table:
    """What stands in quarantine for `target`: each input as it failed (`ENTRIES`)."""
    target = store.known_as(target)
    if target not in quarantined_targets(store) or not store.exists(QUARANTINE):
        return ENTRIES.empty_table()
    held = store.read(QUARANTINE, columns=ENTRIES.names, where=f"target = {quoted(target)}")
    return held.cast(ENTRIES)


def waiting(held: pa.Table, *, inputs: pa.Table) -> list[str]:
    """Keys that failed on their own content and have not changed since.

    Args:
        held: The `entries` of a target.
        inputs: Those of its inputs, as they are now, that have an entry.
    """
    of_input = held.filter(pc.equal(held["kind"], "input"))
    return _unchanged(of_input, inputs).to_pylist()


def valid_entries(held: pa.Table, *, inputs: pa.Table) -> set[str]:
    """Keys of `held` whose input is still the one that failed; arguments as for `waiting`."""
    return set(_unchanged(held, inputs).to_pylist())


def _unchanged(held: pa.Table, inputs: pa.Table) -> pa.ChunkedArray:
    if not inputs.num_rows:
        return inputs["key"]
    return inputs.join(held.select(INPUTS.names), keys=INPUTS.names, join_type="inner")["key"]


def record_failures(
    store: Store,
    target: str,
    *,
    held: pa.Table,
    valid: Collection[str],
    tried: Pending,
    failures: Sequence[Failure],
) -> None:
    """Let the quarantine hold the new failures and of the old ones the `valid` not tried again.

    `held` are the `entries` of the target, whose one writer calls.
    """
    target = store.known_as(target)
    before = held["key"].to_pylist()
    stale = set(before).difference(valid).union(tried.fingerprints(before))
    with store.lock(QUARANTINE, log=lambda _: None):
        is_marked = target in quarantined_targets(store)
        if not failures and not stale and is_marked == bool(before):
            return
        if not store.exists(QUARANTINE):
            store.append(QUARANTINE, schemas.QUARANTINE.empty_table(), schema=schemas.QUARANTINE)
        _mark(store, [*quarantined_targets(store), target])
        for part in parts_of(sorted(stale)):
            store.open(QUARANTINE).delete(f"target = {quoted(target)} AND {is_one_of('key', part)}")
        if failures:
            store.append(
                QUARANTINE, _quarantine_rows(target, tried, failures), schema=schemas.QUARANTINE
            )
        elif not len(entries(store, target)):
            (_marks(store) / quote(target, safe="")).unlink()


def forget(store: Store, target: str, keys: Sequence[str]) -> None:
    """Take entries out of the quarantine, whatever became of their inputs."""
    with store.lock(QUARANTINE, log=lambda _: None):
        for part in parts_of(sorted(keys)):
            store.open(QUARANTINE).delete(f"target = {quoted(target)} AND {is_one_of('key', part)}")
        if not store.count(QUARANTINE, where=f"target = {quoted(target)}"):
            (_marks(store) / quote(target, safe="")).unlink(missing_ok=True)


def _marks(store: Store) -> Path:
    """A folder with one empty file for each table named in the quarantine."""
    return store.root / "quarantined"


def _mark(store: Store, targets: Iterable[str]) -> None:
    _marks(store).mkdir(exist_ok=True)
    for target in targets:
        (_marks(store) / quote(target, safe="")).touch()


def _quarantine_rows(target: str, tried: Pending, failures: Sequence[Failure]) -> pa.Table:
    marks = tried.fingerprints(failure.key for failure in failures)
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
        }
        for failure in failures
    ]
    return pa.Table.from_pylist(rows, schema=schemas.QUARANTINE)
