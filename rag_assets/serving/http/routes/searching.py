"""Searching, and one unit of what was found: `/v1/search`, `/v1/units`."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from rag_assets.documents.figures.page_pictures import picture_of
from rag_assets.operations.explain.explaining import explain, find_unit
from rag_assets.serving.http.admission import READ
from rag_assets.serving.http.bodies import SearchBody, SearchReply, UnitFields, UnitId, UnitReply
from rag_assets.serving.http.limits import VERSION
from rag_assets.serving.http.opened import Opened
from rag_assets.serving.http.service import Answering, Served, filters_of
from rag_assets.table_lookup.tables.catalogue import ROW_ID

router = APIRouter(prefix="/v1", dependencies=[READ], tags=["search"])
WHOLE_ID = 36
"""The characters of an id that is no beginning."""
PNG = {200: {"content": {"image/png": {}}, "description": "The page, with the unit marked."}}


@router.post("/search")
def search(body: SearchBody, service: Served, opened: Answering) -> SearchReply:
    """The units that answer a query best, with their sources."""
    filters = filters_of(opened, body.filters)
    results = opened.assistant.search(
        body.query, retriever=body.retriever, top_k=body.top_k, filters=filters
    )
    service.metrics.stages(results.seconds)
    version, variant = opened.index_version, opened.index.variant
    return SearchReply.of(results, index_version=version, variant=variant, explain=body.explain)


@router.get("/units/{unit_id}")
def unit(
    unit_id: UnitId, service: Served, neighbours: Annotated[int, Query(ge=0, le=10)] = 1
) -> UnitReply:
    """A unit, what stands before and behind it, and the way from its source to the index."""
    served = service.served

    def read(opened: Opened) -> UnitReply:
        sight = opened.assistant.sight
        lineage = explain(served.store, served.config, unit_id=unit_id, sight=sight)
        ids = _beside(opened, lineage.unit_id, distance=neighbours)
        units, place = _units(opened, ids), ids.index(lineage.unit_id)
        return UnitReply(
            **dict(units[place]),
            index_version=opened.index_version,
            before=units[:place],
            after=units[place + 1 :],
            lineage=lineage,
        )

    return served.unmoved(read)[0]


@router.get("/units/{unit_id}/page.png", response_class=Response, responses={**PNG})
def page(
    unit_id: UnitId,
    service: Served,
    page: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    dpi: Annotated[int, Query(ge=20, le=300)] = 120,
) -> Response:
    """The page that a unit stands on, or its figure."""
    store, config = service.served.store, service.config

    def drawn(opened: Opened) -> bytes:
        sight, whole = opened.assistant.sight, unit_id
        if sight or len(unit_id) != WHOLE_ID:
            whole = find_unit(store, config, unit_id=unit_id, sight=sight).unit_id
        return picture_of(store, config, variant=None, unit_id=whole, page=page, dpi=dpi).data

    data, version = service.served.unmoved(drawn)
    return Response(data, media_type="image/png", headers={VERSION: version})


def _units(opened: Opened, ids: list[str]) -> list[UnitFields]:
    columns = [name for name in UnitFields.model_fields if name != "unit_id"]
    rows = opened.index.read(ids, columns).to_pylist()
    found = [UnitFields.model_validate({**row, "fields": row["fields"] or []}) for row in rows]
    return sorted(found, key=lambda each: ids.index(each.unit_id))


def _beside(opened: Opened, unit_id: str, *, distance: int) -> list[str]:
    """A chunk among those of its document, or a row among those of its table, in their order."""
    columns = ["domain", "source", "uri", "table", "index"]
    [unit] = opened.index.read([unit_id], columns).to_pylist()
    if unit["domain"] == "document":
        return opened.index.beside(unit, distance=distance)
    catalogue = opened.assistant.catalogue
    table = catalogue.find(unit["source"], unit["table"])
    ids = catalogue.rows(table)[ROW_ID].to_pylist() if table else [unit_id]
    place = ids.index(unit_id)
    return ids[max(0, place - distance) : place + distance + 1]
