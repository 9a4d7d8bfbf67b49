"""Tables: `/v1/tables`, and lookups in them: `/v1/lookup`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter, Query

from rag_assets.serving.http import bodies
from rag_assets.serving.http.admission import READ
from rag_assets.serving.http.opened import Opened
from rag_assets.serving.http.service import Answering
from rag_assets.serving.replies import UsageError
from rag_assets.table_lookup.plans.plan import LookupPlan
from rag_assets.table_lookup.plans.running import cells_at, cells_of, run_plan
from rag_assets.table_lookup.tables.catalogue import ROW_ID, ROW_KEY, TableInfo

router = APIRouter(prefix="/v1", dependencies=[READ], tags=["tables"])


@router.post("/lookup")
def lookup(body: bodies.LookupBody, opened: Answering) -> bodies.LookupReply:
    """What the tables say to a question or a plan, and a page of the rows that it rests on."""
    if (body.question is None) == (body.plan is None):
        raise UsageError("give a question or a plan, and not both")
    assistant, rows = opened.assistant, None
    found = assistant.run(body.plan) if body.plan else assistant.lookup(body.question or "")
    if (plan := found.plan) and (table := assistant.catalogue.find(plan.source, plan.table)):
        known = assistant.catalogue.rows(table)[ROW_ID].combine_chunks()
        places = pc.index_in(pa.array(found.row_ids, pa.string()), value_set=known).to_pylist()
        rows = _rows(opened, table, places, plan.columns, body)
    return bodies.LookupReply(index_version=opened.index_version, found=found, rows=rows)


@router.get("/tables")
def tables(
    wanted: Annotated[bodies.TablesQuery, Query()], opened: Answering
) -> bodies.PageReply[bodies.TableReply]:
    """The tables that can be asked, with their columns and units."""
    catalogue = opened.assistant.catalogue
    found = [
        each
        for each in (*catalogue.tables, *catalogue.document_tables)
        if wanted.source in (None, each.source) and wanted.table in (None, each.table)
    ]
    shown = [
        bodies.TableReply.model_validate(each).model_copy(update={"columns": _columns(each)})
        for each in wanted.page(found)
    ]
    return bodies.PageReply(index_version=opened.index_version, total=len(found), entries=shown)


@router.get("/tables/values")
def values(
    wanted: Annotated[bodies.ValuesQuery, Query()], opened: Answering
) -> bodies.PageReply[bodies.ValueReply]:
    """The distinct values of a column, the most frequent first."""
    plan = LookupPlan(wanted.source, wanted.table, columns=(wanted.column,))
    catalogue = opened.assistant.catalogue
    counted = Counter(cells_of(run_plan(plan, catalogue), catalogue, wanted.column))
    shown = wanted.page(counted.most_common())
    entries = [bodies.ValueReply(value=value, rows=rows) for value, rows in shown]
    version = opened.index_version
    return bodies.PageReply(index_version=version, total=len(counted), entries=entries)


@router.post("/tables/rows")
def rows(body: bodies.RowsBody, opened: Answering) -> bodies.RowsReply:
    """The rows of a table that meet all conditions, in the order of a column, its blanks last."""
    plan = LookupPlan(
        body.source,
        body.table,
        tuple(body.where),
        columns=tuple(body.columns),
        order_by=body.order_by,
        descending=body.descending,
    )
    catalogue = opened.assistant.catalogue
    found, every = run_plan(plan, catalogue), run_plan(replace(plan, order_by=None), catalogue)
    places = [*dict.fromkeys([*found.places, *every.places])]  # a plan leaves blanks out
    return _rows(opened, found.table, places, plan.columns, body)


def _rows(
    opened: Opened,
    table: TableInfo,
    places: Sequence[int],
    names: Sequence[str],
    wanted: bodies.PageBody,
) -> bodies.RowsReply:
    """A page of the rows at `places`, with the columns called `names`; with all if none is."""
    catalogue, shown = opened.assistant.catalogue, wanted.page(places)
    columns = [each for each in _columns(table) if not names or each.name in names]
    taken = catalogue.rows(table).select([ROW_ID, ROW_KEY]).take(pa.array(shown, pa.int64()))
    cells = [cells_at(table, shown, catalogue, each.name) for each in columns]
    entries = [
        bodies.RowReply(
            unit_id=row[ROW_ID], row_key=row[ROW_KEY], cells=[each[at] for each in cells]
        )
        for at, row in enumerate(taken.to_pylist())
    ]
    return bodies.RowsReply(
        index_version=opened.index_version, total=len(places), columns=columns, entries=entries
    )


def _columns(table: TableInfo) -> list[bodies.ColumnReply]:
    return [bodies.ColumnReply.model_validate(each) for each in table.columns if not each.is_hidden]
