"""`rag-assets variants cost`: what building a variant takes."""

import argparse

from rag_assets.serving.replies import Reply, project_of

SUMMARY = "tell what building a variant takes"
EXAMPLES = """\
  rag-assets variants cost long_chunks"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("variant", help="variant to plan; it need not be built")


def run(options: argparse.Namespace) -> Reply:
    """Plan a refresh of it, and tell in a sentence what that takes."""
    from rag_assets.operations.plan.costs import costs_of
    from rag_assets.operations.plan.planning import plan_of
    from rag_assets.serving.plan_text import record_of, short_text

    config, store = project_of(options)
    plan = plan_of(store, config, variant=options.variant)
    costs = costs_of(store, config, plan)
    return Reply(record_of(plan, reasons={}, costs=costs), short_text(plan, costs))
