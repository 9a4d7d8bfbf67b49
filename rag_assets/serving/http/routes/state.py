"""How things stand, for people and for machines."""

from contextlib import suppress
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from rag_assets.config.addresses import families_table
from rag_assets.documents.families.shown import documents_of
from rag_assets.process.errors import ExplainedError
from rag_assets.serving.document_status import statuses_of
from rag_assets.serving.http.admission import READ
from rag_assets.serving.http.bodies import DocumentReply, DocumentsQuery, HealthReply, PageReply
from rag_assets.serving.http.service import Served, ServedOpenly, VersionNow, named
from rag_assets.serving.state_status import StateStatus, state_status
from rag_assets.store.serving_pointer import serving_variant

router = APIRouter(prefix="/v1", dependencies=[READ], tags=["state"])
for_machines = APIRouter(tags=["state"])
NOT_READY = "nothing can be answered yet: send a key to be told why, or run rag-assets status"


@router.get("/status", dependencies=[Depends(named)])
def status(service: Served) -> StateStatus:
    """What is wrong, what runs now, and how sources and tables stand."""
    config, store = service.config, service.served.store
    found = state_status(store, config, variants=list(config.variants))
    sight = service.served.sight
    return found.seen_by(sight) if sight else found


@router.get("/documents")
def documents(
    wanted: Annotated[DocumentsQuery, Query()], service: Served, version: VersionNow
) -> PageReply[DocumentReply]:
    """The documents, what became of each, and its versions; those with problems first."""
    store, config, sight = service.served.store, service.config, service.served.sight
    parser = config.variant(serving_variant(store, config)).parser
    members = documents_of(store, families_table(config, parser))
    hidden = {
        each.family for each in members if sight and not sight.sees_document(each.source, each.uri)
    } - {None}  # what is known of a version tells of the others
    known = {(each.source, each.uri): each for each in members if each.family not in hidden}
    every = (
        DocumentReply(
            state="stale" if each.stale_since else "failed" if each.reason else "read",
            read=each,
            member=known.get((each.source, each.document)),
        )
        for each in statuses_of(store, config, parser=parser)
        if sight is None or sight.sees_document(each.source, each.document)
    )
    found = [each for each in every if wanted.fits(each)]
    return PageReply(index_version=version, total=len(found), entries=wanted.page(found))


@for_machines.get("/healthz")
async def healthy(service: ServedOpenly) -> HealthReply:
    """Tell that the process answers."""
    return HealthReply(index_version=service.served.version)


@for_machines.get("/readyz")
def ready(service: ServedOpenly, request: Request) -> HealthReply:
    """Tell that an index is open and its models are loaded; else 503 with the reason.

    The reason may name files and sources: who gives no key where one is needed is not told it.
    """
    if why := service.served.not_ready():
        told = why if request.state.caller else NOT_READY
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, told)
    return HealthReply(index_version=service.served.version)


@for_machines.get("/metrics", dependencies=[READ], response_class=Response)
def metrics(service: Served) -> Response:
    """Requests, seconds of each stage, and how old each source is, for Prometheus.

    Of sources of which who asks sees nothing, nothing is told; while nothing serves, of none.
    """
    told: list[str] = []
    with suppress(ExplainedError):
        sight = service.served.sight
        told += (
            name
            for name in service.config.source_names
            if sight is None or sight.rules.has_any(name, sight.groups)
        )
    return Response(service.metrics.text(told), media_type=CONTENT_TYPE_LATEST)
