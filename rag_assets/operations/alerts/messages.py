"""How changes become one message; what it looks like in a channel, `channels` says.

Several changes at one time are one message. It says of each problem what, since when, why, what to
do, and where to see it; of one that is over how long it lasted.
"""

import json
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_assets.answering.record.notices import Notice
from rag_assets.config import Naming, redacted
from rag_assets.findings import telling
from rag_assets.findings.finding import Finding
from rag_assets.findings.telling import Json
from rag_assets.operations.alerts.record import Change
from rag_assets.process.clock import in_words, moment

MOST_SHOWN = 20
"""Changes that a message describes: services refuse long messages."""
LONGEST_MESSAGE = 24_000
"""The most bytes that a message describes: Teams refuses more than 28 KB, again and again."""
AROUND_A_LINE = 110
"""The bytes that the form of Teams adds to each line."""
LONGEST_REASON = 600
"""The most characters of a reason."""
LONGEST_HEADING = 250
WITHOUT_PREFIX = Naming()
MOST_LINES = 12
"""The most lines of a reason."""


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part of a message: what happened, and lines about it."""

    heading: str
    lines: Sequence[str] = ()
    link: str = ""
    """Page of the Dagster UI."""


@dataclass(frozen=True, slots=True)
class AlertMessage:
    """What a channel is told at one time."""

    title: str
    entries: Sequence[MessagePart]
    record: Mapping[str, Json]
    """The message as data, for programs."""

    @property
    def text(self) -> str:
        """The whole message as plain text."""
        parts = [self.title, *("\n".join(_lines(entry)) for entry in self.entries)]
        return "\n\n".join(parts)


def message_of(
    changes: Sequence[Change], *, ui_url: str | None, names: Naming = WITHOUT_PREFIX
) -> AlertMessage:
    """One message that tells all `changes` of the index that has these `names` in Dagster."""
    shown = (_entry(change, ui_url=ui_url, names=names) for change in changes[:MOST_SHOWN])
    entries = list(_fitting(shown))
    if more := len(changes) - len(entries):
        entries.append(MessagePart(f"and {more:,} more: `rag-assets alerts` shows what is open"))
    return AlertMessage(
        title=_title(changes, names),
        entries=entries,
        record={
            "host": socket.gethostname(),
            "ui_url": ui_url,
            "problems": [record_of(one, ui_url, names) for one in changes if one.ended is None],
            "resolved": [record_of(one, ui_url, names) for one in changes if one.ended is not None],
            **names.tags,
        },
    )


def message_of_notices(
    notices: Sequence[Notice], *, names: Naming = WITHOUT_PREFIX
) -> tuple[AlertMessage, int]:
    """One message that tells the first of `notices`, and how many of them fit into it."""
    entries = list(_fitting(map(_notice_entry, notices[:MOST_SHOWN])))[: len(notices)]
    told = notices[: len(entries)]
    count = "1 answer has" if len(told) == 1 else f"{len(told):,} answers have"
    index = f"rag_assets {names.key_prefix or ''}".rstrip()
    return AlertMessage(
        title=f"{index} on {socket.gethostname()}: {count} changed since",
        entries=entries,
        record={
            "host": socket.gethostname(),
            "notices": [
                {
                    "answer_id": each.before.answer_id,
                    "content": each.content,
                    "user": each.before.context.user,
                    "lines": each.lines,
                }
                for each in told
            ],
            **names.tags,
        },
    ), len(told)


def _notice_entry(notice: Notice) -> MessagePart:
    heading, *lines = notice.lines
    return MessagePart(
        _shortened(heading, LONGEST_HEADING), [_shortened(line) for line in lines[:MOST_LINES]]
    )


def _fitting(entries: Iterable[MessagePart]) -> Iterator[MessagePart]:
    """The first of `entries` that fit into one message; any one of them does."""
    room = LONGEST_MESSAGE
    for entry in entries:
        lines = [line for text in _lines(entry) for line in text.splitlines()]
        room -= len(json.dumps(lines)) + AROUND_A_LINE * len(lines)
        if room < 0:
            return
        yield entry


def trial_message(*, ui_url: str | None) -> AlertMessage:
    """A message that says that messages arrive."""
    title = f"rag_assets on {socket.gethostname()}: a test"
    return AlertMessage(
        title=title,
        entries=[
            MessagePart(
                "Nothing is wrong: somebody tries whether alerts arrive.", link=ui_url or ""
            )
        ],
        record={"host": socket.gethostname(), "ui_url": ui_url, "test": True},
    )


def link_of(problem: Finding, *, ui_url: str | None, names: Naming) -> str:
    """The page of the Dagster UI that shows the problem; empty without the URL of the UI."""
    if ui_url is None:
        return ""
    root = ui_url.rstrip("/")
    if problem.run_id:
        return f"{root}/runs/{problem.run_id}"
    key = "/".join(names.path(*problem.assets[:1]))
    return f"{root}/assets/{key}" if problem.assets else root


def _title(changes: Sequence[Change], names: Naming) -> str:
    new = sum(change.ended is None for change in changes)
    counts = {"problem" if new == 1 else "problems": new, "resolved": len(changes) - new}
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    index = f"rag_assets {names.key_prefix or ''}".rstrip()
    return f"{index} on {socket.gethostname()}: {said}"


def _entry(change: Change, *, ui_url: str | None, names: Naming) -> MessagePart:
    problem, ended = change.problem, change.ended
    what = _shortened(f"{problem.says}: {problem.subject}", LONGEST_HEADING)
    link = link_of(problem, ui_url=ui_url, names=names)
    if ended is not None:
        lasted = in_words((ended - problem.since).total_seconds())
        lines = [f"It lasted {lasted}: from {moment(problem.since)} to {moment(ended)}."]
        return MessagePart(redacted(f"Resolved: {what}"), lines, link)
    lines = [
        f"Since {moment(problem.since)}.",
        f"Why: {_shortened(problem.reason)}",
        *([f"Such as: {_shortened('; '.join(problem.examples))}"] if problem.examples else ()),
        f"What to do: {_shortened(problem.remedy)}.",
    ]
    return MessagePart(redacted(f"Problem: {what}"), [redacted(line) for line in lines], link)


def record_of(change: Change, ui_url: str | None, names: Naming) -> Mapping[str, Json]:
    """A change for programs."""
    problem, ended = change.problem, change.ended
    link = link_of(problem, ui_url=ui_url, names=names)
    record = {**telling.record_of(problem), "link": link or None}
    if ended is None:
        return record
    lasted = round((ended - problem.since).total_seconds())
    return {**record, "ended": ended.isoformat(), "seconds": lasted}


def _shortened(text: str, longest: int = LONGEST_REASON) -> str:
    short = "\n".join(text[:longest].splitlines()[:MOST_LINES]).rstrip()
    return text if short == text.rstrip() else f"{short} ..."


def _lines(entry: MessagePart) -> Iterator[str]:
    yield entry.heading
    yield from entry.lines
    if entry.link:
        yield entry.link
