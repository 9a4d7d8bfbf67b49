"""Answers, reports and checks: `/v1/answers`, `/v1/reports`, `/v1/verify`, `/v1/streams`."""

from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Depends, Header, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from rag_assets.answering.answer import Answer
from rag_assets.answering.checks.judging import open_judge
from rag_assets.answering.reporting.cited_report import to_json
from rag_assets.answering.reporting.forms import FORMS
from rag_assets.serving.http.admission import READ
from rag_assets.serving.http.bodies import (
    AnswerReply,
    AskBody,
    ReportBody,
    ReportReply,
    VerifyBody,
    VerifyReply,
)
from rag_assets.serving.http.limits import VERSION, InWork, in_work_of
from rag_assets.serving.http.service import Answering, Served, Service, answer_reply
from rag_assets.serving.http.streams import AnswerStream, Make
from rag_assets.serving.replies import UsageError
from rag_assets.workers import raise_if_abandoned

router = APIRouter(prefix="/v1", dependencies=[READ], tags=["answers"])
EVENTS = "text/event-stream"
ReportForm: TypeAlias = Literal["json", "markdown", "html", "docx"]
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FILES: Mapping[str, tuple[str, str]] = {
    "markdown": ("md", "text/markdown"),
    "html": ("html", "text/html"),
    "docx": ("docx", DOCX),
}
"""The ending, and the media type."""
Working = Annotated[InWork, Depends(in_work_of)]
OF_EVENTS: Mapping[int | str, dict] = {
    200: {"content": {EVENTS: {}}, "description": "JSON, or events if `Accept` asks for them."}
}
OF_FORMS: Mapping[int | str, dict] = {
    200: {
        "content": {EVENTS: {}, **{media_type: {} for _, media_type in FILES.values()}},
        "description": "JSON, or the form that is asked for, or events if `Accept` asks for them.",
    }
}


@router.post("/answers", response_model=AnswerReply, responses=dict(OF_EVENTS))
async def ask(body: AskBody, request: Request, service: Served, in_work: Working) -> Response:
    """The answer to a question, with its proof.

    With `Accept: text/event-stream` it comes as events: `plan`, `cards`, `sentence` for each
    sentence once it was compared with what it cites, then `done` with the whole answer, or
    `failed`. Each event has an id; a client that lost its line goes on at the URL in the header
    `Content-Location`, with `Last-Event-ID`.
    """
    if EVENTS not in request.headers.get("accept", ""):
        return await run_in_threadpool(_answered, body, service)
    return _started(partial(service.tell_answer, body), service, in_work)


@router.post("/reports", response_model=ReportReply, responses=dict(OF_FORMS))
async def report(
    body: ReportBody,
    request: Request,
    service: Served,
    in_work: Working,
    form: ReportForm = "json",
) -> Response:
    """A report on a prompt with several topics, as JSON, Markdown, HTML or a Word document.

    With `Accept: text/event-stream` it comes as events: `progress` with what is done next, then
    `done` with the report as JSON, or `failed`.
    """
    if EVENTS not in request.headers.get("accept", ""):
        return await run_in_threadpool(_reported, body, service, form)
    return _started(partial(service.tell_report, body), service, in_work)


@router.get("/streams/{stream_id}", response_class=EventSourceResponse)
async def resume(
    stream_id: str, service: Served, last_event_id: Annotated[int, Header(ge=0)] = 0
) -> EventSourceResponse:
    """The events of an answer or report from the beginning, or behind `Last-Event-ID`."""
    return _events(_stream(stream_id, service), service, after=last_event_id)


@router.delete("/streams/{stream_id}", status_code=HTTPStatus.NO_CONTENT)
async def cancel(stream_id: str, service: Served) -> None:
    """Give up an answer or a report that is on its way."""
    _stream(stream_id, service).cancel()


@router.post("/verify")
def verify(body: VerifyBody, service: Served, opened: Answering) -> VerifyReply:
    """What of an answer is in the sources that it cites, sentence by sentence."""
    with open_judge(service.config) if body.judge else nullcontext() as judge:
        if body.judge and judge is None:
            raise UsageError("judge: the config names no judge (answering.judge)")
        verdicts = opened.assistant.verify(body.text, judge=judge)
    numbered = [*enumerate(verdicts, start=1)]
    return VerifyReply(
        index_version=opened.index_version,
        sentences=verdicts,
        supported=[place for place, each in numbered if each.is_supported],
        not_in_sources=[place for place, each in numbered if each.is_bad],
    )


def _answered(body: AskBody, service: Service) -> Response:
    with service.served.request() as opened:
        for each, kept in service.ask(opened, body):
            raise_if_abandoned()
            if isinstance(each, Answer):
                return JSONResponse(answer_reply(each, kept, opened))
    raise AssertionError("the answer is the last that a stream gives")


def _reported(body: ReportBody, service: Service, form: ReportForm) -> Response:
    def go_on(_line: str) -> None:
        raise_if_abandoned()

    with service.served.request() as opened:
        made = service.report(opened, body, go_on)
        if form == "json":
            version = opened.index_version
            return JSONResponse({"index_version": version, "report": to_json(made)})
        ending, media_type = FILES[form]
        name = f'attachment; filename="report.{ending}"'  # without any word of a user
        headers = {"Content-Disposition": name, VERSION: opened.index_version}
        content = FORMS[ending](made, opened.assistant, go_on)
        return Response(content, media_type=media_type, headers=headers)


def _stream(stream_id: str, service: Service) -> AnswerStream:
    if (stream := service.streams.get(stream_id, service.caller)) is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "no such answer is on its way: ask again")
    return stream


def _started(make: Make, service: Service, in_work: InWork) -> EventSourceResponse:
    return _events(service.streams.start(make, in_work, service.caller), service, after=0)


def _events(stream: AnswerStream, service: Service, *, after: int) -> EventSourceResponse:
    async def told() -> AsyncIterator[ServerSentEvent]:
        async for number, event in stream.read(after=after):
            yield ServerSentEvent(data=event.data, event=event.name, id=str(number))

    return EventSourceResponse(
        told(),
        headers={"Content-Location": f"{service.config.serving.root_path}/v1/streams/{stream.id}"},
        ping=15,
    )
