"""`rag-assets explain-access`: by which rule somebody sees a unit, or does not."""

import argparse

from rag_assets import config as configuration
from rag_assets.serving.replies import Reply, UsageError
from rag_assets.store import Store

SUMMARY = "say by which rule members of some groups see a unit, or do not"
EXAMPLES = """\
  rag-assets search "notice period"                      shows the id of each hit
  rag-assets explain-access 5f0c1e5e --groups hr,finance
  rag-assets explain-access 5f0c1e5e --groups ""         who is in no group"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("unit_id", help="id of a hit, as search shows it: its start is enough")
    command.add_argument("--variant", help="variant to use (default: the one that serves)")
    command.add_argument(
        "--groups", required=True, help="the groups of who asks, commas between them"
    )


def run(options: argparse.Namespace) -> Reply:
    """Tell the rule for one unit."""
    from rag_assets.operations.explain.explaining import find_unit
    from rag_assets.retrieval.access import Access, AccessRules

    config = configuration.load()
    groups = {name.strip() for name in options.groups.split(",")} - {""}
    if unknown := sorted(groups - {*config.groups}):
        there = ", ".join(config.groups) or "none"
        raise UsageError(f"--groups: the config has no group {unknown[0]}; it has {there}")
    if options.variant:
        config.variant(options.variant)
    store = Store.of(config)
    found = find_unit(store, config, unit_id=options.unit_id, variant=options.variant)
    rules = AccessRules(store, config, found.complete_set)
    is_seen, why = rules.why(Access(frozenset(groups)), found.row)
    record = {
        "unit_id": found.unit_id,
        "place": found.place,
        "groups": sorted(groups),
        "is_seen": is_seen,
        "why": why,
    }
    seen = "seen" if is_seen else "not seen"
    return Reply(record, f"{found.unit_id}: {found.place}\n{seen}: {why}")
