"""`rag-assets answers export`: new answers are copied to a table of the index."""

import argparse

from rag_assets.serving.replies import Reply, project_of, say

SUMMARY = "copy new answers to the table `answers`"
EXAMPLES = """\
  rag-assets answers export"""


def run(options: argparse.Namespace) -> Reply:
    """Copy the answers that the table lacks."""
    from rag_assets.answering.record.database import answers_of
    from rag_assets.answering.record.exporting import export
    from rag_assets.schemas import ANSWERS_TABLE

    _, store = project_of(options)
    done = export(store, answers_of(store), log=say)
    place = store.uri(ANSWERS_TABLE)
    return Reply({"exported": done, "table": place}, f"Copied {done:,} new answers to {place}.")
