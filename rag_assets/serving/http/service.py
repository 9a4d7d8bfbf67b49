"""What the routes share: the open index, the answers on their way, the counters, and who asks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import Request
from pydantic import TypeAdapter

from rag_assets.answering.answer import Answer, to_json
from rag_assets.answering.asking import Asked, Planned, Retrieved
from rag_assets.citations.sentences import Sentence
from rag_assets.config import Config
from rag_assets.serving.http.bodies import AskBody, HitReply, PlanEvent, SentenceEvent
from rag_assets.serving.http.metrics import Metrics
from rag_assets.serving.http.opened import Opened, ServedIndex
from rag_assets.serving.http.problems import of_error, statuses
from rag_assets.serving.http.streams import AnswerStreams, Event

if TYPE_CHECKING:
    from rag_assets.answering.condensation.conversation import Turn

_SENTENCES = TypeAdapter(Sentence)


@dataclass(slots=True)
class Service:
    """One process that answers."""

    config: Config
    served: ServedIndex
    user: str
    """Who asks: the person at this machine."""
    metrics: Metrics
    streams: AnswerStreams = field(default_factory=AnswerStreams)

    def ask(self, opened: Opened, body: AskBody) -> Iterator[Asked]:
        """What becomes known of an answer, the answer last: see `Assistant.stream`."""
        return opened.assistant.stream(
            body.question,
            said=self._said_before(body),
            filters=body.filters.filters(),
            retriever=body.retriever,
        )

    def keep(self, opened: Opened, body: AskBody, answer: Answer) -> str | None:
        """Keep an answer; its id, or None where answers are not kept."""
        from rag_assets.answering.record.keeping import keep
        from rag_assets.answering.record.kept import context_of, cost_of

        self.metrics.stages(answer.seconds)
        context = context_of(
            opened.index,
            self.config,
            retriever=body.retriever,
            filters=body.filters.filters(),
            user=self.user,
            history=tuple(turn.question for turn in self._said_before(body)),
            cost=cost_of(answer),
        )
        return keep(opened.assistant.store, self.config, answer, context)

    def events(self, body: AskBody) -> Iterator[Event]:
        """An answer as events: plan, cards, sentences, and done or failed."""
        try:
            with self.served.request() as opened:
                yield from self._told(opened, body)
        except Exception as error:  # told to the client, like every other error
            yield Event("failed", bytes(of_error(error, statuses()).body).decode())

    def _told(self, opened: Opened, body: AskBody) -> Iterator[Event]:
        place = 0
        for each in self.ask(opened, body):
            match each:
                case Planned(question, read_as, planned_as):
                    plan = PlanEvent(
                        question=question,
                        read_as=read_as,
                        planned_as=planned_as,
                        index_version=opened.index_version,
                    )
                    yield Event("plan", plan.model_dump_json())
                case Retrieved(hits):
                    cards = [HitReply.of(hit).model_dump(mode="json") for hit in hits]
                    yield Event("cards", json.dumps({"hits": cards}, ensure_ascii=False))
                case Sentence():
                    place += 1
                    sentence = SentenceEvent(
                        place=place,
                        sentence=_SENTENCES.dump_python(each, mode="json"),
                        mark=each.mark,
                    )
                    yield Event("sentence", sentence.model_dump_json())
                case Answer():
                    kept = self.keep(opened, body, each)
                    yield Event(
                        "done", json.dumps(answer_reply(each, kept, opened), ensure_ascii=False)
                    )

    def _said_before(self, body: AskBody) -> "list[Turn]":
        """The conversation that a question goes on."""
        from rag_assets.answering.record.database import answers_of
        from rag_assets.answering.record.listing import one
        from rag_assets.serving.conversations import turns_of

        return turns_of(one(answers_of(self.served.store), body.after)) if body.after else []


def answer_reply(answer: Answer, kept: str | None, opened: Opened) -> dict[str, object]:
    """An answer as `bodies.AnswerReply` describes it."""
    return {"id": kept, "index_version": opened.index_version, "answer": to_json(answer)}


def service_of(request: Request) -> Service:
    """The service of the app that handles `request`."""
    return request.app.state.service
