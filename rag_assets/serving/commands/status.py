"""`rag-assets status`: the state of all tables."""

import argparse
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from rag_assets import config as configuration
from rag_assets.change import sync
from rag_assets.change.data_versions import current_version
from rag_assets.change.quarantine import Failure, at_limits
from rag_assets.change.steps import Step, Steps, shared_steps, variant_steps
from rag_assets.config import Config
from rag_assets.documents.parsers import unavailable
from rag_assets.serving import document_status
from rag_assets.serving.answers import FAILED, OK, Answer, Json, table
from rag_assets.serving.check_summary import check_summary
from rag_assets.serving.newer_defaults import proposal
from rag_assets.store import Store
from rag_assets.store.catalog import is_of_recipe
from rag_assets.store.damage import DamagedTablesError

SUMMARY = "show tables, rows, data versions and quarantine of each variant"
EXAMPLES = """\
  rag-assets status
  rag-assets status --documents
  rag-assets status --variant default --json"""

COLUMNS = ("asset", "table", "rows", "failed", "complete", "data_version")
MOST_SHOWN = 20
EXPORTS = "exports/"
"""Prefix of the quarantine targets of table sources."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--variant", help="variant to show (default: all)")
    command.add_argument(
        "--documents",
        action="store_true",
        help="show each document instead: its pages, the engines that read them, and failures",
    )


def run(options: argparse.Namespace) -> Answer:
    """Read the tables themselves: a shared table may change without an event for its variant."""
    config = configuration.load()
    names = [options.variant] if options.variant else list(config.variants)
    store = Store.of(config)
    if options.documents:
        parsers = dict.fromkeys(config.variant(name).parser for name in names)
        return document_status.answer(store, config, parsers=list(parsers))
    failed = _failed(store, config, variants=names)
    shared = _states(store, shared_steps(), failed)
    variants = {name: _states(store, variant_steps(config, name), failed) for name in names}
    missing = {name: reason for name in names if (reason := _missing(config, name))}
    checks, waiting = check_summary(store), at_limits(store)
    damaged = _damaged(store, config, variants=names)
    record: dict[str, Json] = {
        "serving": config.serving_variant,
        "state_dir": str(config.state_dir),
        "shared": shared,
        "variants": variants,
        "unavailable": missing,
        "quarantine": dict(failed),
        "damaged": dict(damaged),
        "waiting": [
            {
                "what": failure.label,
                "reason": failure.reason,
                "attempts": failure.attempts,
                "tried_again": str(failure.tried_again),
            }
            for failure in waiting
        ],
        "checks": checks.record,
        "proposal": (proposed := proposal(config)),
    }
    text = _text(config, shared=shared, variants=variants, missing=missing)
    damage = str(DamagedTablesError(damaged)) if damaged else ""
    parts = [text, _exports(failed), _at_limits(waiting), checks.text, damage, proposed]
    return Answer(
        record=record,
        text="\n\n".join(part for part in parts if part),
        code=FAILED if damaged else OK,
    )


def _missing(config: Config, variant: str) -> str | None:
    """Why the parser of a variant cannot be used here, and what to do."""
    parser = config.variant(variant).parser
    return unavailable(config.parsers[parser], name=parser)


def _states(
    store: Store, steps: Steps, failed: Mapping[str, int]
) -> Mapping[str, Mapping[str, Json]]:
    """How the table of each step stands, by its asset."""
    return {asset: _state(store, step, failed) for asset, step in steps.items()}


def _state(store: Store, step: Step, failed: Mapping[str, int]) -> dict[str, Json]:
    table = store.known_as(step.table)
    state: dict[str, Json] = {"table": table, "failed": failed.get(table, 0)}
    try:
        if store.exists(step.table):
            store.check(step.table)
        return state | {
            "rows": store.count(step.table),
            "complete": store.completion(step.table) is not None,
            "data_version": current_version(store, step.table, key=step.key),
        }
    except DamagedTablesError as error:
        [damage] = map(str, error.errors.values())
        return state | {"complete": False, "damage": damage}


def _tables(config: Config, variants: Collection[str]) -> set[str]:
    """All tables that belong to some variants, those beside others included."""
    steps = [step for name in variants for step in variant_steps(config, name).values()]
    return {table for step in steps for table in step.tables}


def _damaged(store: Store, config: Config, *, variants: Collection[str]) -> Mapping[str, str]:
    """The damage of each damaged table, by its folder, which is the one to delete."""
    shared = {step.table for step in shared_steps().values()}
    damaged: dict[str, str] = {}
    for name in sorted(shared | _tables(config, variants)):
        try:
            if store.exists(name):
                store.check(name)
                store.count(name)
        except DamagedTablesError as error:
            damaged |= {folder: str(wrong) for folder, wrong in error.errors.items()}
    return damaged


def _failed(store: Store, config: Config, *, variants: Collection[str]) -> Counter[str]:
    """Number of units in quarantine, by the table in which they are missing.

    Table sources and recipes that the config no longer names are left out: no refresh reads them.
    """
    if not store.exists(sync.QUARANTINE):
        return Counter()
    others = {store.known_as(name) for name in store.names() if is_of_recipe(name)}
    left_out = others.difference(map(store.known_as, _tables(config, variants)))
    targets = store.read(sync.QUARANTINE, columns=["target"])["target"].to_pylist()
    return Counter(
        target
        for target in targets
        if target not in left_out
        and (not target.startswith(EXPORTS) or target.split("/")[1] in config.table_sources)
    )


def _exports(failed: Mapping[str, int]) -> str:
    """Quarantine entries of exported tables, which have no row in the tables above."""
    lines = [
        f"  {target}: {count:,}"
        for target, count in sorted(failed.items())
        if target.startswith(EXPORTS)
    ]
    return "\n".join(["In quarantine (a refresh says why):", *lines]) if lines else ""


def _at_limits(waiting: Sequence[Failure]) -> str:
    """Units that ran into a limit; the reason says when they are tried again."""
    if not waiting:
        return ""
    more = len(waiting) - MOST_SHOWN
    lines = [f"  {failure.reason}" for failure in waiting[:MOST_SHOWN]]
    lines += [f"  and {more:,} more: see --json"] if more > 0 else []
    return "\n".join(["Ran into a limit of time, memory or pages:", *lines])


def _text(
    config: Config,
    *,
    shared: Mapping[str, Mapping[str, Json]],
    variants: Mapping[str, Mapping[str, Mapping[str, Json]]],
    missing: Mapping[str, str],
) -> str:
    def section(title: str, states: Mapping[str, Mapping[str, Json]]) -> str:
        rows = [{"asset": asset, **state} for asset, state in states.items()]
        return f"{title}\n{table(rows, columns=COLUMNS)}"

    parts = [section("Shared by all variants", shared)]
    for name, states in variants.items():
        serves = " (serves)" if name == config.serving_variant else ""
        part = section(f"Variant {name}{serves}", states)
        parts.append(f"{part}\nUnavailable: {missing[name]}" if name in missing else part)
    return "\n\n".join(parts)
