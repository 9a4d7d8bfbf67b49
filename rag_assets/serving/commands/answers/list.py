"""`rag-assets answers list`: the answers that were kept."""

import argparse
from typing import get_args

from rag_assets.answering.answer import Outcome
from rag_assets.serving.replies import CommandError, Reply, day, positive, project_of

SUMMARY = "list the answers that were kept, the newest first"
EXAMPLES = """\
  rag-assets answers --since 2026-01-01 --stale
  rag-assets answers list --text "yield strength" --outcome nothing --json"""

SHOWN = 20


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
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


def run(options: argparse.Namespace) -> Reply:
    """List the answers that fit all options."""
    from rag_assets.answering.record.database import answers_of
    from rag_assets.answering.record.listing import AnswerFilter, find
    from rag_assets.answering.record.staleness import Served, served_now
    from rag_assets.serving.kept_answers_text import list_record, list_text

    config, store = project_of(options)
    served = Served.now(store, config) if options.stale else served_now(store, config)
    if options.stale and served is None:
        raise CommandError("nothing serves yet, so that no answer can be told stale")
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
        served=served,
        limit=options.limit + 1,
        stale_only=options.stale,
    )
    shown, goes_on = found[: options.limit], len(found) > options.limit
    following = shown[-1].kept.answer_id if goes_on else None
    text = list_text(shown) if shown else "No such answer is kept."
    if following:
        text += f"\n\nThere are more: --before {following}"
    return Reply({"answers": [list_record(each) for each in shown], "next": following}, text)
