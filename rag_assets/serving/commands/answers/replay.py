"""`rag-assets answers replay`: run a kept answer again, and show what differs."""

import argparse

from rag_assets.serving.replies import FAILED, OK, Reply, project_of

SUMMARY = "run a kept answer again, and show what differs"
EXAMPLES = """\
  rag-assets answers replay 01980d3c-5e1a-7c43-8f0e-6a1b2c3d4e5f
  rag-assets answers replay 01980d3c-5e1a --index current      the start of an id is enough"""

KEPT = "kept"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("answer", metavar="ID", help="see rag-assets answers list")
    command.add_argument(
        "--index",
        choices=("kept", "current"),
        default=KEPT,
        help="kept: the tables, retriever and settings that it used (default); current: what "
        "serves now",
    )


def run(options: argparse.Namespace) -> Reply:
    """Ask the question again; exit code 1 if the versions of then give another answer.

    Calls of language models that are still kept are not made anew.
    """
    from rag_assets.answering.record.database import answers_of
    from rag_assets.answering.record.listing import one
    from rag_assets.answering.record.replaying import replay
    from rag_assets.serving.kept_answers_text import replay_record, replay_text

    config, store = project_of(options)
    kept = one(answers_of(store), options.answer)
    done = replay(kept, config=config, on=options.index)
    differs = options.index == KEPT and not done.difference.is_equal
    record = {"index": options.index, **replay_record(done)}
    return Reply(record, replay_text(done, on=options.index), code=FAILED if differs else OK)
