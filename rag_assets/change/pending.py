"""The inputs that a pass is to do: which of them are left, and what each is made under.

A first build has as many as there are units, and they are kept until the last is done: of many,
neither keys (see `KeyIndex`) nor fingerprints are kept as text.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from rag_assets.columns.id_columns import octets
from rag_assets.columns.keys import ABSENT, KeyIndex


class Pending:
    """Inputs of schema `INPUTS` by their keys, of which the table itself is not kept."""

    def __init__(self, inputs: pa.Table) -> None:
        """All `inputs` are to be done."""
        self._index = KeyIndex(inputs["key"])
        self._fingerprints = _Fingerprints(inputs["fingerprint"])
        self._is_open = np.ones(inputs.num_rows, bool)

    def __len__(self) -> int:
        return len(self._is_open)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left."""
        return not self._is_open.any()

    def finish(self, keys: Iterable[str]) -> None:
        """Strike out the inputs with these `keys`: they are done or failed."""
        self._is_open[self._places(list(keys))[1]] = False

    def fingerprints(self, keys: Iterable[str]) -> dict[str, str]:
        """The fingerprints of the inputs with these `keys`; others than those to do have none."""
        found, places = self._places(list(keys))
        return dict(zip(found, self._fingerprints.at(places), strict=True))

    def _places(self, keys: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Which of `keys` are among the inputs, and their positions there."""
        places = self._index.places(pa.array(keys, pa.string()))
        is_here = places != ABSENT
        return [key for key, here in zip(keys, is_here, strict=True) if here], places[is_here]


class _Fingerprints:
    """Fingerprints by their places: as bytes if all are SHA-256 in lower case, else as text."""

    def __init__(self, texts: pa.ChunkedArray) -> None:
        self._held: np.ndarray | pa.ChunkedArray
        try:
            self._held = octets(texts)
        except ValueError:
            self._held = texts

    def at(self, places: np.ndarray) -> list[str]:
        if isinstance(self._held, pa.ChunkedArray):
            return self._held.take(pa.array(places)).to_pylist()
        return [row.tobytes().hex() for row in self._held[places]]
