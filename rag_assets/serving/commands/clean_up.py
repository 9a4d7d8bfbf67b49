"""`rag-assets clean-up`: remove old versions, tables and runs of experiments, merge small files."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_assets.config.running import MOST_DAYS
from rag_assets.reports.text_tables import table
from rag_assets.serving import refresh_run
from rag_assets.serving.replies import CommandError, Reply, megabytes, project_of, say

if TYPE_CHECKING:
    from rag_assets.operations.clean_up import CleanedState

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
    from rag_assets.operations.clean_up import clean_up
    from rag_assets.serving import dagster_instance

    config, store = project_of(options)
    keep_days = config.clean_up.keep_days if options.keep_days is None else options.keep_days
    if not 0 <= keep_days <= MOST_DAYS:
        raise CommandError(f"--keep-days is {keep_days:g}: give 0 to {MOST_DAYS}")
    with store.lock(refresh_run.LOCK, log=say):
        records = dagster_instance.opened(config)
        done = clean_up(store, config, records, keep_days=keep_days, log=say)
    return Reply(
        record={
            "tables": [asdict(one) for one in done.tables.cleaned],
            "tables_removed": done.tables.removed,
            **done.counts,
        },
        text=_text(done),
    )


def _text(found: "CleanedState") -> str:
    done, answers, history = found.tables, found.answers, found.history
    if not (done.cleaned or answers.removed or found.calls or found.weights):
        return "There is no table yet: nothing to clean up."
    rows = [asdict(one) | {"MB freed": one.bytes_freed / 1_000_000} for one in done.cleaned]
    removed = sum(one.removed for one in done.cleaned)
    total = f"{removed:,} versions removed, {megabytes(done.bytes_freed)} freed."
    if done.removed:
        total += f" Removed tables that nothing uses: {', '.join(done.removed)}."
    if found.pictures:
        total += f" Removed {found.pictures:,} pictures that no document shows."
    if found.runs.runs or found.runs.arms:
        total += (
            f" {found.runs.runs:,} runs of experiments and {found.runs.arms:,} arms removed, "
            f"{megabytes(found.runs.bytes_freed)} freed."
        )
    if history.runs:
        total += (
            f" {history.runs:,} old runs removed from Dagster's records, "
            f"{megabytes(history.bytes_freed)} freed."
        )
    if answers.exported or answers.removed:
        total += (
            f" {answers.exported:,} answers copied to the table answers, {answers.removed:,} old "
            "answers removed."
        )
    if found.calls:
        total += f" {found.calls:,} old calls of language models removed."
    if found.weights:
        total += f" {found.weights:,} folders of trained weights or checkpoints removed."
    return f"{table(rows, columns=COLUMNS)}\n\n{total}"
