"""Your kept answers: `/v1/history`, asked again, and what you think of them: `/v1/feedback`.

`/v1/study` takes what you think of the system.
`/v1/notices` has those that are other answers now.
"""

import logging
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from rag_assets.answering.record import replaying
from rag_assets.answering.record.differing import difference_of
from rag_assets.answering.record.feedback import Feedback, feedback_on, give
from rag_assets.answering.record.listing import AnswerFilter, ListedAnswer, find
from rag_assets.answering.record.notices import Notices
from rag_assets.operations.erasure.kept_answers import erase
from rag_assets.questions.from_answers import left_with_people
from rag_assets.serving.http import bodies
from rag_assets.serving.http.admission import FEEDBACK, READ, let_in
from rag_assets.serving.http.bodies import AnswerId
from rag_assets.serving.http.service import Served, named
from rag_assets.serving.study import keep_study
from rag_assets.store import serving_pointer

router = APIRouter(prefix="/v1", dependencies=[READ], tags=["history"])
opinions = APIRouter(prefix="/v1", dependencies=[FEEDBACK], tags=["history"])
logger = logging.getLogger(__name__)


@router.get("/history", dependencies=[Depends(named)])
def history(
    wanted: Annotated[bodies.HistoryQuery, Query()], service: Served
) -> bodies.HistoryReply:
    """Your answers, the newest first; with `user` those of another one, to who is *admin*."""
    chosen = wanted.model_dump(include={"since", "outcome", "text", "before"})
    user = service.user if wanted.user is None else wanted.user
    if user != service.user:
        let_in(service.caller, ["admin"])
    found = find(
        service.answers,
        AnswerFilter(user=user, **chosen),
        served=service.compared_with(),
        limit=wanted.limit + 1,
        stale_only=wanted.stale,
        is_seen=service.may_see,
    )
    entries = [bodies.HistoryEntry.of(each) for each in found[: wanted.limit]]
    goes_on = len(found) > wanted.limit
    return bodies.HistoryReply(answers=entries, next=entries[-1].answer_id if goes_on else None)


@router.get("/history/{answer_id}")
def kept(answer_id: AnswerId, service: Served) -> bodies.KeptReply:
    """One of your answers, with its proof and what you said of it."""
    found, served = service.own(answer_id), service.compared_with()
    listed = ListedAnswer(found, served.touched_of([found])[0] if served else None)
    return bodies.KeptReply(
        **dict(bodies.HistoryEntry.of(listed)),
        index_version=service.version_of(found),
        answer=found.answer,
        history=found.context.history,
        tables_gone=replaying.tables_gone(found, service.served.store),
        feedback=feedback_on(service.answers, found.answer_id),
    )


@router.delete("/history/{answer_id}", status_code=204)
def forget(answer_id: AnswerId, service: Served) -> None:
    """Erase one of your answers for good, with what language models were asked for it."""
    store, found = service.served.store, [service.own(answer_id).answer_id]
    questions = erase(store, found, log=lambda _line: None)
    if of_people := left_with_people(service.config.questions, questions):
        logger.warning("an answer was erased; %s", of_people)


@router.put("/history/{answer_id}/watch", status_code=204)
def put_under_watch(answer_id: AnswerId, body: bodies.WatchBody, service: Served) -> None:
    """Say when a change of one of your answers is told."""
    Notices(service.answers).watch(service.own(answer_id).answer_id, tolerance=body.tolerance)


@router.delete("/history/{answer_id}/watch", status_code=204)
def stop_watching(answer_id: AnswerId, service: Served) -> None:
    """Take that rule away: then changes of value, cited text or outcome are told."""
    Notices(service.answers).unwatch(service.own(answer_id).answer_id)


@router.get("/notices")
def your_notices(
    wanted: Annotated[bodies.NoticesQuery, Query()], service: Served
) -> bodies.NoticesReply:
    """Those of your answers that are others now, because their sources changed."""
    pointer = serving_pointer.current(service.served.store)
    found = service.notices(unseen=not wanted.seen, limit=wanted.limit)
    return bodies.NoticesReply(notices=[bodies.NoticeReply.of(each, pointer) for each in found])


@router.post("/notices/seen", status_code=204)
def seen(body: bodies.SeenBody, service: Served) -> None:
    """Say that you have looked at notices: they are news no more."""
    Notices(service.answers).mark_seen([service.own(each).answer_id for each in body.answer_ids])


@router.post("/history/{answer_id}/replay")
def replay(
    answer_id: AnswerId, body: bodies.ReplayBody, request: Request, service: Served
) -> bodies.ReplayReply:
    """Ask the question of one of your answers again, and tell what differs; nothing is kept."""
    found, served, notes = service.own(answer_id), service.served, ()
    if body.on == "kept":
        done = replaying.replay(found, config=service.config, access=service.access)
        version, answer, notes = service.version_of(found), done.answer, done.notes
    else:
        opened = served.now() if body.on == "current" else served.at(int(body.on))
        version, answer = opened.index_version, replaying.asked_again(opened.assistant, found)
    request.state.index_version = version
    difference = difference_of(found.answer, answer)
    return bodies.ReplayReply(
        index_version=version, answer=answer, difference=difference, notes=notes
    )


@opinions.post("/feedback", status_code=201)
def feedback(body: bodies.FeedbackBody, service: Served) -> Feedback:
    """Say that one of your answers is good or not, or which of its units is the right source."""
    found = service.own(body.answer_id)
    version = service.version_of(found)
    return give(service.answers, found, body.kind, unit_id=body.unit_id, index_version=version)


@opinions.post("/study", status_code=204)
def study(body: bodies.StudyBody, service: Served) -> None:
    """Answer the questions of the user study; each time you do counts."""
    version = service.served.version_now()
    keep_study(service.answers, body.replies, user=service.user, index_version=version)
