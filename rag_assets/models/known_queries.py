"""Queries that a model has read: a query that is asked again is not embedded again."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

QUERIES_KEPT = 4_096

Given = TypeVar("Given")


class KnownQueries(Generic[Given]):
    """What a model gave for the latest queries; safe to share between threads."""

    def __init__(self) -> None:
        """Know none yet."""
        self._known: OrderedDict[str, Given] = OrderedDict()
        self._lock = Lock()

    def embedded(
        self, texts: Sequence[str], *, embed: Callable[[Sequence[str]], Sequence[Given]]
    ) -> list[Given]:
        """What the model gives for each of `texts`; `embed` gives it for new ones."""
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            known = self._known | dict(zip(new, embed(new) if new else (), strict=True))
            for text in texts:
                self._known[text] = known[text]
                self._known.move_to_end(text)
            while len(self._known) > QUERIES_KEPT:
                self._known.popitem(last=False)
        return [known[text] for text in texts]

    def forget(self) -> None:
        """Know none again."""
        with self._lock:
            self._known.clear()
