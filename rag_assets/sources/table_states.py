"""How the tables of a source stand, in words: what the UI shows of each, those of a pattern too."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from rag_assets.change.sync import Report
from rag_assets.sources.landed import WHOLE
from rag_assets.sources.outcomes import Export
from rag_assets.sources.readability import Readability, SourceReadability
from rag_assets.store.exports import ExportedTable

COLUMNS = "columns"
"""The key of a state whose value is names and types in one line, too long for a cell."""
State: TypeAlias = Mapping[str, str | int | None]


def states(done: Sequence[Export], *, source: SourceReadability) -> list[State]:
    """Rows, state, freshness and columns of each table of `source` that a pass looked at.

    Those that cannot be read come first, then those that changed.
    """
    ordered = sorted(
        done, key=lambda item: (not item.report.failed, not item.report.touched, item.table)
    )
    return [_state(item, source.part(item.table)) for item in ordered]


def columns(table: ExportedTable) -> list[Mapping[str, str]]:
    """The way of each column from the source to the text: type, heading, whether it is hidden."""
    about = table.about
    return [
        {
            "column at the source": field.name,
            "type": str(field.type),
            "heading given": _given(table, field.name),
            "how it was read": about.read.get(field.name, ""),
            "in the text": "no" if field.name in (about.hidden or ()) else "yes",
            "key": "yes" if field.name in about.key else "no",
        }
        for field in table.columns
    ]


def _state(item: Export, read: Readability) -> State:
    table = item.exported
    listed = ", ".join(f"{field.name} {field.type}" for field in table.columns) if table else None
    return {
        "table": item.table,
        "rows": item.report.rows,
        "state": _found(item.report),
        "last read": _moment(read.last_read),
        "last changed": _moment(read.last_changed),
        COLUMNS: listed,
        **({"left out": whole} if table and (whole := table.about.read.get(WHOLE)) else {}),
    }


def _found(report: Report) -> str:
    """What the pass found, in words."""
    if report.failures:
        return report.failures[0].reason
    counts = (("added", report.added), ("changed", report.changed), ("removed", report.removed))
    return ", ".join(f"{count:,} {what}" for what, count in counts if count) or "unchanged"


def _moment(at: datetime | None) -> str | None:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else None


def _given(table: ExportedTable, column: str) -> str:
    """The heading that the config or the source gives; `table_rows` makes one of a name alone."""
    heading = table.about.headings.get(column, column)
    return "" if heading == column else heading
