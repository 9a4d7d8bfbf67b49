"""Answers: `/v1/answers` as JSON or as server-sent events."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from sse_starlette import EventSourceResponse, ServerSentEvent

from rag_assets.answering.answer import Answer
from rag_assets.serving.http.bodies import AnswerReply, AskBody
from rag_assets.serving.http.service import Service, answer_reply, service_of
from rag_assets.serving.http.streams import AnswerStream

router = APIRouter(tags=["answers"])
EVENTS = "text/event-stream"


@router.post(
    "/answers",
    response_model=AnswerReply,
    responses={200: {"content": {EVENTS: {}}, "description": "JSON, or events if asked for."}},
)
async def ask(
    body: AskBody, request: Request, service: Annotated[Service, Depends(service_of)]
) -> Response:
    """The answer to a question, with its proof.

    With `Accept: text/event-stream` it comes as events: `plan`, `cards`, `sentence` for each
    sentence once it was compared with what it cites, then `done` with the whole answer, or
    `failed`. Each event has an id; a client that lost its line goes on at the URL in the header
    `Content-Location`, with `Last-Event-ID`.
    """
    if EVENTS not in request.headers.get("accept", ""):
        from starlette.concurrency import run_in_threadpool

        return await run_in_threadpool(_whole, body, service)
    stream = service.streams.start(lambda: service.events(body))
    if stream is None:
        raise HTTPException(HTTPStatus.TOO_MANY_REQUESTS, "too many answers are on their way")
    return _events(stream, after=0)


@router.get("/answers/streams/{stream_id}", response_class=EventSourceResponse)
async def resume(
    stream_id: str,
    service: Annotated[Service, Depends(service_of)],
    last_event_id: Annotated[str, Header()] = "0",
) -> EventSourceResponse:
    """The events of an answer from the beginning, or behind `Last-Event-ID`."""
    stream = service.streams.get(stream_id)
    if stream is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "no such answer is on its way: ask again")
    return _events(stream, after=int(last_event_id) if last_event_id.isdecimal() else 0)


@router.delete("/answers/streams/{stream_id}", status_code=HTTPStatus.NO_CONTENT)
async def cancel(stream_id: str, service: Annotated[Service, Depends(service_of)]) -> None:
    """Give up an answer that is on its way."""
    if (stream := service.streams.get(stream_id)) is not None:
        stream.cancel()


def _whole(body: AskBody, service: Service) -> JSONResponse:
    with service.served.request() as opened:
        told = service.ask(opened, body)
        answer = next(each for each in told if isinstance(each, Answer))
        kept = service.keep(opened, body, answer)
    return JSONResponse(answer_reply(answer, kept, opened))


def _events(stream: AnswerStream, *, after: int) -> EventSourceResponse:
    async def told() -> AsyncIterator[ServerSentEvent]:
        async for number, event in stream.read(after=after):
            yield ServerSentEvent(data=event.data, event=event.name, id=str(number))

    headers = {"Content-Location": f"/v1/answers/streams/{stream.id}"}
    return EventSourceResponse(told(), headers=headers, ping=15)
