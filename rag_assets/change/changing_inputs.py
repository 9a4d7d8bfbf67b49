"""Inputs that can tell what changed since an earlier pass, so that only that is read."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import pyarrow as pa

from rag_assets.change.difference import InputChanges


class ChangingInputs(ABC):
    """Inputs of a derived table that know how they differ from those of an earlier pass."""

    @abstractmethod
    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """All of them, in batches of schema `INPUTS`."""

    @abstractmethod
    def read_at(self) -> dict[str, str]:
        """What a complete pass over them writes down, for `since` at the next pass."""

    @abstractmethod
    def since(self, read_at: Mapping[str, str]) -> InputChanges | None:
        """How they differ from the inputs that were `read_at`; None if that cannot be told."""
