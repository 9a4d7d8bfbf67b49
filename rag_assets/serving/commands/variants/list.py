"""`rag-assets variants list`: which variants there are, and how each stands."""

import argparse
from datetime import datetime

from rag_assets.operations.variants import variants_of
from rag_assets.reports.text_tables import table
from rag_assets.serving.replies import Reply, project_of

SUMMARY = "list variants: which serves, which are built, and what each takes on disk"
EXAMPLES = """\
  rag-assets variants
  rag-assets variants list --json"""

COLUMNS = ("variant", "serves", "built", "units", "MB alone", "verdict")

HINT = """\
built: in UTC. MB alone: what no other variant uses. To build one: rag-assets variants backfill
NAME; what that takes: rag-assets variants cost NAME."""


def run(options: argparse.Namespace) -> Reply:
    """List the variants of the config, and others that were built."""
    config, store = project_of(options)
    found = variants_of(store, config)
    rows = [
        {
            **state,
            "variant": variant if state["in the config"] else f"{variant} (not in the config)",
            "built": _minute(state["built"]),
            "MB alone": ""
            if state["serves"]
            else f"{int(state['bytes alone'] or 0) / 1_000_000:,.1f}",
        }
        for variant, state in found.items()
    ]
    return Reply({"variants": found}, f"{table(rows, columns=COLUMNS)}\n{HINT}")


def _minute(when: object) -> str:
    return f"{datetime.fromisoformat(str(when)):%Y-%m-%d %H:%M}" if when else ""
