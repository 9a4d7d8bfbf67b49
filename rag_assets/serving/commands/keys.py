"""`rag-assets keys`: who may ask the server, what they may do, and until when."""

import argparse
from collections.abc import Collection, Mapping
from typing import cast

from rag_assets import config as configuration
from rag_assets.reports.text_tables import table
from rag_assets.serving import disk_errors
from rag_assets.serving.callers import SCOPES, Scope
from rag_assets.serving.keys import Key, KeysFile
from rag_assets.serving.replies import Json, Reply, UsageError, day, say

SUMMARY = "make, list and revoke the keys with which others ask your server"
EXAMPLES = """\
  rag-assets keys create anna --scopes read,feedback --groups laboratory,sales
  rag-assets keys create crawler --expires 2027-03-31
  rag-assets keys list
  rag-assets keys revoke anna              all keys of that name; an ID revokes one"""
LONGEST_NAME = 100


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument("action", choices=("create", "list", "revoke"), help="what to do")
    command.add_argument(
        "name", nargs="?", help="whose key it is: their answers are kept by it; of revoke: or an id"
    )
    command.add_argument(
        "--scopes",
        type=_listed,
        default=["read"],
        help=f"of create: what it may do, of {', '.join(SCOPES)} (default: read)",
    )
    command.add_argument(
        "--groups", type=_listed, default=[], help="of create: groups whose sources it may see"
    )
    command.add_argument(
        "--expires", type=day, metavar="DAY", help="of create: the last day on which it is good"
    )


def run(options: argparse.Namespace) -> Reply:
    """Do the action."""
    config = configuration.load()
    keys = KeysFile(config.state_dir)
    if (options.name is None) != (options.action == "list"):
        raise UsageError("give a name with create and revoke, and none with list")
    if options.action == "list":
        found = keys.read()
        rows = [_row(each) for each in found]
        text = table(rows, columns=[*rows[0]]) if rows else "There is no key."
        return Reply({"keys": [_record(each) for each in found]}, text)
    with disk_errors.writing(config.state_dir):
        if options.action == "create":
            return _created(keys, options, config.groups)
        revoked = keys.revoke(options.name)
    told = ", ".join(each.id for each in revoked) or "none: they were already"
    return Reply({"revoked": [each.id for each in revoked]}, f"Revoked: {told}.")


def _created(keys: KeysFile, options: argparse.Namespace, known: Collection[str]) -> Reply:
    if unknown := [each for each in options.scopes if each not in SCOPES]:
        raise UsageError(f"--scopes: {unknown[0]} is none; there are {', '.join(SCOPES)}")
    if not (options.name.isprintable() and 0 < len(options.name.strip()) <= LONGEST_NAME):
        raise UsageError(f"a name has 1 to {LONGEST_NAME} characters that can be printed")
    made, given = keys.create(
        options.name.strip(), cast("list[Scope]", options.scopes), options.groups, options.expires
    )
    for group in options.groups:
        if group not in known:
            there = ", ".join(known) or "none"
            say(f"--groups: the config has no group {group}: nothing is seen by it; it has {there}")
    say(f"The key of {made.name}, shown this once: nobody can read it again.")
    return Reply({"key": given, **_record(made)}, given)


def _listed(text: str) -> list[str]:
    """The values of an option, without blanks and without one twice."""
    return [*dict.fromkeys(filter(None, map(str.strip, text.split(","))))]


def _record(key: Key) -> Mapping[str, Json]:
    return key.model_dump(mode="json", exclude={"sha256"})


def _row(key: Key) -> dict[str, str]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": ", ".join(key.scopes),
        "groups": ", ".join(key.groups),
        "made": f"{key.created:%Y-%m-%d}",
        "expires": str(key.expires or "never"),
        "state": key.refusal or "good",
    }
