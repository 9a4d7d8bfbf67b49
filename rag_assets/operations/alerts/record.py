"""The record of what was told: `alerts.json` in the state folder.

What changed is written down before it is told and struck out afterwards. So nothing is lost while a
channel cannot be reached, and a process that is killed between the two tells it once more.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import ProblemKind
from rag_assets.findings.finding import Finding
from rag_assets.store.atomic import write_atomically

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FILE = "alerts.json"
RUN_KINDS: frozenset[ProblemKind] = frozenset({"run_failed", "run_overlong", "asset_overdue"})
"""Kinds that Dagster's records tell."""
TOLD_AGAIN: frozenset[ProblemKind] = frozenset({"source_shrank"})
"""Kinds that are news once more if they begin again before they are over."""
ROOM = 16_384
"""The file's size is a multiple of so many bytes: a record that grew little still fits into the
file that is there, when the disk is full and no other can be written."""


@dataclass(frozen=True, slots=True)
class Change:
    """A problem that began, or that is over."""

    problem: Finding
    ended: datetime | None = None
    """The time when it was seen to be over (UTC); None if it began."""


@dataclass(frozen=True, slots=True)
class ChannelRecord:
    """What one channel was told."""

    waiting: Sequence[Change] = ()
    """What could not be told yet, in the order in which it happened."""
    failure: str = ""
    """Why the last attempt failed; empty if it did not."""
    told: dict[str, datetime] = field(default_factory=dict)
    """The time when each open problem was told, by its key."""
    unanswered: int = 0
    """Attempts in a row that got no answer in time."""
    again_at: datetime | None = None
    """The time of the next attempt (UTC), after one without an answer."""


@dataclass(frozen=True, slots=True)
class AlertRecord:
    """All that is known of alerts."""

    open: Sequence[Finding] = ()
    """The problems that were found at the last look."""
    noted: Sequence[Finding] = ()
    """Failures of commands of which Dagster has no run, such as those of a full disk."""
    channels: dict[str, ChannelRecord] = field(default_factory=dict)
    looked_at: datetime | None = None
    """The time of the last look (UTC)."""
    pings: dict[str, str] = field(default_factory=dict)
    """The last call of each ping: the run and what was said of it."""

    def told_of(self, problem: Finding) -> dict[str, datetime]:
        """Each channel that was told of `problem`, and when."""
        return {
            name: max(times)
            for name, channel in self.channels.items()
            if (times := [channel.told[key] for key in problem.keys if key in channel.told])
        }

    def failure_of(self, name: str) -> str:
        """Why the last message to a channel did not arrive; empty if it did."""
        return self.channels[name].failure if name in self.channels else ""

    def changes(self, found: Sequence[Finding], *, now: datetime) -> list[Change]:
        """What began and what is over, now that `found` is open: of files that fail each one."""
        here = {key for problem in found for key in problem.keys}
        began = {key: problem.since for problem in found for key in problem.keys}
        before = {
            key
            for problem in self.open
            for key in problem.keys
            if problem.kind not in TOLD_AGAIN or problem.since >= began.get(key, problem.since)
        }
        new = [new for problem in found if (new := problem.without(before))]
        over = [over for problem in self.open if (over := problem.without(here))]
        return [*map(Change, new), *(Change(problem, ended=now) for problem in over)]

    def dated(self, found: Iterable[Finding], *, now: datetime) -> Iterator[Finding]:
        """`found`, each with the time when it was first open; files that began later are apart."""
        began = {key: problem.since for problem in self.open for key in problem.keys}
        for problem in found:
            if problem.kind in TOLD_AGAIN:
                yield problem
                continue
            first = now if any(key in began for key in problem.keys) else problem.since
            times = {key: began.get(key, first) for key in problem.keys}
            for since in dict.fromkeys(times.values()):
                part = problem.without({key for key, at in times.items() if at != since})
                if part:
                    yield replace(part, since=since)


class RecordFile:
    """Where the record lies; on a disk that cannot be written it is kept in memory."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._unwritten: AlertRecord | None = None

    def read(self) -> AlertRecord:
        """The record; an empty one if there is none, or it is damaged."""
        if self._unwritten is not None:
            return self._unwritten
        try:
            return _adapter().validate_json(self._path.read_bytes())
        except (OSError, ValueError):
            return AlertRecord()

    def write(self, record: AlertRecord) -> None:
        """Replace the record."""
        self._unwritten = None
        content = _adapter().dump_json(record, indent=1)
        content = content.ljust(-(-len(content) // ROOM) * ROOM) + b"\n"
        try:
            write_atomically(self._path, content)
        except OSError:
            if not self._fitted(content):
                self._unwritten = record

    def _fitted(self, content: bytes) -> bool:
        """Whether `content` could be written over the old one, in the room that this has."""
        try:
            with self._path.open("r+b") as file:
                room = len(file.read())
                if len(content) > room:
                    return False
                file.seek(0)
                file.write(content.ljust(room))
            return True
        except OSError:
            return False


def _adapter() -> "TypeAdapter[AlertRecord]":
    from pydantic import TypeAdapter

    return TypeAdapter(AlertRecord)
