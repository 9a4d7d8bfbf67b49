"""`rag-assets documents purge`: erase one document from all that was built, and verify it."""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from rag_assets import schemas
from rag_assets.config.questions import GENERATED_SETS
from rag_assets.serving import refresh_run
from rag_assets.serving.replies import (
    FAILED,
    OK,
    CommandError,
    Json,
    Reply,
    agrees,
    project_of,
    require_answers,
    say,
)

if TYPE_CHECKING:
    from rag_assets.operations.erasure.proof import Proof
    from rag_assets.operations.erasure.scope import PurgePlan

SUMMARY = "erase one document from everything that was built, and prove it"
EXAMPLES = """\
  rag-assets documents purge reports/2019/offer.pdf
  rag-assets documents purge offer.pdf --source contracts --yes
  rag-assets documents purge 2f0f2a5e-4d1c     by its document id, or how it begins"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument(
        "document", metavar="DOCUMENT", help="its path below the source root, or its document id"
    )
    command.add_argument(
        "--source", help="its document source (needed only if several have such a document)"
    )
    command.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> Reply:
    """Show what would be erased, ask, erase it, and search for traces that are left."""
    from rag_assets.operations.erasure import purge
    from rag_assets.operations.erasure import scope as purge_plan
    from rag_assets.operations.problems import lost_runs
    from rag_assets.serving import dagster_instance

    config, store = project_of(options)
    if not options.yes:
        require_answers("purge")
    if not store.root.exists():
        raise CommandError(f"there is no state at {store.root}: nothing was built yet")
    with store.lock(refresh_run.LOCK, log=say):
        document = purge_plan.find_document(store, config, options.document, source=options.source)
        purge_plan.require_gone_from_source(store, config, document)
        with dagster_instance.opened(config) as opened:
            lost_runs.close_dead_runs(opened, config)
            lost_runs.close_lost_runs(opened, config)
            home = dagster_instance.home(config)
            state = purge_plan.PurgeContext(store, config, opened, home, say)
            with ExitStack() as locks:
                purge.lock_everything(state, locks)
                purge.begin(state)
                begun = purge.begun_with(store, document)
                plan = purge_plan.plan_purge(state, document, begun=begun)
                has_begun = purge.begun_file(store, document).exists()
                if plan.is_empty and not has_begun:
                    found = purge.verify(state, plan)
                    if not found.left:
                        is_trained = store.exists(schemas.TRAINING_PAIRS_TABLE)
                        raise CommandError(_nothing_found(plan, found, is_trained=is_trained))
                if not options.yes and not _is_confirmed(plan):
                    return Reply({"purged": False}, "Nothing was erased.", code=FAILED)
                purge.erase_all(state, plan)
            purge.erase_pictures(state)
        purge.finish(state, plan)
        return _answer(plan, purge.verify(state, plan))


def _is_confirmed(plan: "PurgePlan") -> bool:
    """Show the plan to a person and ask; whether the answer is yes."""
    say("\n".join(_described(plan)))
    return agrees("Erase all of that?")


def _described(plan: "PurgePlan") -> Iterator[str]:
    from rag_assets.store.catalog import folder_of

    document, records = plan.document, plan.records
    of_source = f" of the source {document.source}" if document.source else ""
    yield f"{document.name}{of_source} (document id {document.document_id}):"
    for copy in plan.copies:
        yield f"  with it {copy.name} of the source {copy.source}, which has its text and is gone"
    yield f"  {plan.units:,} units, {plan.pictures:,} pictures that no other document shows"
    for affected in plan.tables:
        yield (
            f"  {affected.rows:,} rows in the table {folder_of(affected.generation)}, whose "
            f"{affected.versions:,} versions are removed or rewritten"
        )
    yield (
        f"  {len(records.runs):,} runs in Dagster's records, the history of "
        f"{len(records.assets):,} assets"
    )
    yield f"  {len(plan.answers.answer_ids):,} kept answers that cite, show or quote it"
    yield f"  {len(plan.calls.call_ids):,} kept calls of language models that quote or name it"
    for file in (*plan.answers.damaged, *plan.calls.damaged):
        yield f"  {file}, a damaged file of kept answers"
    for group in plan.files:
        yield f"  {group.place}"


def _nothing_found(plan: "PurgePlan", found: "Proof", *, is_trained: bool) -> str:
    return (
        f"nothing of {plan.document.name} is in the state: {_searched(found)}; if it should be "
        "there, check the path below the source root, and --source"
    ) + is_trained * (
        ". Only its names were searched for, and training pairs may still quote a document that a "
        "refresh has removed: run `rag-assets training run`, then `rag-assets clean-up "
        "--keep-days 0` an hour later"
    )


def _searched(found: "Proof") -> str:
    return (
        f"{found.files:,} files and {found.versions:,} versions of {found.tables:,} tables "
        "were searched"
    )


def _answer(plan: "PurgePlan", found: "Proof") -> Reply:
    document = plan.document
    record: dict[str, Json] = {
        "purged": not found.left,
        "document": document.uri,
        "document_id": document.document_id,
        "source": document.source,
        "copies": [{"document": each.uri, "source": each.source} for each in plan.copies],
        "removed": _removed(plan),
        "searched": {
            "files": found.files,
            "tables": found.tables,
            "versions": found.versions,
            "names": len(plan.traces.names),
            "runs_of_words": len(plan.traces.ngrams),
            "words": len(plan.traces.words),
        },
        "left": [{"place": left.place, "said": left.trace} for left in found.left],
        "questions": {name: list(ids) for name, ids in plan.questions.items()},
        "files_of_user": [str(file) for file in plan.files_of_user],
        "weights": [str(folder) for folder in plan.weights],
    }
    return Reply(record, "\n\n".join(_paragraphs(plan, found)), code=FAILED if found.left else OK)


def _removed(plan: "PurgePlan") -> Mapping[str, Json]:
    return {
        "units": plan.units,
        "pictures": plan.pictures,
        "rows": {each.generation: each.rows for each in plan.tables},
        "versions": sum(each.versions for each in plan.tables),
        "runs": list(plan.records.runs),
        "assets": [key.to_user_string() for key in plan.records.assets],
        "answers": list(plan.answers.answer_ids),
        "language_model_calls": len(plan.calls.call_ids),
        "files": [str(group.place) for group in plan.files],
    }


def _paragraphs(plan: "PurgePlan", found: "Proof") -> Iterator[str]:
    traces = plan.traces
    yield "\n".join(["Erased:", *_described(plan)])
    if plan.files_of_user:
        lines = [f"  {file}" for file in plan.files_of_user]
        lines += [
            f"  {name}: {', '.join(ids)}"
            for name, ids in plan.questions.items()
            if name not in GENERATED_SETS
        ]
        yield "\n".join(
            [
                "Your own files that name or quote it are not changed, and a refresh reads them "
                "again; remove it there (questions are listed by their set):",
                *lines,
            ]
        )
    if plan.weights:
        yield "\n".join(
            [
                "Weights that were trained here may have learned from it; they cannot be searched, "
                "and were not removed. Run `rag-assets training run`, refresh and promote the "
                "variants with them, then remove these folders, and the files that `rag-assets "
                "training export` wrote for you:",
                *(f"  {folder}" for folder in plan.weights),
            ]
        )
    for_what = (
        f"{len(traces.names):,} names, {len(traces.ngrams):,} sequences of words and "
        f"{len(traces.words):,} words that occur nowhere else"
    )
    if found.left:
        lines = [f"  {left.place}: {left.trace}" for left in found.left]
        yield "\n".join([f"Something is left ({_searched(found)}):", *lines])
        yield "Run it again; if the same is left, close what has these files open, or remove them."
    else:
        yield f"Nothing is left: {_searched(found)} for {for_what}."
    if not traces.ngrams:
        yield (
            "Only its names were searched for: its text was erased, has under four words, or "
            "other documents contain all of it."
        )
    if plan.is_name_shared:
        yield "Other documents or rows contain its name too, so the name was not searched for."
    yield (
        "Now run rag-assets refresh: it builds again what was removed with the document. Backups "
        "and copies of the state are not touched."
    )
