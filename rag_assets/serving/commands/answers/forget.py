"""`rag-assets answers forget`: all that one user asked is erased."""

import argparse
from collections.abc import Sequence

from rag_assets.serving.replies import (
    FAILED,
    CommandError,
    Reply,
    agrees,
    project_of,
    require_answers,
    say,
)

SUMMARY = "erase all answers to the questions of one user"
EXAMPLES = """\
  rag-assets answers forget anna
  rag-assets answers forget anna --yes"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument("user", metavar="NAME", help="who asked")
    command.add_argument("--yes", action="store_true", help="do not ask before erasing")


def run(options: argparse.Namespace) -> Reply:
    """Ask, erase, and tell what came meanwhile."""
    from rag_assets.operations.erasure.kept_answers import answers_by, erase
    from rag_assets.questions.from_answers import left_with_people

    (config, store), user, is_sure = project_of(options), options.user, options.yes
    if not is_sure:
        require_answers("answers forget")
    found = answers_by(store, user)
    if not found:
        raise CommandError(
            f"no answer to a question of {user!r} is kept: the name must be exactly as it was given"
        )
    if not (is_sure or agrees(f"Erase {_counted(found)} to questions of {user}?")):
        return Reply({"erased": 0}, "Nothing was erased.", code=FAILED)
    questions = erase(store, found, log=say)
    left = answers_by(store, user)
    text = f"Erased {_counted(found)} to questions of {user}. Backups are not touched."
    if left:
        text = f"{_counted(left)} to questions of {user} came meanwhile: run it again."
    if of_people := left_with_people(config.questions, questions):
        text += f"\n\n{of_people}"
    return Reply({"erased": len(found), "left": len(left)}, text, code=FAILED if left else 0)


def _counted(answers: Sequence[str]) -> str:
    return "1 answer" if len(answers) == 1 else f"{len(answers):,} answers"
