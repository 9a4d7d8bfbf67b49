"""`rag-assets variants backfill`: one variant is built here, at low priority."""

import argparse

from rag_assets.process.priority import yield_to_others
from rag_assets.serving import refresh_run
from rag_assets.serving.commands.refresh import refreshed
from rag_assets.serving.replies import Reply, project_of

SUMMARY = "build a variant beside the one that serves"
EXAMPLES = """\
  rag-assets variants backfill long_chunks
  rag-assets variants backfill long_chunks --json"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("variant", help="variant to build; one that stands is brought up to date")


def run(options: argparse.Namespace) -> Reply:
    """Run the job `backfill_variant`; sources that were never read are read first."""
    config, _ = project_of(options)
    yield_to_others()
    return refreshed(config, variant=options.variant, job=refresh_run.backfill_job)
