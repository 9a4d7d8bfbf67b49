"""What each table of a variant is made from: for whoever asks what its steps would do.

`decided` answers that for one step, by the same code as a refresh, and writes nothing. It is about
the tables as they stand: of a step whose inputs are still to change, `plan` tells what follows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change.deciding import Plan, decide
from rag_assets.change.steps import StepContext
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.sources.files.manifest import FilesSeen
from rag_assets.sources.steps import DOCUMENT_FILES
from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What one step would do to its table, by the keys of its inputs."""

    asset: str
    plan: Plan

    @property
    def added(self) -> Sequence[str]:
        """Keys of inputs of which the table holds nothing: missing units."""
        return self._pending.slice(0, self.plan.added).to_pylist()

    @property
    def changed(self) -> Sequence[str]:
        """Keys of inputs that are other than when the rows were made: stale units."""
        return self._pending.slice(self.plan.added).to_pylist()

    @property
    def removed(self) -> Sequence[str]:
        """Keys of inputs that are gone, while the table still holds rows of them: orphans."""
        return self.plan.removed

    @property
    def unfinished(self) -> Sequence[str]:
        """Keys in quarantine whose input is still the one that failed."""
        is_valid = pc.is_in(self.plan.entries["key"], pa.array([*self.plan.valid], pa.string()))
        return self.plan.entries["key"].filter(is_valid).to_pylist()

    @property
    def unchanged(self) -> int:
        """Number of inputs for which nothing is to be done."""
        return self.plan.unchanged

    @property
    def differs(self) -> Sequence[str]:
        """The names of what the table is made from that is other than at the last pass."""
        return self.plan.differs

    @property
    def _pending(self) -> pa.ChunkedArray:
        if self.plan.pending is None:
            return pa.chunked_array([], pa.string())
        return self.plan.pending["key"]


def decided(
    store: Store, config: Config, *, variant: str, retry: bool = False, afresh: bool = False
) -> Iterator[StepPlan]:
    """What each step of `variant` would do to its table, the tables above as they stand.

    Steps whose inputs were never built are left out, and so are vectors of a model that the state
    does not know: all of them are missing. Keys and fingerprints are read, in batches.

    Args:
        store: Holds the tables.
        config: Has the variant.
        variant: Its name.
        retry: Also try again what failed on its own content, or at a limit.
        afresh: Hold all inputs against all rows, whatever the records of earlier passes say.

    Raises:
        ConfigError: The config has no such variant.
        DamagedTablesError: Files of a table cannot be read.
        ParserUnavailableError: A parser is not installed.
        WeightsError: The weights of a model lack what is needed.
    """
    work = StepContext(store=store, config=config, variant=variant, steps=STEPS)
    for step in STEPS.in_order(config, variant).values():
        if not all(store.exists(name) for name, _ in step.sources):
            continue
        if derivation := step.kind.derivation(work):
            yield StepPlan(step.asset, decide(derivation, retry=retry, afresh=afresh))


def manifest_plan(store: Store, config: Config) -> StepPlan:
    """What a refresh would do to the manifest: files that moved since are read."""
    seen = FilesSeen(store, config.sources.documents, tables=config.sources.tables)
    return StepPlan(DOCUMENT_FILES.name, decide(seen.derivation))
