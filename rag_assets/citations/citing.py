"""What the citations of a sentence hold it to, together."""

from collections.abc import Iterable, Mapping

from rag_assets.citations.cited_sources import Source
from rag_assets.citations.kinds import Cell, Citation, cited_row


def sources_of(
    citations: Iterable[Citation], units: Mapping[str, str] | None = None
) -> tuple[Source, ...]:
    """What the citations of one sentence say; cells of one row are one row.

    Args:
        citations: The citations of the sentence.
        units: Texts of the units by `unit_id`; None where nobody holds them. A citation that points
            nowhere in them says nothing.
    """
    valid = [each for each in citations if not each.points_nowhere(units)]
    rows: dict[tuple[str, str, str], list[Cell]] = {}
    for citation in valid:
        if isinstance(citation, Cell):
            key = citation.source, citation.table, citation.row_key
            rows.setdefault(key, []).append(citation)
    found = [
        cited_row(cells, (units or {}).get(cells[0].unit_id or "", "")) for cells in rows.values()
    ]
    others = [each for each in valid if not isinstance(each, Cell)]
    return (*found, *(source for each in others for source in each.says()))
