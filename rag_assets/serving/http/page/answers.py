"""An answer as the templates show it: its sentences, and where their citations lead."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter
from sse_starlette import ServerSentEvent

from rag_assets.answering.answer import Answer, from_json
from rag_assets.citations.kinds import Cell, Citation, PlanCitation, Span
from rag_assets.citations.sentences import Sentence
from rag_assets.reports import pages
from rag_assets.serving.callers import CALLER
from rag_assets.serving.http.streams import AnswerStream, Event

_SENTENCE = TypeAdapter(Sentence)
ROOT: ContextVar[str] = ContextVar("root", default="")
"""The path that all addresses of the page being made begin with: `serving.root_path`."""
cast("dict[str, object]", pages.environment().globals).update(root=ROOT.get, caller=CALLER.get)


@dataclass(frozen=True, slots=True)
class Link:
    """A numbered citation."""

    number: int
    place: str
    """The place that it points to, for people."""
    url: str
    """The URL of its evidence card; empty where there is nothing to open."""


@dataclass(frozen=True, slots=True)
class ToldAnswer:
    """A whole answer."""

    answer_id: str | None
    """The id of the kept answer; None where answers are not kept."""
    index_version: str
    answer: Answer
    sentences: tuple[tuple[Sentence, tuple[Link, ...]], ...]

    @property
    def sources(self) -> Mapping[str, Link]:
        """The places that are cited, in the order of their numbers."""
        return {link.place: link for _, links in self.sentences for link in links}


def told_answer(answer: Answer, answer_id: str | None, version: str) -> ToldAnswer:
    """`answer` as it is shown; `version` is that of the index that gave it."""
    numbers: dict[str, int] = {}
    told = [(each, tuple(links_of(each.citations, numbers, version))) for each in answer.sentences]
    return ToldAnswer(answer_id, version, answer, tuple(told))


def links_of(
    citations: Iterable[Citation], numbers: dict[str, int], version: str
) -> Iterator[Link]:
    """One link for each place that is cited; new places get the next number in `numbers`."""
    at_place: dict[str, list[Citation]] = {}
    for each in citations:
        at_place.setdefault(each.place, []).append(each)
    for place, together in at_place.items():
        number = numbers.setdefault(place, len(numbers) + 1)
        yield Link(number, place, _url(together, version))


def unit_url(unit_id: str, version: str, **values: object) -> str:
    """The address of the evidence card of a unit; of a hit, with the unit that led to it."""
    given = {name: value for name, value in values.items() if value not in ("", None)}
    named = urlencode({"v": version, **given}, doseq=True)
    return f"{ROOT.get()}/u/{quote(unit_id, safe='')}?{named}"


async def fragments(stream: AnswerStream, *, after: int) -> AsyncIterator[ServerSentEvent]:
    """The events behind the first `after` as pieces of the page; the last one is `done`.

    All events are read from the first one, as the numbers of citations go on from one sentence to
    the next.
    """
    numbers: dict[str, int] = {}
    version, at, name = "", 0, ""
    async for at, event in stream.read(after=0):
        known = json.loads(event.data)
        version = known.get("index_version", version)
        name, piece = _piece(event, known, numbers, version)
        if at > after:
            yield ServerSentEvent(piece, event=name, id=str(at))
    if name != "done":
        yield ServerSentEvent(render("stopped"), event="done", id=str(at + 1))


def render(template: str, **values: object) -> str:
    """A piece of the page."""
    return pages.render(f"serving/http/page/{template}.html", title="", **values)


def _piece(event: Event, known: dict, numbers: dict[str, int], version: str) -> tuple[str, str]:
    """The name of an event of the page, and what it shows."""
    match event.name:
        case "plan" | "cards":
            return event.name, render(event.name, known=known, version=version, unit_url=unit_url)
        case "sentence":
            sentence = _SENTENCE.validate_python(known["sentence"])
            links = tuple(links_of(sentence.citations, numbers, version))
            return event.name, render("sentence", sentence=sentence, links=links)
        case "done":
            told = told_answer(from_json(known["answer"]), known["id"], known["index_version"])
            return "done", render("answer", told=told)
        case _:
            return "done", render("failed", problem=known)


def _url(together: list[Citation], version: str) -> str:
    """The address of what all that is cited at one place leads to: a lookup, or a unit."""
    first = together[0]
    if isinstance(first, PlanCitation):
        plan = json.dumps(first.plan, ensure_ascii=False)
        return f"{ROOT.get()}/rows?{urlencode({'v': version, 'plan': plan})}" if first.plan else ""
    if not (unit_id := first.cited_unit):
        return ""
    in_unit = [each for each in together if each.cited_unit == unit_id]
    spans = dict.fromkeys((each.start, each.end) for each in in_unit if isinstance(each, Span))
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    cells = [each for each in together if isinstance(each, Cell)]
    columns, row = [each.column for each in cells], cells[0].row_key if cells else ""
    return unit_url(unit_id, version, start=starts, end=ends, column=columns, row=row)
