"""`rag-assets plan`: what a refresh would do and cost, before it does anything."""

import argparse

from rag_assets import config as configuration
from rag_assets.serving.planning_errors import planning_errors
from rag_assets.serving.replies import Reply
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant

SUMMARY = "tell what a refresh would do and cost, without doing it"
EXAMPLES = """\
  rag-assets plan
  rag-assets plan --variant long_chunks --json
  rag-assets plan --allow-shrink           as if most of a source were gone on purpose"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--variant", help="variant to plan (default: the one that serves)")
    command.add_argument(
        "--allow-shrink",
        action="store_true",
        help="plan as for a refresh that accepts that a source lost more than half of its items",
    )


def run(options: argparse.Namespace) -> Reply:
    """Look at the sources and the tables, and tell what a refresh would do.

    Raises:
        CommandError: A parser or the weights of a model are missing.
    """
    from rag_assets.operations.plan.costs import costs_of
    from rag_assets.operations.plan.planning import plan_of
    from rag_assets.operations.plan.reasons import reasons_of
    from rag_assets.serving.plan_text import record_of, text_of

    config = configuration.load()
    store = Store.of(config)
    variant = options.variant or serving_variant(store, config)
    with planning_errors():
        plan = plan_of(store, config, variant=variant, allow_shrink=options.allow_shrink)
        costs = costs_of(store, config, plan)
    reasons = reasons_of(store, config, plan)
    return Reply(
        record=record_of(plan, reasons=reasons, costs=costs),
        text=text_of(plan, reasons=reasons, costs=costs),
    )
