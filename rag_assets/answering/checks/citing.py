"""What a citation holds a sentence to: its words, its cell, its rows, its result, or an absence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rag_assets.answering.checks.sources import CitedPair, CitedRow, CitedText, Source
from rag_assets.citations.kinds import Absence, Cell, Citation, Computed, Rows, Span

MOST_INPUTS = 50
"""Inputs of a computed value that are read beside its result."""


def sources_of(
    citations: Iterable[Citation], units: Mapping[str, str] | None = None
) -> tuple[Source, ...]:
    """What the citations of one sentence say; cells of one row are one row.

    Args:
        citations: Of the sentence.
        units: Texts of the units by `unit_id`; None where nobody holds them. A citation that points
            nowhere in them (see `points_nowhere`) says nothing.
    """
    valid = [each for each in citations if not points_nowhere(each, units)]
    rows: dict[tuple[str, str, str], list[Cell]] = {}
    for citation in valid:
        if isinstance(citation, Cell):
            key = citation.source, citation.table, citation.row_key
            rows.setdefault(key, []).append(citation)
    found = [_row(cells, units) for cells in rows.values()]
    others = [each for each in valid if not isinstance(each, Cell)]
    return (*found, *(source for each in others for source in _sources(each)))


def points_nowhere(citation: Citation, units: Mapping[str, str] | None) -> bool:
    """Whether a citation names a unit that is not there, or words that the unit does not have."""
    if units is None or not isinstance(citation, Span | Cell) or citation.unit_id is None:
        return False
    text = units.get(citation.unit_id)
    return text is None or (isinstance(citation, Span) and citation.text not in text)


def named(citation: Citation) -> str:
    """A citation in a few words, for messages."""
    match citation:
        case Span():
            pages = f", page {', '.join(map(str, citation.pages))}" if citation.pages else ""
            return f"{citation.uri}{pages}"
        case Cell():
            return f"{citation.table}, row {citation.row_key}, {citation.heading}"
        case Rows():
            return f"{citation.table}, {citation.count} rows"
        case Computed():
            return f"{citation.operation} of {citation.count} cells of {citation.rows.table}"
        case Absence():
            return f"{citation.looked_for} not in {citation.scope}"


def _row(cells: Sequence[Cell], units: Mapping[str, str] | None) -> CitedRow:
    first = cells[0]
    text = (units or {}).get(first.unit_id or "", "")
    return CitedRow(
        (*map(_pair, cells), CitedPair("key of the row", first.row_key)),
        subject=f"{first.table} {first.row_key} {text}".replace("_", " "),
        name=f"{first.table}, row {first.row_key}",
        origin=first.source,
    )


def _pair(cell: Cell) -> CitedPair:
    return CitedPair(cell.heading, "" if cell.value is None else str(cell.value), cell.unit)


def _sources(citation: Citation) -> Iterator[Source]:
    match citation:
        case Span():
            yield CitedText(citation.text, name=named(citation), origin=citation.source)
            if about := " - ".join(filter(None, (citation.title, citation.section))):
                yield CitedRow((), subject=about, name=named(citation), origin=citation.source)
        case Rows():
            count = CitedPair("number of rows", str(citation.count))
            keys = tuple(
                CitedPair("key of the row", key) for key in citation.row_keys[:MOST_INPUTS]
            )
            pairs = (count, *keys)
            yield CitedRow(pairs, citation.table, named(citation), citation.source)
            yield from _conditions(citation)
        case Computed():
            yield _computed(citation)
            yield from _conditions(citation.rows)
        case Absence():
            words = (
                f"None of the {citation.searched} of {citation.scope} has {citation.looked_for}: "
                f"there is no {citation.looked_for}, {citation.looked_for} is not there."
            )
            origin = str(citation.plan["source"]) if citation.plan else ""
            yield CitedText(words, name=named(citation), origin=origin)
        case Cell():
            yield _row([citation], None)


def _conditions(rows: Rows) -> Iterator[CitedText]:
    """By what the rows were selected, in words."""
    if rows.where:
        yield CitedText(f"{rows.title}{rows.where}", name=named(rows), origin=rows.source)


def _computed(citation: Computed) -> CitedRow:
    headings = {cell.heading for cell in citation.inputs}
    heading = " ".join([_SPOKEN.get(citation.operation, citation.operation), *sorted(headings)])
    pairs = (
        CitedPair(heading, str(citation.result), citation.unit),
        CitedPair("number of rows", str(citation.count)),
        *(_pair(cell) for cell in citation.inputs[:MOST_INPUTS]),
        *(CitedPair("key of the row", cell.row_key) for cell in citation.inputs[:MOST_INPUTS]),
    )
    subject = citation.rows.table.replace("_", " ")
    return CitedRow(pairs, subject, named(citation), citation.rows.source)


_SPOKEN = {
    "count": "count number",
    "max": "maximum highest largest",
    "min": "minimum lowest smallest",
    "mean": "mean average",
    "sum": "sum total",
    "difference": "difference",
    "range": "range",
}
"""Operations of a lookup plan in words."""
