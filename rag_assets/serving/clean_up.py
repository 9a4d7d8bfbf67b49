"""`rag-assets clean-up`: remove old versions, tables and runs of experiments, merge parts."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.change.reclaim import CleanedTables, clean_up_tables
from rag_assets.config.running import MOST_DAYS
from rag_assets.serving import disk, refresh
from rag_assets.serving.command import Answer, CommandError, say, table
from rag_assets.store import Store, images

if TYPE_CHECKING:
    from rag_assets.evaluation.experiments.retention import Forgotten

SUMMARY = "remove old versions, tables and runs of experiments; what was in use lately stays"
EXAMPLES = """\
  rag-assets clean-up
  rag-assets clean-up --keep-days 0        make room: keep only the last hour's versions"""

COLUMNS = ("table", "removed", "kept", "tagged", "merged", "MB freed")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "--keep-days",
        type=float,
        help="versions replaced, and tables named, less than so many days ago stay; "
        "clean_up.keep_days unless given",
    )


def run(options: argparse.Namespace) -> Answer:
    """Clean up table by table; a refresh that runs is waited for, since it reads old versions."""
    from rag_assets.evaluation.experiments.retention import forget_unused

    config = configuration.load()
    keep_days = config.clean_up.keep_days if options.keep_days is None else options.keep_days
    if not 0 <= keep_days <= MOST_DAYS:
        raise CommandError(f"--keep-days is {keep_days:g}: give 0 to {MOST_DAYS}")
    store = Store.of(config)
    with disk.writing(config.state_dir), store.lock(refresh.LOCK, log=say):
        done = clean_up_tables(store, config, keep_days=keep_days, log=say)
        pictures = images.forget_unnamed(store, log=say)
        forgotten = forget_unused(store, config, log=say)
    return Answer(
        record={
            "tables": [asdict(one) for one in done.cleaned],
            "tables_removed": done.removed,
            "bytes_freed": done.bytes_freed + forgotten.bytes_freed,
            "pictures_removed": pictures,
            "runs_removed": forgotten.runs,
            "arms_removed": forgotten.arms,
        },
        text=_text(done, pictures=pictures, forgotten=forgotten),
    )


def _text(done: CleanedTables, *, pictures: int, forgotten: "Forgotten") -> str:
    if not done.cleaned:
        return "There is no table yet: nothing to clean up."
    rows = [asdict(one) | {"MB freed": one.bytes_freed / 1_000_000} for one in done.cleaned]
    removed = sum(one.removed for one in done.cleaned)
    total = f"{removed:,} versions removed, {done.bytes_freed / 1_000_000:,.1f} MB freed."
    if done.removed:
        total += f" Tables that nothing named any more removed: {', '.join(done.removed)}."
    if pictures:
        total += f" {pictures:,} pictures that nothing shows any more removed."
    if forgotten.runs or forgotten.arms:
        total += (
            f" {forgotten.runs:,} runs of experiments and {forgotten.arms:,} arms removed, "
            f"{forgotten.bytes_freed / 1_000_000:,.1f} MB freed."
        )
    return f"{table(rows, columns=COLUMNS)}\n\n{total}"
