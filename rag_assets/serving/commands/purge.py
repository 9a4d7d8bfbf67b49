"""`rag-assets purge`: erase one document from all that was built, and prove it."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.serving import disk_errors, refresh_run
from rag_assets.serving.answers import FAILED, OK, Answer, CommandError, Json, UsageError, say
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.operations.plans import Plan
    from rag_assets.operations.proof import Proof

SUMMARY = "erase one document from tables, versions, caches, reports and records, and prove it"
EXAMPLES = """\
  rag-assets purge reports/2019/offer.pdf
  rag-assets purge offer.pdf --source contracts --yes
  rag-assets purge 2f0f2a5e-4d1c-5b7e-9a43-0c5d8f1b7a66      by its document id"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument(
        "document", metavar="DOCUMENT", help="its path below the source root, or its document id"
    )
    command.add_argument("--source", help="its document source; found out unless several have it")
    command.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> Answer:
    """Show what would go, ask, erase and search for what is left."""
    from rag_assets.operations import plans, purge
    from rag_assets.operations.run_records import BusyRecordsError
    from rag_assets.serving import dagster_instance

    config = configuration.load()
    if not options.yes and not sys.stdin.isatty():
        raise UsageError("purge asks before it erases, and there is no terminal: give --yes")
    store = Store.of(config)
    if not store.root.exists():
        raise CommandError(f"there is no state at {store.root}: nothing was built yet")
    with disk_errors.writing(config.state_dir), ExitStack() as stack:
        try:
            stack.enter_context(store.lock(refresh_run.LOCK, log=say))
            document = plans.find(store, config, options.document, source=options.source)
            plans.refuse_if_there(store, config, document)
            with dagster_instance.opened(config) as opened:
                dagster_instance.close_dead_runs(opened)
                dagster_instance.close_lost_runs(opened)
                state = plans.State(store, config, opened, dagster_instance.home(config), say)
                with ExitStack() as locks:
                    purge.lock_everything(state, locks)
                    planned = plans.plan(state, document)
                    has_begun = purge.intent_of(store, document).exists()
                    if planned.is_empty and not has_begun:
                        found = purge.prove(state, planned)
                        if not found.left:
                            raise CommandError(_nothing(planned, found))
                    if not options.yes and not _is_wanted(planned):
                        return Answer({"purged": False}, "Nothing was erased.", code=FAILED)
                    purge.erase_all(state, planned)
                purge.erase_pictures(state)
            purge.finish(state, planned)
            return _answer(planned, purge.prove(state, planned))
        except (plans.PurgeError, BusyRecordsError) as error:
            raise CommandError(str(error)) from error


def _is_wanted(planned: "Plan") -> bool:
    """Whether a person says yes to what they are shown."""
    say("\n".join(_told(planned)))
    say("Erase all of that? It cannot be undone. [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _told(planned: "Plan") -> Iterator[str]:
    from rag_assets.store.catalog import folder_of

    document, records = planned.document, planned.records
    of_source = f" of the source {document.source}" if document.source else ""
    yield f"{document.name}{of_source} (document id {document.document_id}):"
    yield f"  {planned.units:,} units, {planned.pictures:,} pictures that nothing else shows"
    for held in planned.held:
        yield (
            f"  {held.rows:,} rows in the table {folder_of(held.generation)}, whose "
            f"{held.versions:,} versions go or are made anew"
        )
    yield (
        f"  {len(records.runs):,} runs in Dagster's records, the history of "
        f"{len(records.assets):,} assets"
    )
    for kept in planned.kept:
        yield f"  {kept.place}"


def _nothing(planned: "Plan", found: "Proof") -> str:
    return (
        f"nothing of {planned.document.name} is in the state: {_searched(found)}; if it should be "
        "there, check the path below the source root, and --source"
    )


def _searched(found: "Proof") -> str:
    return (
        f"{found.files:,} files and {found.versions:,} versions of {found.tables:,} tables "
        "were searched"
    )


def _answer(planned: "Plan", found: "Proof") -> Answer:
    document = planned.document
    record: dict[str, Json] = {
        "purged": not found.left,
        "document": document.uri,
        "document_id": document.document_id,
        "source": document.source,
        "removed": _removed(planned),
        "searched": {
            "files": found.files,
            "tables": found.tables,
            "versions": found.versions,
            "names": len(planned.traces.names),
            "runs_of_words": len(planned.traces.runs),
            "words": len(planned.traces.words),
        },
        "left": [{"place": left.place, "said": left.said} for left in found.left],
        "questions": {name: list(ids) for name, ids in planned.questions.items()},
        "files_of_user": [str(file) for file in planned.files_of_user],
    }
    return Answer(
        record, "\n\n".join(_paragraphs(planned, found)), code=FAILED if found.left else OK
    )


def _removed(planned: "Plan") -> Mapping[str, Json]:
    return {
        "units": planned.units,
        "pictures": planned.pictures,
        "rows": {held.generation: held.rows for held in planned.held},
        "versions": sum(held.versions for held in planned.held),
        "runs": list(planned.records.runs),
        "assets": [key.to_user_string() for key in planned.records.assets],
        "files": [str(kept.place) for kept in planned.kept],
    }


def _paragraphs(planned: "Plan", found: "Proof") -> Iterator[str]:
    traces = planned.traces
    yield "\n".join(["Erased:", *_told(planned)])
    if planned.files_of_user:
        lines = [f"  {file}" for file in planned.files_of_user]
        lines += [f"  {name}: {', '.join(ids)}" for name, ids in planned.questions.items()]
        yield "\n".join(
            [
                "Files of yours that name or quote it stay as they are, and a refresh reads them "
                "again; remove it there (questions by their set):",
                *lines,
            ]
        )
    for_what = (
        f"{len(traces.names):,} names, {len(traces.runs):,} runs of words and "
        f"{len(traces.words):,} words that nothing else says"
    )
    if found.left:
        lines = [f"  {left.place}: {left.said}" for left in found.left]
        yield "\n".join([f"Not all is gone ({_searched(found)}):", *lines])
        yield "Run it again; if the same is left, close what has these files open, or remove them."
    else:
        yield f"Nothing is left: {_searched(found)} for {for_what}."
    if not traces.runs:
        yield "Its text was gone before, or others say all of it: only its names were searched for."
    if planned.is_name_shared:
        yield "Other documents or rows name it too: its name was not searched for."
    yield "Made again by: rag-assets refresh. Backups and copies of the state are not reached."
