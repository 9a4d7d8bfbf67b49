"""`rag-assets status`: what is wrong, what runs now, and how sources and tables stand."""

import argparse
from contextlib import suppress

from rag_assets.config import Config
from rag_assets.serving import document_status
from rag_assets.serving.replies import FAILED, OK, PARTLY, Reply, project_of
from rag_assets.store import Store
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.serving_pointer import serving_variant

SUMMARY = "tell what is wrong, what runs now, and what is built"
EXAMPLES = """\
  rag-assets status
  rag-assets status --documents
  rag-assets status --variant default --json"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--variant", help="variant to show (default: all)")
    command.add_argument(
        "--documents",
        action="store_true",
        help="show each document instead: its pages, the engines that read them, and failures",
    )


def run(options: argparse.Namespace) -> Reply:
    """Tell how the state stands; nothing is done, and no source is looked at."""
    from rag_assets.serving.state_status import state_status
    from rag_assets.serving.status_text import text_of

    config, store = project_of(options)
    names = [options.variant] if options.variant else list(config.variants)
    if options.documents:
        parsers = dict.fromkeys(config.variant(name).parser for name in names)
        return document_status.answer(store, config, parsers=list(parsers))
    status = state_status(store, config, variants=names)
    versions = _proposed_versions(store, config)
    what = (
        "1 document may be a version"
        if versions == 1
        else f"{versions:,} documents may be versions"
    )
    hint = f"{what} of others: rag-assets documents list --families"
    code = FAILED if status.damaged else PARTLY if status.problems else OK
    return Reply(
        record={**status.record, "proposed_versions": versions} if options.json else {},
        text="\n\n".join(part for part in (text_of(status), hint if versions else "") if part),
        code=code,
    )


def _proposed_versions(store: Store, config: Config) -> int:
    """How many documents wait for a decision on their versions."""
    table = config.tables_of(serving_variant(store, config)).families
    with suppress(DamagedTablesError):  # which is among the problems
        return store.count(table, where="status = 'proposed'")
    return 0
