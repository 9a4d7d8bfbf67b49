"""`rag-assets replay`: run a kept answer again, and show what differs."""

import argparse

from rag_assets import config as configuration
from rag_assets.serving.replies import (
    FAILED,
    OK,
    CommandError,
    Reply,
    assistant_errors,
    search_errors,
)
from rag_assets.store import Store

SUMMARY = "run a kept answer again, and show what differs"
EXAMPLES = """\
  rag-assets replay 01980d3c-5e1a-7c43-8f0e-6a1b2c3d4e5f
  rag-assets replay 01980d3c-5e1a --index current      the start of an id is enough"""

KEPT = "kept"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("answer", metavar="ID", help="see rag-assets answers")
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

    Raises:
        CommandError: It cannot be run again; the config has no language model of that name, say.
    """
    from rag_assets.answering.record.database import AnswersFileError, answers_of
    from rag_assets.answering.record.listing import one
    from rag_assets.answering.record.replaying import ReplayError, replay
    from rag_assets.serving.kept_answers_text import replay_record, replay_text

    config = configuration.load()
    try:
        kept = one(answers_of(Store.of(config)), options.answer)
        with search_errors(), assistant_errors():
            done = replay(kept, config=config, on=options.index)
    except (AnswersFileError, ReplayError) as error:
        raise CommandError(str(error)) from error
    differs = options.index == KEPT and not done.difference.is_equal
    record = {"index": options.index, **replay_record(done)}
    return Reply(record, replay_text(done, on=options.index), code=FAILED if differs else OK)
