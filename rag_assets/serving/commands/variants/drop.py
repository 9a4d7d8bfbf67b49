"""`rag-assets variants drop`: what was built for one variant alone goes."""

import argparse

from rag_assets.config import Config
from rag_assets.operations.problems import lost_runs
from rag_assets.operations.problems.own_runs import own_runs
from rag_assets.operations.problems.runs import PARTITION_TAG, name_of
from rag_assets.operations.variants import drop
from rag_assets.serving import dagster_instance, refresh_run
from rag_assets.serving.replies import CommandError, Reply, megabytes, project_of, say

SUMMARY = "remove the tables that only one variant uses"
EXAMPLES = """\
  rag-assets variants drop long_chunks"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "name", metavar="VARIANT", help="variant to drop; the config need not have it any more"
    )


def run(options: argparse.Namespace) -> Reply:
    """Drop it, unless it serves or a run is building it."""
    config, store = project_of(options)
    variant = options.name
    with store.lock(refresh_run.LOCK, log=say):
        _require_at_rest(config, variant)
        freed = drop(store, config, variant, log=say)
    text = f"Dropped {variant}: {megabytes(freed)} freed; what others or a rollback need stays."
    if variant in config.variants:
        text += (
            f" The config still names it: take {variant} out of `variants`, or a backfill of it "
            "builds it again."
        )
    return Reply({"variant": variant, "bytes_freed": freed}, text)


def _require_at_rest(config: Config, variant: str) -> None:
    """Refuse to remove tables that a run of the Dagster UI is building.

    Raises:
        CommandError: A run for `variant` is going on.
    """
    import dagster as dg

    alive = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    with dagster_instance.opened(config) as opened:
        lost_runs.close_dead_runs(opened, config)
        lost_runs.close_lost_runs(opened, config)
        building = dg.RunsFilter(statuses=alive, tags={PARTITION_TAG: variant})
        if going := own_runs(opened.get_runs(building), config, opened):
            raise CommandError(
                f"{name_of(going[0], config)} is going on: drop it after that, or stop it"
            )
