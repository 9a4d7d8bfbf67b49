"""`rag-assets answers notices`: answers that are other ones by now, old beside new."""

import argparse

from rag_assets.serving.replies import Reply, positive, project_of

SUMMARY = "list answers that are other ones by now, because their sources changed"
EXAMPLES = """\
  rag-assets answers notices
  rag-assets answers notices --user anna --seen
  rag-assets answers notices --all --json"""

SHOWN = 20


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--user", help="to questions of this user")
    command.add_argument("--all", action="store_true", help="those that were seen, too")
    command.add_argument(
        "--seen", action="store_true", help="note that those listed were seen: they are news once"
    )
    command.add_argument(
        "--limit", type=positive, default=SHOWN, help=f"how many to list (default: {SHOWN})"
    )


def run(options: argparse.Namespace) -> Reply:
    """List the notices, the newest first."""
    from rag_assets.answering.record.notices import Notices
    from rag_assets.serving.kept_answers_text import notice_record, notice_text
    from rag_assets.store import serving_pointer

    _, store = project_of(options)
    notices, users = Notices.of(store), None if options.user is None else [options.user]
    found = notices.found(users=users, unseen=not options.all, limit=options.limit + 1)
    shown, goes_on = found[: options.limit], len(found) > options.limit
    pointer = serving_pointer.current(store)
    text = "\n\n".join(notice_text(each, pointer) for each in shown)
    if not shown:
        text = "No answer has changed" + ("." if options.all else " that nobody has looked at.")
    if goes_on:
        text += f"\n\nThere are more: --limit {2 * options.limit}"
    if options.seen and shown:
        notices.mark_seen([each.before.answer_id for each in shown])
    return Reply({"notices": [notice_record(each, pointer) for each in shown]}, text)
