"""`rag-assets explain`: where a unit comes from, step by step, and what would change it."""

import argparse
import textwrap
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.serving.replies import Reply, add_unit
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.operations.explain.explaining import UnitLineage

SUMMARY = "say where a hit comes from: file, parser, chunking, model and run"
EXAMPLES = """\
  rag-assets search "heat treatment of the rotor"      shows the id of each hit
  rag-assets explain 5f0c1e5e
  rag-assets explain 5f0c1e5e --json"""
WIDTH = 100


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    add_unit(command)


def run(options: argparse.Namespace) -> Reply:
    """Tell the way of one unit."""
    from rag_assets.operations.explain.explaining import explain

    config = configuration.load()
    if options.variant:
        config.variant(options.variant)
    found = explain(Store.of(config), config, unit_id=options.unit_id, variant=options.variant)
    return Reply(found.record(), _told(found))


def _told(found: "UnitLineage") -> str:
    from rag_assets.operations.explain.explaining import rows_of

    text = textwrap.shorten(found.text, WIDTH, placeholder=" ...")
    parts = [f"{found.unit_id} of variant {found.variant}: {found.place}\n  {text}"]
    for row in rows_of(found):
        by = "" if row["by run"] == "-" else f", by run {row['by run']}"
        lines = [f"{row['step']}: made {row['made']}{by}, in {row['in']}"]
        for words in (row["from"], f"would change by {row['would change it']}"):
            lines += textwrap.wrap(words, WIDTH, initial_indent="  ", subsequent_indent="  ")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
