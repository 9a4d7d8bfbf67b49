"""`rag-assets documents reject`: a decision on two documents."""

import argparse

from rag_assets.serving.document_versions import add_two, decide
from rag_assets.serving.replies import Reply

SUMMARY = "decide that two documents are no versions of one"
EXAMPLES = """\
  rag-assets documents reject plant_a/WI-101.pdf plant_b/WI-101.pdf"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    add_two(command, "ONE", "OTHER")


def run(options: argparse.Namespace) -> Reply:
    """Decide that two documents are none of one; it counts from the next refresh on."""
    return decide(options, "unlike")
