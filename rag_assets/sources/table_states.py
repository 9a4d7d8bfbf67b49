"""How the tables of a source stand, in words: what the UI shows of each, those of a pattern too."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from rag_assets.change.sync import Report
from rag_assets.sources.outcomes import EVERYTHING, Export
from rag_assets.store import Store
from rag_assets.store.exports import ExportedTable

State: TypeAlias = Mapping[str, str | int | None]
"""One table: `table`, `rows`, `state`, `last read`, `last changed` and `columns`."""


def states(store: Store, done: Sequence[Export], *, before: Sequence[State]) -> list[State]:
    """One entry for each table that a pass looked at; times are in UTC, to the minute.

    Those that cannot be read come first, then those that changed.

    Args:
        store: Where the tables lie.
        done: What the pass did.
        before: The entries of the pass before: they know when a table was read and changed.
    """
    known = {entry["table"]: entry for entry in before}
    ordered = sorted(
        done, key=lambda item: (not item.report.failed, not item.report.touched, item.table)
    )
    return [_state(store, item, known.get(item.table, {})) for item in ordered]


def columns(table: ExportedTable) -> list[Mapping[str, str]]:
    """The way of each column from the source to the text: type, heading, whether it is hidden."""
    about = table.about
    return [
        {
            "column at the source": field.name,
            "type": str(field.type),
            "heading": about.headings.get(field.name, field.name),
            "in the text": "no" if field.name in (about.hidden or ()) else "yes",
            "key": "yes" if field.name in about.key else "no",
        }
        for field in table.columns
    ]


def _state(store: Store, item: Export, before: State) -> State:
    report, now = item.report, _minute(datetime.now(UTC))
    changed = before.get("last changed") or _completed_at(store, item.exported)
    return {
        "table": item.table,
        "rows": report.rows,
        "state": _found(report),
        "last read": before.get("last read") if _is_unread(report) else now,
        "last changed": now if report.touched else changed,
        "columns": ", ".join(item.exported.columns.names) if item.exported else None,
    }


def _found(report: Report) -> str:
    """What the pass found, in words."""
    if report.failures:
        return report.failures[0].reason
    counts = (("added", report.added), ("changed", report.changed), ("removed", report.removed))
    return ", ".join(f"{count:,} {what}" for what, count in counts if count) or "unchanged"


def _is_unread(report: Report) -> bool:
    """Whether the table as a whole could not be read; one with some bad rows was."""
    return any(failure.key == EVERYTHING for failure in report.failures)


def _completed_at(store: Store, table: ExportedTable | None) -> str | None:
    """When the table last changed, should no run have said so: the time of its record."""
    at = store.completed_at(table.name) if table else None
    return _minute(at) if at else None


def _minute(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")
