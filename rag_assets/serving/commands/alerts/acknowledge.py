"""`rag-assets alerts acknowledge`: what is to go on failing is no problem any more."""

import argparse
import re
from collections.abc import Iterable

from rag_assets.operations.problems.acknowledged import Failing, acknowledged, keep
from rag_assets.operations.problems.current import acknowledgeable
from rag_assets.serving.replies import Reply, UsageError, project_of
from rag_assets.sources import readability

SUMMARY = "accept that a file, row, table or source fails as it does, until it fails anew"
EXAMPLES = """\
  rag-assets alerts acknowledge 'offers/locked.pdf'   no problem until another version fails
  rag-assets alerts acknowledge 'archive/*.odt' erp/parts
  rag-assets alerts acknowledge documents             the source lost documents, which is right
  rag-assets alerts acknowledge                       what fails, and what is acknowledged
  rag-assets alerts acknowledge --undo 'archive/*'"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument(
        "names", nargs="*", metavar="NAME", help="as `status` writes it; * and ? stand for any part"
    )
    command.add_argument("--undo", action="store_true", help="let it be a problem again")


def run(options: argparse.Namespace) -> Reply:
    """Acknowledge what the names match, or take that back; without a name, only list."""
    config, store = project_of(options)
    reasons = acknowledgeable(store, config)
    known = acknowledged(store) & reasons.keys()
    chosen = {each for name in options.names for each in _matching(name, reasons)}
    if chosen:
        known = known - chosen if options.undo else known | chosen
        keep(store, known)
    if not options.undo:
        readability.accept_losses(store, {each.name for each in chosen})
    shown = {each: reasons[each] for each in sorted(chosen or reasons)}
    lines = [
        f"{'acknowledged' if each in known else 'open'}: {each.name} ({reason})"
        for each, reason in shown.items()
    ]
    return Reply(
        record={
            "acknowledged": sorted({each.name for each in known}),
            "open": sorted({each.name for each in reasons.keys() - known}),
        },
        text="\n".join(dict.fromkeys(lines)) or "Nothing fails.",
    )


def _matching(pattern: str, failing: Iterable[Failing]) -> list[Failing]:
    """What a name or a pattern stands for: itself, and what lies in that folder, table or source.

    Raises:
        UsageError: Nothing that fails is called so.
    """
    parts = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    called = re.compile(parts, re.DOTALL)
    found = [
        each
        for each in failing
        if called.fullmatch(each.name)
        or each.name.startswith((f"{pattern.rstrip('/')}/", f"{pattern} "))
    ]
    if not found:
        raise UsageError(
            f"nothing that fails is called {pattern}: `rag-assets alerts acknowledge` lists what "
            "fails"
        )
    return found
