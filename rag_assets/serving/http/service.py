"""What the routes and the page share: the open index, the answers on their way, and who asks."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from pydantic import TypeAdapter

from rag_assets.answering.answer import Answer, to_json
from rag_assets.answering.asking import Asked, Planned, Retrieved
from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.citations.sentences import Sentence
from rag_assets.config import Config
from rag_assets.retrieval.access import EVERYTHING, Access
from rag_assets.retrieval.filters import Filters
from rag_assets.serving.callers import NOBODY, Caller
from rag_assets.serving.http import bodies
from rag_assets.serving.http.admission import Asking
from rag_assets.serving.http.bodies import AskBody, FilterBody, HitReply, ReportBody
from rag_assets.serving.http.metrics import Metrics
from rag_assets.serving.http.opened import UNPROMOTED, Opened, ServedIndex
from rag_assets.serving.http.streams import AnswerStreams, Event, Tell
from rag_assets.serving.searching import check_names
from rag_assets.store import serving_pointer
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.serving_pointer import ServingPointerError

if TYPE_CHECKING:
    from rag_assets.answering.condensation.conversation import Turn
    from rag_assets.answering.record.database import AnswersFile
    from rag_assets.answering.record.notices import Notice
    from rag_assets.answering.record.staleness import Served as StaleIndex
    from rag_assets.answering.reporting.cited_report import CitedReport
    from rag_assets.questions.items_to_label import Labelling, ToJudge

_SENTENCES = TypeAdapter(Sentence)


@dataclass(slots=True)
class Service:
    """One process that answers."""

    config: Config
    served: ServedIndex
    metrics: Metrics
    caller: Caller = NOBODY
    """Who asks: each request has its own `asked_by`."""
    streams: AnswerStreams = field(default_factory=AnswerStreams)
    to_label: dict[str, "Mapping[str, ToJudge]"] = field(default_factory=dict)
    """The items that were gathered last to be labelled, by what is labelled."""

    def asked_by(self, caller: Caller) -> "Service":
        """The same service, for one who asks: it finds and shows what they may see."""
        access = Access(None if caller.may("admin") else caller.groups).within(self.config)
        return replace(self, caller=caller, served=self.served.seen_by(access))

    @property
    def user(self) -> str:
        """The name of who asks, by which answers are kept."""
        return self.caller.name

    @property
    def access(self) -> Access:
        """What who asks may see."""
        return self.served.access

    @property
    def answers(self) -> "AnswersFile":
        """The file of kept answers."""
        from rag_assets.answering.record.database import answers_of

        return answers_of(self.served.store)

    def own(self, answer_id: str) -> KeptAnswer:
        """A kept answer of who asks; to an *admin*, of anybody.

        Raises:
            UnknownIdError: There is none of that id, somebody else asked, or it holds what may not
                be seen any more: nobody is told which.
        """
        from rag_assets.answering.record.listing import one
        from rag_assets.identity import UnknownIdError

        with suppress(UnknownIdError):
            kept = one(self.answers, answer_id)
            is_theirs = kept.context.user == self.user or self.caller.may("admin")
            if is_theirs and self.may_see(kept):
                return kept
        raise UnknownIdError(f"you have no kept answer {answer_id}: the history lists yours")

    def may_see(self, kept: KeptAnswer) -> bool:
        """Whether a kept answer holds nothing but what may be seen: see `Assistant.may_show`."""
        return self.access == EVERYTHING or self.served.now().assistant.may_show(kept)

    def labelling(self, of: str, *, anew: bool) -> "Labelling":
        """What who asks labels; `anew` gathers the items again.

        Raises:
            ValueError: Nothing is labelled under this name.
        """
        from rag_assets.questions.items_to_label import ItemSources, Labelling
        from rag_assets.questions.judging.labels import task_of

        task, sees_all = task_of(of), self.access == EVERYTHING
        if sees_all and (anew or of not in self.to_label):
            sources = ItemSources.of(self.config, lambda: self.served.now().assistant.index)
            self.to_label[of] = sources.items(task)
        # they are shared, and gathered from everything
        items = self.to_label[of] if sees_all else {}
        return Labelling(task, items, self.config.questions.labels_file, self.user)

    def compared_with(self) -> "StaleIndex | None":
        """What serves now, to tell stale answers by; None where it cannot be told."""
        from rag_assets.answering.record.staleness import Served as StaleIndex

        with suppress(DamagedTablesError, ServingPointerError):
            asked = None if self.access == EVERYTHING else self.served.now().assistant
            return StaleIndex.now(self.served.store, self.config, assistant=asked)
        return None

    def notices(self, *, unseen: bool, limit: int) -> list["Notice"]:
        """What who asks was told that is another thing now, the newest first, as far as they see.

        Raises:
            AnswersFileError: The file of kept answers cannot be used.
        """
        from rag_assets.answering.record.notices import Notices

        found = Notices(self.answers).found(users=[self.user], unseen=unseen, limit=limit)
        return [
            each
            for each in found
            if self.may_see(each.before) and (each.after is None or self.may_see(each.after))
        ]

    def version_of(self, kept: KeptAnswer) -> str:
        """The index version that gave a kept answer; `UNPROMOTED` where none has its tables."""
        then = kept.context.conditions.complete_set
        number = serving_pointer.number_of(self.served.store, then)
        return UNPROMOTED if number is None else str(number)

    def ask(self, opened: Opened, body: AskBody) -> Iterator[tuple[Asked, str | None]]:
        """What becomes known of an answer: see `Assistant.stream`.

        The answer is the last. With it comes the id under which it is kept; None where answers are
        not kept, as with all before.
        """
        from rag_assets.answering.record.keeping import keep_asked

        said, filters = self._said_before(body), filters_of(opened, body.filters)
        told = opened.assistant.stream(
            body.question, said=said, filters=filters, retriever=body.retriever
        )
        for each in told:
            if not isinstance(each, Answer):
                yield each, None
                continue
            self.metrics.stages(each.seconds)
            kept = keep_asked(
                opened.assistant,
                each,
                retriever=body.retriever,
                filters=filters,
                user=self.user,
                said=said,
            )
            yield each, kept

    def tell_answer(self, body: AskBody, tell: Tell) -> None:
        """Answer, telling what becomes known as events: plan, cards, sentences, and done."""
        with self.served.request() as opened:
            for event in self._told(opened, body):
                tell(event)

    def report(
        self, opened: Opened, body: ReportBody, progress: Callable[[str], None]
    ) -> "CitedReport":
        """A report: see `Assistant.report`."""
        made = opened.assistant.report(
            body.prompt,
            filters=filters_of(opened, body.filters),
            retriever=body.retriever,
            progress=progress,
        )
        self.metrics.stages(made.seconds)
        return made

    def tell_report(self, body: ReportBody, tell: Tell) -> None:
        """Write a report, telling what is done as events: progress, and done."""
        from rag_assets.answering.reporting.cited_report import to_json

        def doing(line: str) -> None:
            tell(Event("progress", bodies.ProgressEvent(doing=line).model_dump_json()))

        with self.served.request() as opened:
            made = to_json(self.report(opened, body, doing))
            tell(Event("done", _json({"index_version": opened.index_version, "report": made})))

    def _told(self, opened: Opened, body: AskBody) -> Iterator[Event]:
        place = 0
        for each, kept in self.ask(opened, body):
            match each:
                case Planned(question, read_as, planned_as):
                    plan = bodies.PlanEvent(
                        question=question,
                        read_as=read_as,
                        planned_as=planned_as,
                        index_version=opened.index_version,
                    )
                    yield Event("plan", plan.model_dump_json())
                case Retrieved(hits):
                    cards = bodies.CardsEvent(hits=[HitReply.of(hit) for hit in hits])
                    yield Event("cards", cards.model_dump_json())
                case Sentence():
                    place += 1
                    sentence = bodies.SentenceEvent(
                        place=place,
                        sentence=_SENTENCES.dump_python(each, mode="json"),
                        mark=each.mark,
                    )
                    yield Event("sentence", sentence.model_dump_json())
                case Answer():
                    yield Event("done", _json(answer_reply(each, kept, opened)))

    def _said_before(self, body: AskBody) -> "list[Turn]":
        """The conversation that a question goes on."""
        from rag_assets.serving.conversations import turns_of

        return turns_of(self.own(body.after)) if body.after else []


_json = partial(json.dumps, ensure_ascii=False)


def answer_reply(answer: Answer, kept: str | None, opened: Opened) -> dict[str, object]:
    """An answer as `bodies.AnswerReply` describes it."""
    return {"id": kept, "index_version": opened.index_version, "answer": to_json(answer)}


def filters_of(opened: Opened, body: FilterBody) -> Filters:
    """The filters of the library.

    Raises:
        ValueError: A value is blank, or two exclude each other.
        UsageError: They name a source or a table that is nowhere; it names those that there are.
    """
    filters = Filters(**body.model_dump())
    check_names(opened.assistant, filters)
    return filters


async def service_of(request: Request, caller: Asking) -> Service:
    """The service of the app that handles `request`, for who asks."""
    return request.app.state.service.asked_by(caller)


Served = Annotated[Service, Depends(service_of)]
"""The service, as a parameter of a route."""


async def service_of_nobody(request: Request) -> Service:
    """The service of the app, for whoever gave no key."""
    return request.app.state.service


ServedOpenly = Annotated[Service, Depends(service_of_nobody)]
"""The service, as a parameter of a route that needs no key and tells nothing of the index."""


def named(request: Request, service: Served) -> str:
    """What serves now, which the reply names: for what reads the state, and opens no index."""
    request.state.index_version = service.served.version_now()
    return request.state.index_version


VersionNow = Annotated[str, Depends(named)]
"""What serves, as a parameter of a route."""


def answering(request: Request, service: Served) -> Iterator[Opened]:
    """What answers a request; the reply names its version."""
    with service.served.request() as opened:
        request.state.index_version = opened.index_version
        yield opened


Answering = Annotated[Opened, Depends(answering)]
"""What answers, as a parameter of a route."""
