"""The routes of the page: ask, search, history, label and the evidence card."""

import json
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field, ValidationError
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from rag_assets.answering.record.listing import AnswerFilter, find
from rag_assets.citations.card import Card
from rag_assets.questions.judging.labels import TASKS
from rag_assets.reports import pages
from rag_assets.serving import disk_errors
from rag_assets.serving.callers import CALLER, NOBODY
from rag_assets.serving.http.admission import (
    FEEDBACK,
    LABEL,
    READ,
    SESSION,
    SESSION_SECONDS,
    Admission,
)
from rag_assets.serving.http.bodies import (
    MOST_OF_A_PAGE,
    AskBody,
    FeedbackBody,
    SearchBody,
    SeenBody,
    StudyBody,
)
from rag_assets.serving.http.limits import LOOPBACK, InWork, in_work_of
from rag_assets.serving.http.opened import Opened
from rag_assets.serving.http.page.answers import ROOT, fragments, render, told_answer, unit_url
from rag_assets.serving.http.page.snippets import snippet_of
from rag_assets.serving.http.page.sources import examples_of, indexed_sources
from rag_assets.serving.http.problems import in_words, of_error, statuses
from rag_assets.serving.http.routes import history as answers
from rag_assets.serving.http.routes import searching
from rag_assets.serving.http.service import Answering, Served, Service
from rag_assets.serving.replies import UsageError
from rag_assets.serving.study import LONGEST_WORDS, SCORES, study_questions
from rag_assets.store import serving_pointer
from rag_assets.table_lookup.plans.plan import plan_from_text

LISTED = 30
"""Answers of the history that are shown at once."""
Within = Annotated[list[str], Query(default_factory=list)]
"""The documents and tables that are asked: see `FilterBody.within`."""
Checked = TypeVar("Checked", bound=BaseModel)
Working = Annotated[InWork, Depends(in_work_of)]
files = StaticFiles(directory=Path(__file__).parents[2] / "static")
"""Style, scripts and icon, below `/static`."""
NOT_ENCRYPTED = (
    "this page came over plain http, on which others can read your key: open it over https, and "
    "have this key replaced"
)
OWN_PLACE = re.compile(r"/(?![/\\])[^\s\\]*$")
"""A place of this server, to which a login leads back; never another site."""
CARD_STYLE = pages.PACKAGE / "citations" / "card.css"


class CardAddress(BaseModel):
    """What the address of an evidence card names beside its unit."""

    v: str = Field("", exclude=True)
    """The version of the index."""
    start: list[int] = []
    """First characters of the words that are cited; `end`: one past the last of each."""
    end: list[int] = []
    column: list[str] = []
    """The columns that are cited."""
    row: str | None = None
    """The row that is cited, of a table inside a document."""
    linked: str = ""
    """The unit from which a link led a search here."""

    def card(self, opened: Opened, unit_id: str, *, is_drawn: bool = False) -> Card:
        """The card of a unit; that a link led to it stands there where the index has that link."""
        card = opened.assistant.cards.of_unit(
            unit_id,
            words=[*zip(self.start, self.end, strict=False)],
            columns=self.column,
            row_key=self.row,
            is_drawn=is_drawn,
        )
        index = opened.assistant.index
        way = index.way_between(self.linked, unit_id) if self.linked else None
        return replace(card, linked=way.words) if way else card


class GivenLabel(BaseModel):
    """What a person says of an item."""

    of: str
    item: str
    label: str
    drawn: bool = False


class PageRoute(APIRoute):
    """A route whose errors are a page that says what is wrong."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[None, None, Response]]:
        """The handler of the route, which lets no error through."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            ROOT.set(request.scope["root_path"])
            CALLER.set(request.state.caller or NOBODY)
            try:
                return await handle(request)
            except RequestValidationError:
                raise
            except HTTPException as error:
                if error.status_code == HTTPStatus.UNAUTHORIZED:
                    url = request.url.replace(scheme="", netloc="")
                    return _login_page(str(url) if request.method == "GET" else f"{ROOT.get()}/")
                return _page("problem", "Problem", error.status_code, detail=error.detail)
            except Exception as error:  # told to the reader as it is told to programs
                told = of_error(error, statuses())
                detail = json.loads(bytes(told.body))["detail"]
                return _page("problem", "Problem", told.status_code, detail=detail)

        return handled


router, opinions, labels, entrance = (
    APIRouter(dependencies=needed, route_class=PageRoute, include_in_schema=False)
    for needed in ([READ], [FEEDBACK], [LABEL], [])
)
ROUTERS = (router, opinions, labels, entrance)
"""The routes by the scope that they need; those of the last one need no key."""


@entrance.get("/static/card.css")
def style_of_cards() -> Response:
    """The style that cards have everywhere."""
    return FileResponse(CARD_STYLE)


@entrance.get("/login")
async def login_page(request: Request) -> Response:
    """The page on which one logs in by a key; whoever is let in already is led on."""
    if request.state.caller is None:
        return _login_page(f"{ROOT.get()}/")
    return RedirectResponse(f"{ROOT.get()}/", HTTPStatus.SEE_OTHER)


@entrance.post("/login")
async def log_in(request: Request) -> Response:
    """Take a key, and give a cookie for it that no script reads."""
    form = await _form(request)
    is_here = LOOPBACK.fullmatch(request.headers["host"]) is not None
    if not is_here and request.headers.get("origin", "").startswith("http://"):
        raise HTTPException(HTTPStatus.FORBIDDEN, NOT_ENCRYPTED)
    to = str(form.get("to", ""))
    to = to if OWN_PLACE.match(to) else f"{ROOT.get()}/"
    admission: Admission = request.app.state.admission
    try:
        token = admission.log_in(str(form.get("key", "")), request.scope)
    except HTTPException as error:
        return _login_page(to, error)
    reply = RedirectResponse(to, HTTPStatus.SEE_OTHER)
    reply.set_cookie(
        SESSION,
        token,
        max_age=SESSION_SECONDS,
        path=ROOT.get() or "/",
        secure=not is_here,
        httponly=True,
        samesite="lax",
    )
    return reply


@entrance.post("/logout")
async def log_out(request: Request) -> Response:
    """End the session of who logged in."""
    admission: Admission = request.app.state.admission
    admission.log_out(request.cookies.get(SESSION, ""))
    reply = RedirectResponse(f"{ROOT.get()}/login", HTTPStatus.SEE_OTHER)
    reply.delete_cookie(SESSION, path=ROOT.get() or "/")
    return reply


@router.get("/")
def ask_page(opened: Answering, within: Within) -> Response:
    """The page on which one asks."""
    sources = indexed_sources(opened.assistant)
    return _page("ask", "Ask", within=within, opened=opened, sources=sources)


@router.get("/examples")
def examples(opened: Answering) -> Response:
    """Questions to begin with, as a piece of the page: to make them takes a moment."""
    return HTMLResponse(render("examples", examples=examples_of(opened.assistant)))


@router.get("/sources")
def sources(opened: Answering, within: Within, text: str = "") -> Response:
    """The documents and tables that are indexed, to ask or search some of them."""
    wanted, listed = text.strip().casefold(), indexed_sources(opened.assistant)
    named = [each for each in listed if wanted in f"{each.place}\n{each.title}".casefold()]
    shown = {"shown": named[:MOST_OF_A_PAGE], "left": len(named) - MOST_OF_A_PAGE}
    asked = {"text": text, "within": within, "opened": opened, "unit_url": unit_url}
    return _page("sources", "Sources", **shown, **asked)


@router.post("/ask")
async def ask(request: Request, service: Served, in_work: Working) -> Response:
    """Begin an answer: the piece that listens to it; else its page, which asks nothing again."""
    form = await _form(request)
    within = form.pop("within", ())
    asked = _checked(AskBody, {**form, "filters": {"within": within}})
    stream = service.streams.start(partial(service.tell_answer, asked), in_work, service.caller)
    named = urlencode({"question": asked.question, "within": within}, doseq=True)
    place = f"{ROOT.get()}/ask/{stream.id}?{named}"
    if "hx-request" not in request.headers:
        return RedirectResponse(place, HTTPStatus.SEE_OTHER)
    piece = render("asked", question=asked.question, stream_id=stream.id)
    return HTMLResponse(piece, headers={"HX-Replace-Url": place})


@router.get("/ask/{stream_id}")
async def follow(
    stream_id: str,
    service: Served,
    within: Within,
    question: str = "",
    last_event_id: Annotated[str, Header()] = "0",
) -> Response:
    """The pieces of an answer that is on its way; with the question, the page that listens."""
    if question:
        asked = {"question": question, "within": within, "stream_id": stream_id}
        return _page("thread", "Ask", told=None, **asked)
    stream = service.streams.get(stream_id, service.caller)
    if stream is None:
        gone = {"detail": "This answer is not on its way any more: ask again."}
        event = ServerSentEvent(render("failed", problem=gone), event="done")
        return EventSourceResponse(iter([event]))
    after = int(last_event_id) if last_event_id.isdecimal() else 0
    return EventSourceResponse(fragments(stream, after=after), ping=15)


@router.delete("/ask/{stream_id}")
async def stop(stream_id: str, service: Served) -> Response:
    """Give up an answer."""
    if (stream := service.streams.get(stream_id, service.caller)) is not None:
        stream.cancel()
    return HTMLResponse(render("stopped"))


@router.get("/search")
def search(request: Request, service: Served, opened: Answering) -> Response:
    """What a search finds under the conditions in the address."""
    active = [each for each in request.query_params.multi_items() if each[1].strip()]
    asked = {name: value for name, value in active if name not in ("text", "within")}
    within = request.query_params.getlist("within")
    filters: dict[str, object] = {key: value for key, value in asked.items() if key != "query"}
    if "fields" in asked:
        filters["fields"] = [line for line in asked["fields"].splitlines() if line.strip()]
    found = None
    if "query" in asked:
        sent = {"query": asked["query"], "filters": {**filters, "within": within}, "explain": True}
        found = searching.search(_checked(SearchBody, sent), service, opened)
    of_index = {"opened": opened, "config": service.config, "unit_url": unit_url}
    told = {"asked": asked, "within": within, "active": active, "found": found}
    return _page("search", "Search", snippet=snippet_of, **of_index, **told)


@router.get("/history")
def history(service: Served, text: str = "", before: str = "") -> Response:
    """What was asked, newest first."""
    wanted = AnswerFilter(user=service.user, text=text.strip() or None, before=before or None)
    listed = find(
        service.answers,
        wanted,
        served=service.compared_with(),
        limit=LISTED,
        is_seen=service.may_see,
    )
    return _page(
        "history",
        "History",
        listed=listed,
        text=text,
        is_full=len(listed) == LISTED,
        is_kept=service.config.answering.keep,
    )


@router.get("/changed")
def changed(service: Served, seen: bool = False) -> Response:
    """Your answers that are others now, old beside new."""
    found = service.notices(unseen=not seen, limit=LISTED)
    pointer = serving_pointer.current(service.served.store)
    shown = [(each, each.is_rolled_back(pointer)) for each in found]
    return _page("changed", "Changed answers", notices=shown, seen=seen)


@router.get("/changed/count")
def changed_count(service: Served) -> Response:
    """How many of your answers have changed, as a piece of every page."""
    count = len(service.notices(unseen=True, limit=MOST_OF_A_PAGE))
    return HTMLResponse(render("changed_count", count=count, most=MOST_OF_A_PAGE))


@router.post("/changed/{answer_id}/seen")
def changed_seen(answer_id: str, service: Served) -> Response:
    """Note that you have looked at a changed answer."""
    answers.seen(SeenBody(answer_ids=[answer_id]), service)
    return HTMLResponse(render("seen"))


@router.get("/history/{answer_id}")
def kept_answer(answer_id: str, service: Served) -> Response:
    """An answer that was given, to go on from."""
    kept, served = service.own(answer_id), service.compared_with()
    told = told_answer(kept.answer, kept.answer_id, service.version_of(kept))
    touched = served.touched_of([kept])[0] if served else ()
    return _page("thread", "Answer", told=told, kept_at=kept.kept_at, touched=touched)


@router.delete("/history/{answer_id}")
def forget(answer_id: str, service: Served) -> Response:
    """Erase an answer for good."""
    answers.forget(answer_id, service)
    return HTMLResponse(render("forgotten"))


@opinions.post("/feedback")
async def feedback(request: Request, service: Served) -> Response:
    """Keep what one thinks of an answer, or of a source that it shows."""
    given = _checked(FeedbackBody, await _form(request))
    await run_in_threadpool(answers.feedback, given, service)
    return HTMLResponse(render("thanks"))


@opinions.get("/study")
def study_page(kept: bool = False) -> Response:
    """The questions of the user study."""
    asked = {"questions": study_questions(), "scores": SCORES, "longest": LONGEST_WORDS}
    return _page("study", "Study", is_kept=kept, **asked)


@opinions.post("/study")
async def study(request: Request, service: Served) -> Response:
    """Keep what one says to them: thanks as a piece; else as the page."""
    replies: dict[str, dict[str, object]] = {}
    for name, said in (await _form(request)).items():
        question, _, part = name.rpartition(".")
        replies.setdefault(question, {})[part] = said
    given = _checked(StudyBody, {"replies": replies})
    await run_in_threadpool(answers.study, given, service)
    if "hx-request" not in request.headers:
        return RedirectResponse(f"{ROOT.get()}/study?kept=true", HTTPStatus.SEE_OTHER)
    return HTMLResponse(render("study_kept"))


@labels.get("/label")
def label_page(service: Served, of: str = "sentence") -> Response:
    """The page on which one labels what judges judge."""
    return _page("label", "Label", names=[*TASKS], asked=_to_label(service, of, anew=True))


@labels.post("/label")
async def label(request: Request, service: Served) -> Response:
    """Keep a label: the next item as a piece; else back to the page."""
    given = _checked(GivenLabel, await _form(request))
    await run_in_threadpool(_keep_label, service, given)
    if "hx-request" not in request.headers:
        place = f"{ROOT.get()}/label?{urlencode({'of': given.of})}"
        return RedirectResponse(place, HTTPStatus.SEE_OTHER)
    asked = await run_in_threadpool(_to_label, service, given.of, anew=False)
    return HTMLResponse(render("to_label", asked=asked))


@router.get("/docs")
def about_the_api(request: Request) -> Response:
    """The page that describes the API."""
    return _page("api", "API", routes=request.app.openapi()["paths"])


@router.get("/u/{unit_id}")
def unit(unit_id: str, service: Served, asked: Annotated[CardAddress, Query()]) -> Response:
    """The evidence card of a unit."""
    opened = _opened(service, asked.v)
    page_url = unit_url(unit_id, opened.index_version, **asked.model_dump(exclude_defaults=True))
    return _card(asked.card(opened, unit_id), opened, service, page_url.replace("?", "/page?"))


@router.get("/u/{unit_id}/page")
def page_of_unit(unit_id: str, service: Served, asked: Annotated[CardAddress, Query()]) -> Response:
    """The pages of a chunk with the words marked, as a piece of its card."""
    card = asked.card(_opened(service, asked.v), unit_id, is_drawn=True)
    return HTMLResponse(render("picture", card=card))


@router.get("/rows")
def rows(plan: str, service: Served, v: str = "") -> Response:
    """The evidence card of a lookup."""
    opened = _opened(service, v)
    card = opened.assistant.cards.of_plan(plan_from_text(plan))
    return _card(card, opened, service)


def _keep_label(service: Service, given: GivenLabel) -> None:
    labelling = service.labelling(given.of, anew=False)
    if given.item not in labelling.items:
        raise UsageError("this item is not there any more: open the page again")
    with disk_errors.writing(service.config.questions.folder):
        labelling.keep(given.item, given.label, drawn=given.drawn)


def _to_label(service: Service, of: str, *, anew: bool) -> dict[str, object]:
    """What `to_label.html` shows of the item that is asked next."""
    labelling = service.labelling(of, anew=anew)
    with disk_errors.writing(service.config.questions.folder):
        said = labelling.said()
    item, drawn = labelling.next(said) or ("", False)
    return {
        "of": of,
        "item_id": item,
        "drawn": drawn,
        "screen": labelling.screen(item) if item else None,
        "left": labelling.left(said),
        "is_known": bool(labelling.items),
    }


def _opened(service: Service, version: str) -> Opened:
    return service.served.at(int(version)) if version.isdecimal() else service.served.now()


async def _form(request: Request) -> dict[str, str | list[str]]:
    """The fields that a form sends, those without a value left out; all values of `within`.

    A line ends in one character, as the page counts them.
    """
    sent = parse_qs((await request.body()).decode("utf-8", "replace").replace("%0D%0A", "%0A"))
    return {name: each if name == "within" else each[-1].strip() for name, each in sent.items()}


def _card(card: Card, opened: Opened, service: Service, page_url: str = "") -> HTMLResponse:
    version, now = opened.index_version, service.served.version
    if version != now:
        version = f"{version}, as it was then: {now} serves now"
    return _page("evidence", card.title, card=card, version=version, page_url=page_url)


def _page(
    template: str, title: str, status: int = HTTPStatus.OK, /, **values: object
) -> HTMLResponse:
    page = pages.render(f"serving/http/page/{template}.html", title=title, **values)
    return HTMLResponse(page, status)


def _login_page(back_to: str, refused: HTTPException | None = None) -> HTMLResponse:
    status, told = HTTPStatus.UNAUTHORIZED, ""
    if refused:
        status, told = refused.status_code, refused.detail
    return _page("login", "Log in", status, told=told, back_to=back_to)


def _checked(kind: type[Checked], values: Mapping[str, object]) -> Checked:
    """A request made of what a form sent.

    Raises:
        UsageError: A field does not fit; the message names the first one.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise UsageError(in_words(error.errors()[0])) from error
