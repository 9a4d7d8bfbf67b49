"""Queries whose vectors are known: a query that is asked again is not embedded again."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

QUERIES_KEPT = 4_096


class KnownQueries:
    """The vectors of the latest queries; safe to share between threads."""

    def __init__(self, dimension: int) -> None:
        """Know none yet."""
        self._dimension = dimension
        self._known: OrderedDict[str, np.ndarray] = OrderedDict()
        self._lock = Lock()

    def vectors(
        self, texts: Sequence[str], *, embed: Callable[[Sequence[str]], np.ndarray]
    ) -> np.ndarray:
        """The vectors of `texts`, (texts, dimension) float32; `embed` gives those of new ones."""
        if not texts:
            return np.zeros((0, self._dimension), dtype=np.float32)
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            known = self._known | dict(zip(new, embed(new) if new else (), strict=True))
            for text in texts:
                self._known[text] = known[text]
                self._known.move_to_end(text)
            while len(self._known) > QUERIES_KEPT:
                self._known.popitem(last=False)
        return np.stack([known[text] for text in texts])

    def forget(self) -> None:
        """Know none again."""
        with self._lock:
            self._known.clear()
