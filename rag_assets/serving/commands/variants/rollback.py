"""`rag-assets variants rollback`: serve again what served before."""

import argparse
from contextlib import suppress

from rag_assets.serving.replies import Reply, positive, project_of
from rag_assets.store import Store
from rag_assets.store.serving_pointer import (
    ServingPointerError,
    current,
    is_held,
    left_behind,
    previous,
)

SUMMARY = "serve again what served before, at once"
EXAMPLES = """\
  rag-assets variants rollback
  rag-assets variants rollback --to 12     a number of rag-assets variants history"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "--to", type=positive, metavar="N", help="number to serve again (default: the previous)"
    )


def run(options: argparse.Namespace) -> Reply:
    """Move the serving pointer back; what was rolled back from waits for `promote`."""
    from rag_assets.operations.serving_index.rollback import roll_back

    config, store = project_of(options)
    before = _units(store)
    nearest = None if options.to else previous(store)
    pointer = roll_back(store, config, to=options.to)
    passed_over = nearest.restores or nearest.number if nearest else pointer.restores
    passed = "" if passed_over == pointer.restores else f" Number {passed_over} cannot serve."
    built = (pointer.complete_set.recorded_at or pointer.moved_at)[:16].replace("T", " ")
    left = next(iter(left_behind(store, pointer)), pointer)
    return Reply(
        record={
            "serves": pointer.variant,
            "number": pointer.number,
            "restores": pointer.restores,
        },
        text=f"Variant {pointer.variant} as of number {pointer.restores} serves again (number "
        f"{pointer.number}): built {built}, {_units(store):,} units where {before:,} served before."
        f"{passed} It serves until sources or the config change and a refresh has run. To serve "
        f"again what it replaces: rag-assets variants promote {left.variant}",
    )


def _units(store: Store) -> int:
    """Units of what serves; 0 if that cannot be read."""
    with suppress(ServingPointerError):
        pointer = current(store)
        if pointer and is_held(store, pointer):
            joint = pointer.complete_set.joint
            return store.open(joint.table, version=joint.version).count_rows()
    return 0
