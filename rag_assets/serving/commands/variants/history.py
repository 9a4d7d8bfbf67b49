"""`rag-assets variants history`: what served, from when on, and why."""

import argparse

from rag_assets.reports.text_tables import table
from rag_assets.serving.replies import Json, Reply, project_of
from rag_assets.store import Store, serving_pointer
from rag_assets.store.serving_pointer import ServingPointer

SUMMARY = "list what served, from when on, and which verdict allowed it"
EXAMPLES = """\
  rag-assets variants history
  rag-assets variants history --json"""

COLUMNS = (
    "number",
    "since",
    "variant",
    "retriever",
    "by",
    "verdict",
    "found",
    "tables",
    "model",
    "reason",
)


def run(options: argparse.Namespace) -> Reply:
    """List the records of the serving pointer, the newest first."""
    from rag_assets.change import embeddable

    config, store = project_of(options)
    records = serving_pointer.history(store)
    rows = [_row(store, each, why_not=embeddable.why_not(store, config, each)) for each in records]
    text = table(rows, columns=COLUMNS) if rows else "Nothing was promoted yet."
    return Reply({"history": rows}, text)


def _row(store: Store, pointer: ServingPointer, *, why_not: str | None) -> dict[str, Json]:
    """A record, and `why_not` queries can be embedded for it any more."""
    from rag_assets.operations.gate.verdict_wording import in_short, measured_rows
    from rag_assets.operations.serving_index.status import recorded_verdict, words_of

    verdict = recorded_verdict(pointer)
    restored = f"number {pointer.restores}" if pointer.restores else ""
    return {
        "number": pointer.number,
        "since": pointer.moved_at,
        "variant": pointer.variant,
        "retriever": pointer.query_side.retriever,
        "by": pointer.by,
        "verdict": words_of(pointer),
        "found": in_short(verdict) if verdict else "",
        "measured": measured_rows(verdict) if verdict else [],
        "tables": "there" if serving_pointer.is_held(store, pointer) else "gone",
        "model": "other now" if why_not else "there",
        "reason": pointer.reason or restored,
    }
