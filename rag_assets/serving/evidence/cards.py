"""What an evidence card tells: the words in their document, the row in its table, or the lookup.

`card.html` is its one template, and decides how much of it is shown.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets.answering.assistant import Assistant
from rag_assets.citations.kinds import Computed, Rows
from rag_assets.identity import UnknownIdError
from rag_assets.store.provenance import row_of
from rag_assets.table_lookup.plans.plan import LookupPlan
from rag_assets.table_lookup.tables.catalogue import ROW_ID, TableInfo

if TYPE_CHECKING:
    from rag_assets.change.tracing import Row

NEIGHBOURS = 2
"""Rows that are shown before a row, and as many behind it."""
MOST_ROWS = 12
"""Rows of a lookup that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A citation, to be looked at."""

    title: str
    place: str
    unit: "Row | None" = None
    """As it is searched; None where a lookup is shown."""
    words: tuple[int, int] | None = None
    """First character of the words that are cited in the unit's text, and one past the last."""
    table: TableInfo | None = None
    rows: Sequence[Mapping[str, str | None]] = ()
    """Rows of the table, as `Catalogue.texts` has them."""
    count: int = 0
    """How many a lookup selects; `rows` has the first `MOST_ROWS`."""
    columns: Collection[str] = ()
    """The columns that are cited, by their names at the source."""
    said: tuple[str, ...] = ()
    """What a lookup gives, in sentences."""
    selected: Rows | None = None
    """What a lookup selects."""
    computed: Computed | None = None


def unit_card(
    assistant: Assistant,
    unit_id: str,
    *,
    words: tuple[int, int] | None = None,
    columns: Collection[str] = (),
) -> Card:
    """The card of a chunk, or of a row between its neighbours; see `Card` for the arguments.

    Raises:
        UnknownIdError: The index has no such unit.
    """
    unit = unit_of(assistant, unit_id)
    title, place = str(unit["title"]), str(unit["uri"])
    if unit["domain"] == "document":
        return Card(title=title, place=place, unit=unit, words=words)
    tables, rows = assistant.catalogue, ()
    table = tables.find(str(unit["source"]), str(unit["table"]))
    if table is not None:
        texts = tables.texts(table)
        at = texts[ROW_ID].to_pylist().index(unit_id)
        first = max(at - NEIGHBOURS, 0)
        rows = texts.slice(first, at + NEIGHBOURS + 1 - first).to_pylist()
    return Card(
        title=title,
        place=f"{place}, row {unit['row_key']}",
        unit=unit,
        table=table,
        rows=rows,
        columns=columns,
    )


def plan_card(assistant: Assistant, plan: LookupPlan) -> Card:
    """The card of rows that were selected, or of a value that was computed: it is run again."""
    found, tables = assistant.run(plan), assistant.catalogue
    table = tables.find(plan.source, plan.table)
    cited = [each for sentence in found.sentences for each in sentence.citations]
    computed = next((each for each in cited if isinstance(each, Computed)), None)
    selected = next((each for each in cited if isinstance(each, Rows)), None)
    rows = {row[ROW_ID]: row for row in tables.texts(table).to_pylist()} if table else {}
    named = (*(each.column for each in plan.where), plan.column, plan.other, plan.group_by)
    return Card(
        title=table.title if table else plan.table,
        place=f"{plan.source}/{plan.table}",
        table=table,
        rows=[rows[each] for each in found.row_ids if each in rows][:MOST_ROWS],
        count=len(found.row_ids),
        columns={*filter(None, named), *plan.columns},
        said=tuple(each.text for each in found.sentences) or (found.reason,),
        selected=computed.rows if computed else selected,
        computed=computed,
    )


def unit_of(assistant: Assistant, unit_id: str) -> "Row":
    """The row of the searched table that `unit_id` names.

    Raises:
        UnknownIdError: There is none.
    """
    joint = assistant.index.complete_set.joint
    store, version = assistant.store, joint.version
    unit = row_of(store, joint.table, key="unit_id", value=unit_id, version=version)
    if unit is None:
        raise UnknownIdError(
            f"this version of the index has no unit {unit_id}: its source was edited or removed "
            "since; ask again"
        )
    return unit
