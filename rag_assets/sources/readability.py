"""How each source was last read: when, what it held then, and since when and why it cannot be read.

One file for each source, `sources/NAME.json` in the state folder. The pass that reads a source
writes it; the check `source_readable`, `rag-assets status` and the list of problems read it. A
table of a database or a folder of documents that alone cannot be read is a part of its source.
What became unreadable in one pass is one outage, whatever number of tables it has: it most likely
has one cause.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Self

from rag_assets.change.shrinking import is_loss
from rag_assets.config import Config, TableSource, asset_path
from rag_assets.process import clock
from rag_assets.quality import Severity
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.sources.entries import spec_of
from rag_assets.store import Store
from rag_assets.store.atomic import take_away, write_atomically

CHECK = "source_readable"
"""Name of the asset check."""
REMEDY = (
    "do what the reason says, then refresh, or wait for the nightly run; until then what is held "
    "of it stays"
)
FOLDER = "sources"
LOCK = "sources"
NAMES_SHOWN = 3
TIMES = ("last_read", "last_changed", "unreadable_since", "lost_since")


@dataclass(frozen=True, slots=True)
class Look:
    """What one pass found of a source, or of a part of it."""

    reason: str | None = None
    """Why it could not be read, and what to do; None if it was read."""
    is_changed: bool = False
    """Whether it held something else than before."""
    held: int | None = None
    """How many documents or rows the index has of it now; None: nobody counted."""
    settings: str = ""
    """Fingerprint of what the config says of it: what it takes out of the index was asked for."""
    may_shrink: bool = False
    """Whether somebody asked to take out whatever is gone."""
    seen: str | None = None
    """Fingerprint of what a cheap look saw before it was read (`sources.observations`)."""


@dataclass(frozen=True, slots=True)
class Readability:
    """How a source, or a part of it, was last read. All times are in UTC."""

    last_read: datetime | None = None
    """The time when it was last read, or looked at and found unchanged; None if it never was."""
    last_changed: datetime | None = None
    """The time when it was last found to hold something else than before."""
    seen: str | None = None
    """Fingerprint of what a cheap look saw before it was last read."""
    unreadable_since: datetime | None = None
    misses: int = 0
    """The number of passes in a row that could not read it."""
    reason: str | None = None
    outage: str | None = None
    """What the outage is called that it belongs to, where it is a part."""
    held: int | None = None
    """How many documents or rows the index had of it when it was last read."""
    settings: str = ""
    """Fingerprint of what the config said of it then."""
    lost_since: datetime | None = None
    """The time when it last lost more of them at once than a person may miss (see `is_loss`)."""
    lost_from: int | None = None
    """How many there were before that; None once it holds about as many again."""

    @property
    def is_readable(self) -> bool:
        """Whether the last pass read it."""
        return self.unreadable_since is None

    @property
    def lost(self) -> int:
        """How many documents or rows of it left the index unasked and are still missing."""
        return self.lost_from - (self.held or 0) if self.lost_from else 0

    def after(self, look: Look, *, at: datetime, outage: str | None = None) -> "Readability":
        """The record after one more pass."""
        if look.reason is None:
            return replace(
                self._counted(look, at=at),
                last_read=at,
                seen=look.seen,
                last_changed=at if look.is_changed else self.last_changed,
                unreadable_since=None,
                misses=0,
                reason=None,
                outage=None,
            )
        return replace(
            self,
            unreadable_since=self.unreadable_since or at,
            misses=self.misses + 1,
            reason=look.reason,
            outage=self.outage or outage,
        )

    def _counted(self, look: Look, *, at: datetime) -> "Readability":
        """The record with what the source holds now, and what it lost unasked."""
        if look.held is None:
            return self
        now = replace(self, held=look.held, settings=look.settings)
        is_asked = look.may_shrink or look.settings != self.settings
        if not is_asked and is_loss(self.held, look.held):
            return replace(now, lost_since=at, lost_from=self.lost_from or self.held)
        if not is_asked and is_loss(self.lost_from, look.held):
            return now
        return replace(now, lost_since=None, lost_from=None)

    @classmethod
    def of(cls, record: Mapping[str, str | int | None]) -> Self:
        """What a file says.

        Raises:
            TypeError, ValueError: It says something else.
        """
        times = {name: record.get(name) for name in TIMES}
        found = {name: at and datetime.fromisoformat(str(at)) for name, at in times.items()}
        return cls(**(dict(record) | found))  # ty: ignore[invalid-argument-type]


@dataclass(frozen=True, slots=True)
class Outage:
    """A source, or tables or folders of it, that cannot be read since one pass."""

    source: str
    name: str | None
    """The name of the outage below its source; None where it is the source as a whole."""
    parts: Sequence[str]
    """The tables or folders that cannot be read; none where it is the source as a whole."""
    since: datetime
    misses: int
    """The number of passes in a row that could not read it."""
    reason: str

    @property
    def subject(self) -> str:
        """What cannot be read; the same as long as the outage lasts."""
        return f"{self.source}/{self.name}" if self.name else self.source

    @property
    def headline(self) -> str:
        """What cannot be read, since when, and how often it was tried."""
        times = "once" if self.misses == 1 else f"{self.misses:,} times in a row"
        since = f"{self.since:%Y-%m-%d %H:%M} UTC"
        return f"{self.subject} cannot be read since {since} (tried {times})"

    @property
    def sentence(self) -> str:
        """The headline, and why."""
        return f"{self.headline}: {self.reason}"

    def severity(self, *, fails_after: int) -> Severity:
        """A warning at first, an error once so many passes in a row could not read it."""
        return "error" if self.misses >= fails_after else "warning"


@dataclass(frozen=True, slots=True)
class SourceReadability:
    """How a source and its parts were last read."""

    source: str
    whole: Readability = Readability()
    parts: Mapping[str, Readability] = field(default_factory=dict)
    """How each table, or each folder of documents, was last read, by its name."""

    def part(self, name: str) -> Readability:
        """How a part was last read; nothing is known of one that no pass read."""
        return self.parts.get(name, Readability())

    def outages(self, *, among: Callable[[str], bool] = lambda _: True) -> list[Outage]:
        """What cannot be read of the source, with the parts that `among` takes."""
        if not self.whole.is_readable:
            return [self._outage(None, {self.source: self.whole}, parts=())]
        by_outage: defaultdict[str, dict[str, Readability]] = defaultdict(dict)
        for part, found in sorted(self.parts.items()):
            if not found.is_readable and among(part):
                by_outage[found.outage or part][part] = found
        return [self._outage(name, found, parts=[*found]) for name, found in by_outage.items()]

    def _outage(
        self, name: str | None, found: Mapping[str, Readability], *, parts: Sequence[str]
    ) -> Outage:
        now = clock.now()
        since = [each.unreadable_since or now for each in found.values()]
        return Outage(
            self.source,
            name,
            parts,
            since=min(now, *since),  # a clock that was set back says that it has yet to come
            misses=max(each.misses for each in found.values()),
            reason=_reason(parts, next(iter(found.values())).reason or "no reason was recorded"),
        )


def readability(store: Store, source: str) -> SourceReadability:
    """How the `source` of that name was last read; nothing is known of one that no pass read."""
    try:
        record = json.loads(_file(store, source).read_text("utf-8"))
        parts = {name: Readability.of(each) for name, each in record["parts"].items()}
        return SourceReadability(source, Readability.of(record["whole"]), parts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return SourceReadability(source)


def note(
    store: Store,
    source: str,
    *,
    whole: Look,
    parts: Mapping[str, Look],
    keep: Callable[[str], bool] = lambda _: False,
) -> None:
    """Write down what a pass found of a source.

    Args:
        store: The state.
        source: Name of the source.
        whole: What was found of the source itself.
        parts: What was found of its parts, by their names.
        keep: Which of the other parts that are known stay as they are.
    """
    at = clock.now().replace(microsecond=0)
    with store.lock(LOCK, log=lambda _: None):
        before = readability(store, source)
        known = before.parts
        broken = sorted(
            name for name, look in parts.items() if look.reason and before.part(name).is_readable
        )
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        outage = f"{broken[0]}{more}" if broken else None
        kept = {name: each for name, each in known.items() if keep(name)}
        looked_at = {
            name: before.part(name).after(look, at=at, outage=outage)
            for name, look in parts.items()
        }
        found = SourceReadability(source, before.whole.after(whole, at=at), kept | looked_at)
        _write(store, found)


def accept_losses(store: Store, sources: Collection[str]) -> None:
    """Count later losses of `sources` from what these hold now."""
    with store.lock(LOCK, log=lambda _: None):
        for source in sources:
            found = readability(store, source)
            if found.whole.lost_from:
                whole = replace(found.whole, lost_since=None, lost_from=None)
                _write(store, replace(found, whole=whole))


def forget_others(store: Store, *, besides: Collection[str]) -> None:
    """Remove what is known of sources that the config no longer names."""
    for file in (store.root / FOLDER).glob("*.json"):
        if file.stem not in besides:
            take_away(file)


def outages_of_assets(store: Store, config: Config) -> dict[str, list[Outage]]:
    """What cannot be read for each asset that reads a source, by the key of the asset."""
    documents = [readability(store, source.name) for source in config.sources.documents]
    found = {DOCUMENT_FILES_TABLE: [outage for each in documents for outage in each.outages()]}
    for source in config.sources.tables:
        known = readability(store, source.name)
        for path in dict.fromkeys(asset_path(source, spec) for spec in source.tables):
            found["/".join(path)] = known.outages(among=_read_by(path, source))
    return found


def _read_by(path: tuple[str, ...], source: TableSource) -> Callable[[str], bool]:
    """Whether a table is read by the asset with this key."""

    def is_read(table: str) -> bool:
        spec = spec_of(source, table)
        return spec is not None and asset_path(source, spec) == path

    return is_read


def _reason(parts: Sequence[str], first: str) -> str:
    if len(parts) < 2:
        return first
    shown = ", ".join(parts[:NAMES_SHOWN])
    more = f" and {len(parts) - NAMES_SHOWN:,} more" if len(parts) > NAMES_SHOWN else ""
    return f"{len(parts):,} cannot be read ({shown}{more}), the first because: {first}"


def _file(store: Store, source: str) -> Path:
    return store.root / FOLDER / f"{source}.json"


def _write(store: Store, found: SourceReadability) -> None:
    record = {
        "whole": _recorded(found.whole),
        "parts": {name: _recorded(each) for name, each in sorted(found.parts.items())},
    }
    write_atomically(_file(store, found.source), json.dumps(record, ensure_ascii=False, indent=1))


def _recorded(found: Readability) -> dict[str, str | int | None]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(found).items()
    }
