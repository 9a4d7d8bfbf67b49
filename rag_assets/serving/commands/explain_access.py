"""`rag-assets explain-access`: by which rule somebody sees a unit, or does not."""

import argparse
from collections.abc import Collection

from rag_assets import config as configuration
from rag_assets.retrieval.access import Access, AccessRules
from rag_assets.serving.keys import KeysFile
from rag_assets.serving.replies import Reply, UsageError
from rag_assets.store import Store

SUMMARY = "say by which rule somebody sees a unit, or does not"
EXAMPLES = """\
  rag-assets search "notice period"                           shows the id of each hit
  rag-assets explain-access anna 5f0c1e5e                     who has a key
  rag-assets explain-access otto 5f0c1e5e --groups hr,finance  whom a proxy says to be in these
  rag-assets explain-access otto 5f0c1e5e --groups ""         who is in no group"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("user", help="name or id of a key; with --groups, whoever you like")
    command.add_argument("unit_id", help="id of a hit, as search shows it: its start is enough")
    command.add_argument("--variant", help="variant to use (default: the one that serves)")
    command.add_argument(
        "--groups", help="the groups of the user, commas between them (default: those of the key)"
    )


def run(options: argparse.Namespace) -> Reply:
    """Tell the rule for one unit, for each of the user's keys that is good."""
    from rag_assets.operations.explain.explaining import find_unit

    config = configuration.load()
    if options.groups is None:
        callers = _of_keys(KeysFile(config.state_dir), options.user)
    else:
        callers = {options.user: _groups_in(options.groups, known=config.groups)}
    if options.variant:
        config.variant(options.variant)
    store = Store.of(config)
    found = find_unit(store, config, unit_id=options.unit_id, variant=options.variant)
    rules = AccessRules(store, config, found.complete_set)
    told = {name: rules.why(Access(groups), found.row) for name, groups in callers.items()}
    record = {
        "unit_id": found.unit_id,
        "place": found.place,
        "told": [
            {"user": name, "groups": sorted(callers[name] or ()), "is_seen": is_seen, "why": why}
            for name, (is_seen, why) in told.items()
        ],
    }
    lines = [
        f"{name}: {'seen' if is_seen else 'not seen'}: {why}"
        for name, (is_seen, why) in told.items()
    ]
    return Reply(record, "\n".join([f"{found.unit_id}: {found.place}", *lines]))


def _of_keys(keys: KeysFile, user: str) -> dict[str, frozenset[str] | None]:
    """The groups of each good key of `user`, by what it is called; None: it sees everything."""
    good = [each for each in keys.read() if not each.refusal and user in (each.name, each.id)]
    if not good:
        raise UsageError(
            f"no key of {user} is good (rag-assets keys list shows all): say with --groups in "
            "which groups they are"
        )
    return {f"{each.name} (key {each.id})": each.caller.groups for each in good}


def _groups_in(given: str, *, known: Collection[str]) -> frozenset[str]:
    groups = frozenset(name.strip() for name in given.split(",")) - {""}
    if unknown := sorted(groups - {*known}):
        there = ", ".join(known) or "none"
        raise UsageError(f"--groups: the config has no group {unknown[0]}; it has {there}")
    return groups
