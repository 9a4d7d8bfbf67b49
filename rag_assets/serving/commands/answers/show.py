"""`rag-assets answers show`: one kept answer in full."""

import argparse

from rag_assets.serving.replies import Reply, project_of

SUMMARY = "show one kept answer in full"
EXAMPLES = """\
  rag-assets answers show 01980d3c-5e1a-7c43-8f0e-6a1b2c3d4e5f
  rag-assets answers show 01980d3c-5e1a          the start of an id is enough"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument("answer", metavar="ID", help="see rag-assets answers list")


def run(options: argparse.Namespace) -> Reply:
    """Show the answer, what of it is stale, and whether it can be run again."""
    from rag_assets.answering.record.database import answers_of
    from rag_assets.answering.record.listing import ListedAnswer, one
    from rag_assets.answering.record.replaying import tables_gone
    from rag_assets.answering.record.staleness import served_now
    from rag_assets.serving.kept_answers_text import one_record, one_text

    config, store = project_of(options)
    kept = one(answers_of(store), options.answer)
    served = served_now(store, config)
    found = ListedAnswer(kept, served.touched_of([kept])[0] if served else None)
    gone = tables_gone(kept, store)
    return Reply(one_record(found, gone=gone), one_text(found, gone=gone))
