"""What is shown of sources beside the counts of a pass."""

from collections.abc import Mapping, Sequence

from rag_assets.reports.metadata_values import ShownRows, Value
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.sources.readability import Outage
from rag_assets.store import Store


def unreadable(outages: Sequence[Outage]) -> Mapping[str, Value]:
    """What could not be read."""
    if not outages:
        return {}
    return {
        "unreadable": ShownRows(
            [
                {
                    "what": each.subject,
                    "since": f"{each.since:%Y-%m-%d %H:%M} UTC",
                    "misses in a row": each.misses,
                    "reason": each.reason,
                }
                for each in outages
            ]
        )
    }


def statuses(store: Store) -> ShownRows:
    """How many files there are of each type and status."""
    held = store.read(DOCUMENT_FILES_TABLE, columns=["media_type", "status"])
    counted = held.group_by(["media_type", "status"]).aggregate([([], "count_all")])
    return ShownRows(
        [
            {"media type": row["media_type"], "status": row["status"], "files": row["count_all"]}
            for row in counted.sort_by("count_all").to_pylist()
        ]
    )
