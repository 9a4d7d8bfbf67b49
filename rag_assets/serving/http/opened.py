"""What answers requests: one open index, and another one as soon as the serving pointer moved.

A request keeps the index with which it began. So nothing moves inside one, and the index that was
replaced goes when its last request has ended.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from rag_assets.answering.assistant import AnswerModels, Assistant
from rag_assets.config import Config
from rag_assets.retrieval.opening import OutdatedIndexError
from rag_assets.store import Store, serving_pointer
from rag_assets.store.serving_pointer import ServingPointer

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

UNPROMOTED = "unpromoted"
"""The version of an index that answers although nothing was promoted yet."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What answers one request."""

    assistant: Assistant
    index_version: str
    """The number of the serving pointer, which `rag-assets history` lists; or `UNPROMOTED`."""

    @property
    def index(self) -> "VariantIndex":
        """What is searched."""
        return self.assistant.index


class ServedIndex:
    """The index that serves; safe to share between threads."""

    def __init__(self, config: Config, models: AnswerModels) -> None:
        """Open nothing yet.

        Args:
            config: As it was when the process began.
            models: The language models that help to answer.
        """
        self.config = config
        self.store = Store.of(config)
        self._models = models
        self._opened: Opened | None = None
        self._lock = Lock()

    def now(self) -> Opened:
        """What serves at this moment.

        Raises:
            ServingPointerError, MissingIndexError: There is no complete index, or it is gone.
            DamagedTablesError: Files of its tables cannot be read.
        """
        with self._lock:
            pointer = serving_pointer.current(self.store)
            opened = self._opened
            if opened is None or opened.index_version != _version_of(pointer):
                opened = self._open(pointer)
                self._opened = opened if pointer else None
            return opened

    @contextmanager
    def request(self) -> Generator[Opened]:
        """What answers one request; if its tables are gone since, the next one opens them anew."""
        opened = self.now()
        try:
            yield opened
        except OutdatedIndexError:
            with self._lock:
                if self._opened is opened:
                    self._opened = None
            raise

    def at(self, version: str) -> Opened:
        """The index of an earlier version, opened for one request.

        Raises:
            ServingPointerError: There never was such a version, or its tables are gone.
        """
        if version == _version_of(serving_pointer.current(self.store)):
            return self.now()
        number = int(version) if version.isdecimal() else 0
        pointer = serving_pointer.recorded(self.store, number)
        return Opened(self._assistant(pointer), version)

    def _open(self, pointer: ServingPointer | None) -> Opened:
        """What `pointer` names; the tables that lookups ask are read before the first request."""
        opened = Opened(self._assistant(pointer), _version_of(pointer))
        _ = opened.index, opened.assistant.catalogue
        return opened

    def _assistant(self, pointer: ServingPointer | None) -> Assistant:
        return Assistant(self.store, self.config, pointer=pointer, models=self._models)


def _version_of(pointer: ServingPointer | None) -> str:
    return str(pointer.number) if pointer else UNPROMOTED
