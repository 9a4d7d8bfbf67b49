"""What answers requests: one open index, and another one as soon as what serves moved.

A request keeps the index with which it began. So nothing moves inside one, and the index that was
replaced goes when its last request has ended. The request that finds the pointer moved opens the
new index, and those that come meanwhile wait for it: what is told to serve is what answers.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from rag_assets.answering.assistant import AnswerModels, Assistant
from rag_assets.answering.record.replaying import ReplayError
from rag_assets.config import Config
from rag_assets.process.errors import UnanswerableError
from rag_assets.retrieval.access import EVERYTHING, Access, Sight
from rag_assets.retrieval.opening import OutdatedIndexError
from rag_assets.store import Store, purges, serving_pointer
from rag_assets.store.complete_sets import CompleteSet, set_of
from rag_assets.store.serving_pointer import ServingPointer, ServingPointerError
from rag_assets.table_lookup.arm import WARM_UP
from rag_assets.workers import abandoned_once

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

UNPROMOTED = "unpromoted"
"""The version of an index that answers although nothing was promoted yet."""
NOT_YET = "the index is being opened, and its models are loaded: try again in a moment"
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Opened:
    """What answers one request."""

    assistant: Assistant
    index_version: str
    """The number of the serving pointer (see `rag-assets variants history`), or `UNPROMOTED`."""
    serves: ServingPointer | CompleteSet
    """The pointer or the complete set that the index was opened from."""

    @property
    def index(self) -> "VariantIndex":
        """What is searched."""
        return self.assistant.index

    def is_of(self, serves: ServingPointer | CompleteSet) -> bool:
        """Whether it was opened from that, and no purge began since: its answers can be kept."""
        purges_now = purges.count(self.assistant.store.root)
        return (self.serves, self.assistant.purges) == (serves, purges_now)


@dataclass(slots=True)
class _SharedIndex:
    """What all views of an index share."""

    opened: Opened | None = None
    not_ready: str = NOT_YET
    lock: Lock = field(default_factory=Lock)


class ServedIndex:
    """The index that serves, as far as `access` goes; safe to share between threads."""

    access: Access = EVERYTHING

    def __init__(self, config: Config, models: AnswerModels) -> None:
        """Open nothing yet.

        Args:
            config: As it was when the process began.
            models: The language models that help to answer.
        """
        self.config = config
        self.store = Store.of(config)
        self._models = models
        self._shared = _SharedIndex()

    def seen_by(self, access: Access) -> "ServedIndex":
        """The same index, of which all that is asked is what `access` may see."""
        view = copy(self)
        view.access = access
        return view

    @property
    def sight(self) -> Sight | None:
        """What of what serves may be seen; None: all, and then nothing is opened."""
        return None if self.access == EVERYTHING else self.now().assistant.sight

    def _seen(self, opened: Opened) -> Opened:
        if self.access == EVERYTHING:
            return opened
        return replace(opened, assistant=opened.assistant.seen_by(self.access))

    @property
    def version(self) -> str | None:
        """The version that was opened last; None before the first one."""
        return self._shared.opened.index_version if self._shared.opened else None

    def version_now(self) -> str:
        """The version that serves at this moment; nothing is opened."""
        with suppress(ServingPointerError):
            if pointer := serving_pointer.current(self.store):
                return str(pointer.number)
        return UNPROMOTED

    def now(self) -> Opened:
        """What serves at this moment.

        Raises:
            ServingPointerError, MissingIndexError: There is no complete index, or it is gone.
            DamagedTablesError: Files of its tables cannot be read.
        """
        return self._seen(self._now())

    def _now(self) -> Opened:
        """What serves, all of it."""
        held = self._shared
        with held.lock, abandoned_once(lambda: False):  # it is opened for all, whoever leaves
            try:
                serves = serving_pointer.current(self.store) or set_of(
                    self.store, self.config, self.config.serving_variant
                )
                if held.opened is None or not held.opened.is_of(serves):
                    held.opened = self._warm(self._open(serves))
            except Exception as error:  # whatever it is, `readyz` says it until an index is open
                held.opened, held.not_ready = None, str(error)
                raise
            return held.opened

    @contextmanager
    def request(self) -> Generator[Opened]:
        """What answers one request; if its tables are gone since, the next one opens them anew."""
        opened = self._now()
        try:
            yield self._seen(opened)
        except OutdatedIndexError:
            with self._shared.lock:
                # Only if nobody has opened another one meanwhile.
                if self._shared.opened is opened:
                    self._shared.opened = None
            raise

    def unmoved(self, make: Callable[[Opened], Made]) -> tuple[Made, str]:
        """What `make` reads of what serves, and its version: nothing moved while it was read.

        For readers that look themselves what serves.
        """
        while True:
            opened = self._now()
            made = make(self._seen(opened))
            if self._now() is opened:
                return made, opened.index_version

    def at(self, number: int) -> Opened:
        """The index that served under a number, opened for one request.

        Raises:
            ReplayError: There never was such a number, or its tables are gone.
        """
        now = self._now()
        if now.index_version == str(number):
            return self._seen(now)
        try:
            opened = self._open(serving_pointer.recorded(self.store, number))
            _ = opened.index
        except ServingPointerError as error:
            raise ReplayError(str(error)) from error
        return self._seen(opened)

    def not_ready(self) -> str:
        """Why nothing can be answered at once, in words; empty where it can.

        What serves is looked at, unless a request does so already.
        """
        if not self._shared.lock.locked():
            with suppress(Exception):  # its words are what is told
                self._now()
        return self._shared.not_ready

    def _open(self, serves: ServingPointer | CompleteSet) -> Opened:
        pointer = serves if isinstance(serves, ServingPointer) else None
        assistant = Assistant(
            self.store,
            self.config,
            None if pointer else serves.variant,
            complete_set=None if isinstance(serves, ServingPointer) else serves,
            pointer=pointer,
            models=self._models,
        )
        return Opened(assistant, str(pointer.number) if pointer else UNPROMOTED, serves)

    def _warm(self, opened: Opened) -> Opened:
        """Load what the first request would wait for; what cannot be loaded, each request tells."""
        try:
            for _ in range(2):  # units are kept in memory from the second search on
                opened.assistant.search(WARM_UP)
            opened.assistant.lookup(WARM_UP)
        except UnanswerableError as error:
            self._shared.not_ready = str(error)
        else:
            self._shared.not_ready = ""
        return opened
