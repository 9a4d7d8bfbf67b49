"""`rag-assets answers`: list the answers that were kept, show one, copy or erase them."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from rag_assets import config as configuration
from rag_assets.answering.answer import Outcome
from rag_assets.config import Config
from rag_assets.serving import disk_errors
from rag_assets.serving.replies import (
    FAILED,
    CommandError,
    Reply,
    UsageError,
    day,
    positive,
    say,
)
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.answering.record.staleness import Served

SUMMARY = "list, show or erase the answers that were kept"
EXAMPLES = """\
  rag-assets answers --since 2026-01-01 --stale
  rag-assets answers --text "yield strength" --outcome nothing --json
  rag-assets answers 01980d3c-5e1a-7c43-8f0e-6a1b2c3d4e5f
  rag-assets answers --export                   copy new ones to the table `answers`
  rag-assets answers --forget-user anna --yes   erase all that anna asked"""

SHOWN = 20


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("answer", nargs="?", metavar="ID", help="show this answer in full")
    command.add_argument(
        "--since", type=day, metavar="DATE", help="asked on this day (UTC) or later (YYYY-MM-DD)"
    )
    command.add_argument("--user", help="asked by this user")
    command.add_argument("--outcome", choices=get_args(Outcome), help="only answers that ended so")
    command.add_argument(
        "--stale", action="store_true", help="only answers with a sentence whose source changed"
    )
    command.add_argument("--text", help="question or answer contains this; case does not count")
    command.add_argument(
        "--limit", type=positive, default=SHOWN, help=f"how many to list (default: {SHOWN})"
    )
    command.add_argument(
        "--before", metavar="ID", help="go on after this answer of an earlier list"
    )
    command.add_argument(
        "--export", action="store_true", help="copy new answers to the table `answers` and end"
    )
    command.add_argument(
        "--forget-user", metavar="NAME", help="erase all answers to this user's questions and end"
    )
    command.add_argument("--yes", action="store_true", help="do not ask before erasing")


def run(options: argparse.Namespace) -> Reply:
    """List, show, copy or erase kept answers."""
    from rag_assets.store.records_file import RecordsFileError

    config = configuration.load()
    store = Store.of(config)
    chosen = [options.answer, options.forget_user, options.export or None]
    if sum(each is not None for each in chosen) > 1:
        raise UsageError("give one of ID, --export and --forget-user")
    try:
        with disk_errors.writing(config.state_dir):
            if options.forget_user is not None:
                return _forget(store, config, options.forget_user, is_sure=options.yes)
            if options.export:
                return _exported(store)
            if options.answer:
                return _one(store, config, options.answer)
            return _listed(store, config, options)
    except RecordsFileError as error:
        raise CommandError(str(error)) from error


def _listed(store: Store, config: Config, options: argparse.Namespace) -> Reply:
    from rag_assets.answering.record.database import answers_of
    from rag_assets.answering.record.listing import AnswerFilter, find
    from rag_assets.serving.kept_answers_text import list_record, list_text

    wanted = AnswerFilter(
        since=options.since,
        user=options.user,
        outcome=options.outcome,
        text=options.text,
        before=options.before,
    )
    found = find(
        answers_of(store),
        wanted,
        served=_served(store, config, is_needed=options.stale),
        limit=options.limit + 1,
        stale_only=options.stale,
    )
    shown, goes_on = found[: options.limit], len(found) > options.limit
    following = shown[-1].kept.answer_id if goes_on else None
    text = list_text(shown) if shown else "No such answer is kept."
    if following:
        text += f"\n\nThere are more: --before {following}"
    return Reply({"answers": [list_record(each) for each in shown], "next": following}, text)


def _one(store: Store, config: Config, answer_id: str) -> Reply:
    from rag_assets.answering.record.database import answers_of
    from rag_assets.answering.record.listing import ListedAnswer, one
    from rag_assets.answering.record.replaying import tables_gone
    from rag_assets.serving.kept_answers_text import one_record, one_text

    kept = one(answers_of(store), answer_id)
    served = _served(store, config, is_needed=False)
    listed = ListedAnswer(kept, served.touched_of([kept])[0] if served else None)
    gone = tables_gone(kept, store)
    return Reply(one_record(listed, gone=gone), one_text(listed, gone=gone))


def _served(store: Store, config: Config, *, is_needed: bool) -> "Served | None":
    """What serves now; None where it cannot be told and is not needed."""
    from rag_assets.answering.record.staleness import Served
    from rag_assets.store.damage import DamagedTablesError
    from rag_assets.store.serving_pointer import ServingPointerError

    try:
        found = Served.now(store, config)
    except (ServingPointerError, DamagedTablesError):
        if is_needed:
            raise
        return None
    if found is None and is_needed:
        raise CommandError("nothing serves yet, so that no answer can be told stale")
    return found


def _exported(store: Store) -> Reply:
    from rag_assets.answering.record.database import answers_of
    from rag_assets.answering.record.exporting import export
    from rag_assets.schemas import ANSWERS_TABLE

    done = export(store, answers_of(store), log=say)
    place = store.uri(ANSWERS_TABLE)
    return Reply({"exported": done, "table": place}, f"Copied {done:,} new answers to {place}.")


def _forget(store: Store, config: Config, user: str, *, is_sure: bool) -> Reply:
    from rag_assets.operations.erasure.kept_answers import answers_by, erase
    from rag_assets.questions.from_answers import left_with_people

    if not is_sure and not sys.stdin.isatty():
        raise UsageError(
            "--forget-user asks before it erases, but there is no terminal to ask on: add --yes"
        )
    found = answers_by(store, user)
    if not found:
        raise CommandError(
            f"no answer to a question of {user!r} is kept: the name must be exactly as it was given"
        )
    if not is_sure:
        say(f"Erase {_counted(found)} to questions of {user}? It cannot be undone. [y/N]")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
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
