"""`rag-assets clean-up`: remove old versions, tables and runs of experiments, merge small files."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.change.reclaim import CleanedTables, clean_up_tables
from rag_assets.config.running import MOST_DAYS
from rag_assets.graph import STEPS
from rag_assets.reports.text_tables import table
from rag_assets.serving import disk_errors, refresh_run
from rag_assets.serving.replies import CommandError, Reply, say
from rag_assets.store import Store, images

if TYPE_CHECKING:
    from rag_assets.evaluation.experiment_runs import RemovedRuns
    from rag_assets.operations.erasure.kept_answers import TidiedAnswers
    from rag_assets.operations.run_history import ForgottenRuns

SUMMARY = "free disk space: remove old versions, tables, runs and answers"
EXAMPLES = """\
  rag-assets clean-up
  rag-assets clean-up --keep-days 0        make room: keep only the last hour's versions"""

COLUMNS = ("table", "removed", "kept", "tagged", "merged", "MB freed")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "--keep-days",
        type=float,
        help="keep versions that were replaced, and tables that were last used, within this many "
        "days (default: clean_up.keep_days)",
    )


def run(options: argparse.Namespace) -> Reply:
    """Clean up table by table; a running refresh is waited for, since it reads old versions."""
    from rag_assets.evaluation.experiment_runs import remove_unused
    from rag_assets.operations.erasure import model_calls
    from rag_assets.operations.erasure.kept_answers import tidy
    from rag_assets.operations.run_history import forget_old_runs
    from rag_assets.operations.unused_weights import remove_unused_weights
    from rag_assets.serving import dagster_instance

    config = configuration.load()
    keep_days = config.clean_up.keep_days if options.keep_days is None else options.keep_days
    if not 0 <= keep_days <= MOST_DAYS:
        raise CommandError(f"--keep-days is {keep_days:g}: give 0 to {MOST_DAYS}")
    store = Store.of(config)
    with disk_errors.writing(config.state_dir), store.lock(refresh_run.LOCK, log=say):
        done = clean_up_tables(store, config, STEPS, keep_days=keep_days, log=say)
        pictures = images.forget_unnamed(store, log=say)
        removed_runs = remove_unused(store, config, log=say)
        weights, weights_bytes = remove_unused_weights(store, config, keep_days=keep_days)
        answers = tidy(store, config, log=say)
        calls = model_calls.remove_old(store, config, log=say)
        with dagster_instance.opened(config) as records:
            keep_records = config.clean_up.keep_records_days
            history = forget_old_runs(records, keep_days=keep_records, log=say)
    return Reply(
        record={
            "tables": [asdict(one) for one in done.cleaned],
            "tables_removed": done.removed,
            "bytes_freed": done.bytes_freed
            + removed_runs.bytes_freed
            + history.bytes_freed
            + weights_bytes,
            "pictures_removed": pictures,
            "runs_removed": removed_runs.runs,
            "arms_removed": removed_runs.arms,
            "dagster_runs_removed": history.runs,
            "answers_exported": answers.exported,
            "answers_removed": answers.removed,
            "language_model_calls_removed": calls,
            "trained_weights_removed": weights,
        },
        text=_text(
            done,
            pictures=pictures,
            removed_runs=removed_runs,
            history=history,
            answers=answers,
            calls=calls,
            weights=weights,
        ),
    )


def _text(
    done: CleanedTables,
    *,
    pictures: int,
    removed_runs: "RemovedRuns",
    history: "ForgottenRuns",
    answers: "TidiedAnswers",
    calls: int,
    weights: int,
) -> str:
    if not (done.cleaned or answers.removed or calls or weights):
        return "There is no table yet: nothing to clean up."
    rows = [asdict(one) | {"MB freed": one.bytes_freed / 1_000_000} for one in done.cleaned]
    removed = sum(one.removed for one in done.cleaned)
    total = f"{removed:,} versions removed, {done.bytes_freed / 1_000_000:,.1f} MB freed."
    if done.removed:
        total += f" Removed tables that nothing uses: {', '.join(done.removed)}."
    if pictures:
        total += f" Removed {pictures:,} pictures that no document shows."
    if removed_runs.runs or removed_runs.arms:
        total += (
            f" {removed_runs.runs:,} runs of experiments and {removed_runs.arms:,} arms removed, "
            f"{removed_runs.bytes_freed / 1_000_000:,.1f} MB freed."
        )
    if history.runs:
        total += (
            f" {history.runs:,} old runs removed from Dagster's records, "
            f"{history.bytes_freed / 1_000_000:,.1f} MB freed."
        )
    if answers.exported or answers.removed:
        total += (
            f" {answers.exported:,} answers copied to the table answers, {answers.removed:,} old "
            "answers removed."
        )
    if calls:
        total += f" {calls:,} old calls of language models removed."
    if weights:
        total += f" {weights:,} folders of trained weights or checkpoints removed."
    return f"{table(rows, columns=COLUMNS)}\n\n{total}"
