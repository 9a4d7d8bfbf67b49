"""What `rag-assets tables lookup` replies: sentences and tables of rows."""

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from rag_assets.citations.values import Value, in_json
from rag_assets.reports.text_tables import cut, table
from rag_assets.serving.replies import Json, Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import DataclassInstance

    from rag_assets.table_lookup.comparing import Alternative, SideBySide
    from rag_assets.table_lookup.looking_up import LookedUp
    from rag_assets.table_lookup.plans.plan import LookupPlan
    from rag_assets.table_lookup.plans.running import Found
    from rag_assets.table_lookup.requirements import Requirement
    from rag_assets.table_lookup.tables.catalogue import Catalogue, TableInfo

ROWS_SHOWN = 20
COLUMNS_SHOWN = 6
CELL_CHARACTERS = 28
HEADING_CHARACTERS = 48
NOTHING = {
    "refused": "This cannot be answered from the tables",
    "none": "This is no question to the tables",
}


def looked_up(found: "LookedUp", catalogue: "Catalogue", *, question: str | None) -> Reply:
    """What a question or a plan gave: its sentences, the rows, and how it was read."""
    from rag_assets.table_lookup.plans.plan import plan_to_json

    record: dict[str, Json] = {
        "question": question,
        "outcome": found.outcome,
        "sentences": [_record(each) for each in found.sentences],
        "plan": plan_to_json(found.plan) if found.plan else None,
        "unit_ids": list(found.row_ids),
        "reason": found.reason,
        "readings": list(found.readings),
        "confidence": found.confidence,
        "planned_as": found.planned_as,
    }
    parts = [each.text for each in found.sentences]
    if not parts:
        parts = [
            f"{NOTHING[found.outcome]}: {found.reason}",
            *(f"- {one}" for one in found.readings),
        ]
    text = "\n".join(parts)
    if found.outcome == "answered" and found.plan:
        text = f"{text}\n\n{_rows(found.plan, catalogue)}"
        if found.reason:
            text = f"{text}\n\nRead as: {found.reason}"
    return Reply(record, text)


def tables(catalogue: "Catalogue") -> Reply:
    """The tables that can be asked."""
    shown = [*catalogue.tables, *catalogue.document_tables]
    rows = [
        {
            "table": f"{each.source}/{each.table}",
            "rows": each.rows,
            "columns": sum(not column.is_hidden for column in each.columns),
            "title": cut(each.title, 48),
        }
        for each in shown
    ]
    left = [
        *(f"{name} is left out: it has too many rows." for name in catalogue.too_large),
        *(
            [f"{catalogue.unsound_tables:,} tables inside documents are left out as not sound."]
            if catalogue.unsound_tables
            else []
        ),
    ]
    text = "\n".join([table(rows, columns=["table", "rows", "columns", "title"]), *left])
    return Reply({"tables": [_described(each) for each in shown], "left_out": left}, text)


def side_by_side(found: "SideBySide") -> Reply:
    """Rows compared: a line for each heading, differences marked."""
    names = [f"{name} [{place}]" for place, name in enumerate(found.names, start=1)]
    rows = [
        {
            "": "*" if line.differs else "",
            "heading": _heading(line.heading, line.unit),
            **{name: _cell(value) for name, value in zip(names, line.values, strict=True)},
        }
        for line in found.lines
    ]
    legend = "* differs"
    text = f"{table(rows, columns=['', 'heading', *names])}\n{legend}"
    return Reply(_record(found), text)


def alternatives(found: "Sequence[Alternative]") -> Reply:
    """The rows that are most like one."""
    rows = [
        {
            "row": each.row.row_key,
            "name": cut(each.name, 48),
            "distance": f"{each.distance:.3f}",
            "cells compared": each.compared,
            "cells missing": each.missing,
        }
        for each in found
    ]
    record = {"alternatives": [asdict(each) for each in found]}
    if not rows:
        return Reply(record, "No other row fulfils this.")
    return Reply(record, table(rows, columns=list(rows[0])))


def required(
    requirements: "Sequence[Requirement]", met: "Sequence[Found]", catalogue: "Catalogue"
) -> Reply:
    """What a document requires, and the rows that meet it."""
    from rag_assets.table_lookup.plans.plan import plan_to_json
    from rag_assets.table_lookup.sentences.writing import condition_in_words
    from rag_assets.table_lookup.words.phrases import ENGLISH

    lines: list[str] = []
    for each in requirements:
        info = catalogue.find(each.source, each.table)
        column = info.find(each.condition.column) if info else None
        if column:
            words = condition_in_words(each.condition, column, phrases=ENGLISH)
            lines.append(f"{each.table}: {words}  <-  {cut(each.text, 100)}")
    counts = [
        f"{each.table.table}: 1 row meets all of it."
        if len(each.row_keys) == 1
        else f"{each.table.table}: {len(each.row_keys):,} rows meet all of it."
        for each in met
    ]
    record: dict[str, Json] = {
        "requirements": [_record(each) for each in requirements],
        "met": [{"plan": plan_to_json(each.plan), "row_keys": list(each.row_keys)} for each in met],
    }
    if not lines:
        return Reply(record, "No requirement was found that a table has a column for.")
    shown = [_rows(each.plan, catalogue) for each in met]
    return Reply(record, "\n".join([*lines, "", *counts, "", *shown]))


def _rows(plan: "LookupPlan", catalogue: "Catalogue") -> str:
    """The first rows that a plan selects, with the columns that it names."""
    from rag_assets.table_lookup.plans.running import cells_of, run_plan
    from rag_assets.table_lookup.sentences.naming import naming_column

    found = run_plan(plan, catalogue)
    info = found.table
    naming = naming_column(info)
    named = [
        naming.name if naming else None,
        *plan.columns,
        plan.column,
        plan.order_by,
        *(each.column for each in plan.where),
    ]
    columns = [
        column
        for name in dict.fromkeys(each for each in named if each)
        if (column := info.find(name)) is not None and not column.is_hidden
    ][:COLUMNS_SHOWN]
    headings = [_heading(each.heading, each.unit) for each in columns]
    cells = [cells_of(found, catalogue, column.name)[:ROWS_SHOWN] for column in columns]
    rows = [
        {"row": key, **dict(zip(headings, map(_cell, values), strict=True))}
        for key, *values in zip(found.row_keys[:ROWS_SHOWN], *cells, strict=True)
    ]
    left = len(found.row_keys) - len(rows)
    shown = table(rows, columns=["row", *headings])
    return f"{shown}\n{left:,} more rows; --json has their keys" if left else shown


def _described(info: "TableInfo") -> dict[str, Json]:
    return {
        "source": info.source,
        "table": info.table,
        "title": info.title,
        "rows": info.rows,
        "unit_id": info.unit_id,
        "pages": list(info.pages),
        "columns": [
            {
                "name": each.name,
                "heading": each.heading,
                "unit": each.unit,
                "numeric": each.is_numeric,
                "filled": each.filled,
                "not_numbers": each.unread,
                "minimum": in_json(each.minimum),
                "maximum": in_json(each.maximum),
            }
            for each in info.columns
            if not each.is_hidden
        ],
    }


def _heading(words: str, unit: str | None) -> str:
    short = cut(words, HEADING_CHARACTERS)
    return f"{short} ({unit})" if unit else short


def _cell(value: Value) -> str:
    from rag_assets.table_lookup.sentences.writing import measured
    from rag_assets.table_lookup.words.phrases import ENGLISH

    return cut(measured(value, None, phrases=ENGLISH), CELL_CHARACTERS)


def _record(part: "DataclassInstance") -> dict[str, Json]:
    """All fields of a part of a reply, numbers as citations have them in JSON."""
    return {name: _plain(value) for name, value in asdict(part).items()}


def _plain(value: object) -> Json:
    match value:
        case dict():
            return {str(name): _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [*map(_plain, value)]
        case _:
            return in_json(cast("Value", value))
