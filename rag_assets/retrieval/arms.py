"""Arms: what finds units beside the signals, handed in by whoever opens an index.

Retrieval knows no arm itself. It asks each one for units, leaves out those that the filters of the
search do not allow, and goes on without an arm that fails or takes too long. What measures waits
for an arm as long as it takes: a busy machine must not decide what a retriever is worth.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol, TypeAlias, TypeVar

import pyarrow as pa

from rag_assets.api import CustomArm
from rag_assets.config import ArmName, Config, Retriever
from rag_assets.config.custom import is_custom, part_of
from rag_assets.identity import Canonical
from rag_assets.process.deadlines import DeadlineError, within
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.rankings import Ranking, ranking_of
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet

SECONDS = 5.0
"""The time limit of one query; to prepare an arm is not counted."""
PREPARING_SECONDS = 60.0

Result = TypeVar("Result")
logger = logging.getLogger(__name__)


class Arm(Protocol):
    """Finds units for a query in its own way; safe to share between threads."""

    revision: int
    """Another one when the same query should find other units: evaluations are then made anew."""

    def prepare(self, pins: CompleteSet) -> None:
        """Read what all queries to these tables need."""
        ...

    def find(
        self, query: str, *, filters: Filters | None, pins: CompleteSet, depth: int
    ) -> Sequence[tuple[str, float]]:
        """At most `depth` units that were found, with their scores, best first; there may be none.

        Args:
            query: As it was asked.
            filters: What may be found. Retrieval sees to them too: an arm need not.
            pins: The tables that are searched.
            depth: How many units at most.
        """
        ...


Arms: TypeAlias = Mapping[ArmName, Arm]
ArmsOf: TypeAlias = Callable[[Store, Config], Arms]
"""Makes the arms for a state and a config."""


def revisions_of(arms: Arms, *retrievers: Retriever) -> Sequence[Canonical]:
    """What else rankings of `retrievers` depend on: one entry for each arm that they ask.

    Arms are those of `arms`, and those of somebody's own.
    """
    asked = sorted({name for retriever in retrievers for name in retriever.arms})
    own = {name: part_of(name, CustomArm).revision for name in asked if is_custom(name)}
    return [
        [name, own[name] if name in own else arms[name].revision]
        for name in asked
        if name in own or name in arms
    ]


class OwnArm:
    """An arm of somebody's own, for one index: see `Arm`."""

    def __init__(self, name: ArmName, units: Callable[[], Iterable[pa.RecordBatch]]) -> None:
        """Load the part; `units` reads all units, with the columns that it is given.

        Raises:
            ConfigError: There is no such part.
        """
        self._part, self._units = part_of(name, CustomArm), units
        self._find: Callable[[str, int], Iterable[tuple[str, float]]] | None = None
        self._failed: Exception | None = None
        self._lock = Lock()
        self.revision = self._part.revision

    def prepare(self, pins: CompleteSet) -> None:  # noqa: ARG002 - it is made for one index
        """Hand the units to the part, once, whether it takes them or not."""
        with self._lock:
            if self._failed is not None:
                raise self._failed.with_traceback(None)  # or each search lengthens it
            if self._find is not None:
                return
            try:
                find = self._part.open(self._units())
                if not callable(find):
                    raise TypeError(f"open gives {type(find).__name__}, and no function")
                self._find = find
            except Exception as error:
                self._failed = error
                raise

    def find(self, query: str, *, depth: int, **_: object) -> Sequence[tuple[str, float]]:
        """What the part finds, each unit once; retrieval sees to filters."""
        assert self._find is not None, "it is prepared before it is asked"
        found: dict[str, float] = {}
        for unit, score in self._find(query, depth):
            found.setdefault(unit, float(score))
        return [*found.items()]


@dataclass(slots=True)
class IndexArms:
    """The arms of one index."""

    arms: Arms
    pins: CompleteSet
    units: Callable[[], Iterable[pa.RecordBatch]]
    """Reads all units, for arms of somebody's own."""
    seconds: float = SECONDS
    _own: dict[ArmName, OwnArm] = field(default_factory=dict)
    _left_out: set[ArmName] = field(default_factory=set)
    """The arms that took too long: a search must not wait for them again."""
    _measured: dict[tuple[ArmName, str, int], Sequence[tuple[str, float]]] = field(
        default_factory=dict
    )
    """What arms found while somebody measured: each retriever that is compared asks the same."""
    _told: set[ArmName] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def find(
        self,
        name: ArmName,
        queries: Sequence[str],
        *,
        filters: Filters | None,
        depth: int,
        allowed: Callable[[Collection[str]], Collection[str]],
        is_measured: bool = False,
    ) -> list[Ranking]:
        """What the arm called `name` finds for each query; an empty ranking where it fails.

        `allowed` gives those of some units that the search may return. With `is_measured` the arm
        may take any time.
        """
        arm = self._ready(name, is_measured=is_measured)
        if arm is None:
            return [ranking_of([]) for _ in queries]
        seconds = None if is_measured else self.seconds
        found = [
            self._asked(name, arm, query, filters=filters, depth=depth, seconds=seconds)
            for query in queries
        ]
        units = {unit for entries in found for unit, _ in entries}
        kept = allowed(units) if units else units
        return [
            ranking_of([entry for entry in entries[:depth] if entry[0] in kept])
            for entries in found
        ]

    def _ready(self, name: ArmName, *, is_measured: bool) -> Arm | None:
        """The arm, prepared; None if there is none, or it is not to be asked."""
        with self._lock:
            if is_custom(name) and name not in self._own:
                self._own[name] = OwnArm(name, self.units)
        arm = self._own.get(name) or self.arms.get(name)
        if arm is None:
            self._tell(name, "whoever opened this index did not hand it in", level=logging.INFO)
        elif self._within(
            name,
            None if is_measured else PREPARING_SECONDS,
            lambda: [arm.prepare(self.pins)],
        ):
            return arm
        return None

    def _asked(
        self,
        name: ArmName,
        arm: Arm,
        query: str,
        *,
        filters: Filters | None,
        depth: int,
        seconds: float | None,
    ) -> Sequence[tuple[str, float]]:
        def find() -> Sequence[tuple[str, float]]:
            return arm.find(query, filters=filters, pins=self.pins, depth=depth)

        if seconds is not None or filters is not None:
            return self._within(name, seconds, find)
        key = (name, query, depth)
        if key not in self._measured:
            self._measured[key] = self._within(name, None, find)
        return self._measured[key]

    def _within(
        self, name: ArmName, seconds: float | None, work: Callable[[], Sequence[Result]]
    ) -> Sequence[Result]:
        """What `work` gives; nothing where it fails, and from then on where it took too long.

        Without `seconds`, it may take any time.
        """
        if seconds is not None and name in self._left_out:
            return ()
        try:
            return work() if seconds is None else within(seconds, work)
        except DeadlineError as error:
            self._left_out.add(name)
            self._tell(name, f"{error}, and is not asked again before the index is opened anew")
        except Exception as error:  # whatever it is: the other arms answer, and it is told
            self._tell(name, f"{type(error).__name__}: {error}")
        return ()

    def _tell(self, name: ArmName, problem: str, *, level: int = logging.WARNING) -> None:
        """Log the first problem of each arm."""
        with self._lock:
            is_first = name not in self._told
            self._told.add(name)
        if is_first:
            logger.log(level, "searches go on without the arm %s: %s", name, problem)
