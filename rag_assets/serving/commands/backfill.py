"""`rag-assets backfill`: the job that builds one variant, in this process, at low priority."""

import argparse

from rag_assets import config as configuration
from rag_assets.process.priority import yield_to_others
from rag_assets.serving import refresh_run
from rag_assets.serving.commands.refresh import refreshed
from rag_assets.serving.replies import Reply

SUMMARY = "build a variant beside the one that serves"
EXAMPLES = """\
  rag-assets backfill long_chunks
  rag-assets backfill long_chunks --json"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("variant", help="variant to build; one that stands is brought up to date")


def run(options: argparse.Namespace) -> Reply:
    """Run the job `backfill_variant`; sources that were never read are read first."""
    yield_to_others()
    return refreshed(configuration.load(), variant=options.variant, job=refresh_run.backfill_job)
