"""Searching: `/v1/search`."""

from typing import Annotated

from fastapi import APIRouter, Depends

from rag_assets.serving.http.bodies import SearchBody, SearchReply
from rag_assets.serving.http.service import Service, service_of

router = APIRouter(tags=["search"])


@router.post("/search")
def search(body: SearchBody, service: Annotated[Service, Depends(service_of)]) -> SearchReply:
    """The units that answer a query best, with their sources."""
    with service.served.request() as opened:
        results = opened.assistant.search(
            body.query,
            retriever=body.retriever,
            top_k=body.top_k,
            filters=body.filters.filters(),
        )
    service.metrics.stages(results.seconds)
    return SearchReply.of(
        results,
        index_version=opened.index_version,
        variant=opened.index.variant,
        explain=body.explain,
    )
