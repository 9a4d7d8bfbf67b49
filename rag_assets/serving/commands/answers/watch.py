"""`rag-assets answers watch`: a rule for when a change of one answer is told."""

import argparse

from rag_assets.serving.replies import CommandError, Reply, UsageError, project_of

SUMMARY = "say when a change of one answer is told: at any change, or beyond a tolerance"
EXAMPLES = """\
  rag-assets answers watch 01980d3c-5e1a                  at any change, of ranks too
  rag-assets answers watch 01980d3c-5e1a --tolerance 5    once its number moved by more than 5 %
  rag-assets answers watch 01980d3c-5e1a --stop"""
MOST_PERCENT = 1_000.0


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("answer", metavar="ID", help="see rag-assets answers list")
    rule = command.add_mutually_exclusive_group()
    rule.add_argument(
        "--tolerance",
        type=float,
        metavar="PERCENT",
        help="of its number, by which another one may differ untold",
    )
    rule.add_argument("--stop", action="store_true", help="take the rule away")


def run(options: argparse.Namespace) -> Reply:
    """Keep the answer under the rule, or take it away."""
    from rag_assets.answering.record.database import answers_of
    from rag_assets.answering.record.listing import one
    from rag_assets.answering.record.notices import Notices

    percent: float | None = options.tolerance
    if percent is not None and not 0 <= percent <= MOST_PERCENT:
        raise UsageError(f"--tolerance is a percentage from 0 to {MOST_PERCENT:g}, such as 5")
    _, store = project_of(options)
    file = answers_of(store)
    kept = one(file, options.answer)
    question, record = kept.answer.question, {"answer_id": kept.answer_id}
    if options.stop:
        if not Notices(file).unwatch(kept.answer_id):
            raise CommandError(f"answer {kept.answer_id} is under no rule")
        return Reply(record | {"watched": False}, f"“{question}” is under no rule any more.")
    Notices(file).watch(kept.answer_id, tolerance=None if percent is None else percent / 100)
    when = (
        "at any change" if percent is None else f"once its number moves by more than {percent:g} %"
    )
    return Reply(
        record | {"watched": True, "tolerance": percent}, f"“{question}” is told of {when}."
    )
