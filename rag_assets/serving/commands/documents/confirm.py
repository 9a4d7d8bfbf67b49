"""`rag-assets documents confirm`: a decision on two documents."""

import argparse

from rag_assets.serving.document_versions import add_two, decide
from rag_assets.serving.replies import Reply

SUMMARY = "decide that the first document is the newer version of the second"
EXAMPLES = """\
  rag-assets documents confirm manuals/pump_new.pdf manuals/pump.pdf     newer first"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    add_two(command, "NEW", "OLD")


def run(options: argparse.Namespace) -> Reply:
    """Decide that two documents are versions of one; it counts from the next refresh on."""
    return decide(options, "versions")
