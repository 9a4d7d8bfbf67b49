"""The clean-up of a state: all that makes room, one after the other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets.change.reclaim import CleanedTables, clean_up_tables
from rag_assets.config import Config
from rag_assets.evaluation.experiment_runs import RemovedRuns, remove_unused
from rag_assets.graph import STEPS
from rag_assets.operations.erasure import model_calls
from rag_assets.operations.erasure.kept_answers import TidiedAnswers, tidy
from rag_assets.operations.run_history import ForgottenRuns, forget_old_runs
from rag_assets.operations.unused_weights import remove_unused_weights
from rag_assets.sources import dlt_tables
from rag_assets.store import Store, images

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import dagster as dg


@dataclass(frozen=True, slots=True)
class CleanedState:
    """What a clean-up removed."""

    tables: CleanedTables
    pictures: int
    runs: RemovedRuns
    weights: int
    weights_bytes: int
    loads_bytes: int
    """Of what dlt loaded from sources that the config no longer names."""
    answers: TidiedAnswers
    calls: int
    """Kept calls of language models."""
    history: ForgottenRuns

    @property
    def counts(self) -> dict[str, int]:
        """The numbers by their names, for records and metadata."""
        return {
            "bytes_freed": self.tables.bytes_freed
            + self.runs.bytes_freed
            + self.history.bytes_freed
            + self.weights_bytes
            + self.loads_bytes,
            "pictures_removed": self.pictures,
            "runs_removed": self.runs.runs,
            "arms_removed": self.runs.arms,
            "dagster_runs_removed": self.history.runs,
            "answers_exported": self.answers.exported,
            "answers_removed": self.answers.removed,
            "language_model_calls_removed": self.calls,
            "trained_weights_removed": self.weights,
        }


def clean_up(
    store: Store,
    config: Config,
    records: "AbstractContextManager[dg.DagsterInstance]",
    *,
    keep_days: float,
    log: Callable[[str], None],
) -> CleanedState:
    """Clean up table by table, then all else; `records` opens Dagster's own, at the end."""
    tables = clean_up_tables(store, config, STEPS, keep_days=keep_days, log=log)
    pictures = images.forget_unnamed(store, log=log)
    runs = remove_unused(store, config, log=log)
    weights, weights_bytes = remove_unused_weights(store, config, keep_days=keep_days)
    loads_bytes = dlt_tables.remove_unnamed(store, config, keep_days=keep_days)
    answers = tidy(store, config, log=log)
    calls = model_calls.remove_old(store, config, log=log)
    with records as instance:
        days = config.clean_up.keep_records_days
        history = forget_old_runs(instance, config, keep_days=days, log=log)
    return CleanedState(
        tables, pictures, runs, weights, weights_bytes, loads_bytes, answers, calls, history
    )
