"""`rag-assets variants`: which variants there are, what one costs to build, and dropping one."""

import argparse
from datetime import datetime

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.operations.problems import lost_runs
from rag_assets.operations.problems.own_runs import own_runs
from rag_assets.operations.problems.runs import PARTITION_TAG, name_of
from rag_assets.operations.variants import NotDroppedError, drop, variants_of
from rag_assets.reports.text_tables import table
from rag_assets.serving import dagster_instance, disk_errors, refresh_run
from rag_assets.serving.planning_errors import planning_errors
from rag_assets.serving.replies import CommandError, Reply, say
from rag_assets.store import Store

SUMMARY = "list variants, tell what building one costs, or drop one"
EXAMPLES = """\
  rag-assets variants
  rag-assets variants --cost long_chunks     what building it takes
  rag-assets variants --drop long_chunks     remove what was built for it alone"""

COLUMNS = ("variant", "serves", "built", "units", "MB alone", "verdict")

HINT = """\
built: in UTC. MB alone: what no other variant uses. To build one: rag-assets backfill NAME; what
that takes: rag-assets variants --cost NAME."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    what = command.add_mutually_exclusive_group()
    what.add_argument("--cost", metavar="NAME", help="tell what building this variant takes")
    what.add_argument("--drop", metavar="NAME", help="remove the tables that only it uses")


def run(options: argparse.Namespace) -> Reply:
    """List the variants, or look at one, or drop it."""
    config = configuration.load()
    store = Store.of(config)
    if options.cost:
        return _cost(store, config, options.cost)
    if options.drop:
        return _dropped(store, config, options.drop)
    found = variants_of(store, config)
    rows = [
        {
            **state,
            "variant": variant if state["in the config"] else f"{variant} (not in the config)",
            "built": _minute(state["built"]),
            "MB alone": "" if state["serves"] else _megabytes(int(state["bytes alone"] or 0)),
        }
        for variant, state in found.items()
    ]
    text = f"{table(rows, columns=COLUMNS)}\n{HINT}"
    return Reply({"variants": found}, text)


def _minute(when: object) -> str:
    return f"{datetime.fromisoformat(str(when)):%Y-%m-%d %H:%M}" if when else ""


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f}"


def _cost(store: Store, config: Config, variant: str) -> Reply:
    from rag_assets.operations.plan.costs import costs_of
    from rag_assets.operations.plan.planning import plan_of
    from rag_assets.serving.plan_text import record_of, short_text

    with planning_errors():
        plan = plan_of(store, config, variant=variant)
        costs = costs_of(store, config, plan)
    return Reply(record_of(plan, reasons={}, costs=costs), short_text(plan, costs))


def _dropped(store: Store, config: Config, variant: str) -> Reply:
    with disk_errors.writing(config.state_dir), store.lock(refresh_run.LOCK, log=say):
        _require_at_rest(config, variant)
        try:
            freed = drop(store, config, variant, log=say)
        except NotDroppedError as error:
            raise CommandError(str(error)) from error
    text = f"Dropped {variant}: {_megabytes(freed)} MB freed; what others or a rollback need stays."
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
