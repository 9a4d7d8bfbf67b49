"""`rag-assets alerts`: what is wrong now and who was told; a test message to each channel."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.operations.alerts.channels import Delivery
from rag_assets.operations.alerts.messages import WORDS, link_of, moment
from rag_assets.operations.alerts.record import FILE, AlertRecord, RecordFile
from rag_assets.operations.alerts.telling import NOT_CALLED, open_problems, try_channels
from rag_assets.operations.problems.current import Problem
from rag_assets.serving import alerting
from rag_assets.serving.replies import FAILED, OK, PARTLY, Json, Reply, UsageError, say

SUMMARY = "tell what is wrong now and who was told; try whether messages arrive"
EXAMPLES = """\
  rag-assets alerts                        what is wrong now, and who was told
  rag-assets alerts test                   send a test message to each channel
  rag-assets alerts --json"""

NO_CHANNEL = "no channel is configured: see `alerts` in docs/configuration.md"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument(
        "action",
        nargs="?",
        choices=("list", "test"),
        default="list",
        help="list (default): what is wrong now; test: send a test message to each channel",
    )


def run(options: argparse.Namespace) -> Reply:
    """List what is open, or try the channels."""
    config = configuration.load()
    return _tried(config) if options.action == "test" else _listed(config)


def _tried(config: Config) -> Reply:
    if not config.alerts.channels:
        raise UsageError(NO_CHANNEL)
    answers = try_channels(config)
    lines = [f"{name}: {_in_words(one)}" for name, one in answers.items()]
    channels: dict[str, Json] = {
        name: {"accepted": one.accepted, "answer": one.answer, "lacking": one.lacking or None}
        for name, one in answers.items()
    }
    is_good = all(one.accepted and not one.lacking for one in answers.values())
    return Reply({"channels": channels}, "\n".join(lines), OK if is_good else FAILED)


def _in_words(delivery: Delivery) -> str:
    if delivery.lacking:
        return f"IN PART ({delivery.answer}; {delivery.lacking})"
    if delivery.answer == NOT_CALLED:
        return NOT_CALLED
    return f"{'accepted' if delivery.accepted else 'FAILED'} ({delivery.answer})"


def _listed(config: Config) -> Reply:
    record = RecordFile(config.state_dir).read()
    with alerting.records(config) as instance:
        problems = open_problems(config, instance, before=record.open, log=say)
    known = {problem.key for problem in problems}
    problems += [problem for problem in record.noted if problem.key not in known]
    begun = {problem.key: problem.since for problem in record.open}
    waiting = {name: len(told.waiting) for name, told in record.channels.items()}
    return Reply(
        record={
            "problems": [_as_json(one, config, record, begun) for one in problems],
            "channels": [
                {
                    "name": channel.name,
                    "type": channel.type,
                    "waiting": waiting.get(channel.name, 0),
                    "failure": _failure_of(record, channel.name) or None,
                }
                for channel in config.alerts.channels
            ],
        },
        text="\n\n".join(_paragraphs(problems, config, record, begun)),
        code=PARTLY if problems else OK,
    )


def _as_json(
    problem: Problem, config: Config, record: AlertRecord, begun: Mapping[str, datetime]
) -> Mapping[str, Json]:
    return {
        "kind": problem.kind,
        "subject": problem.subject,
        "since": begun.get(problem.key, problem.since).isoformat(),
        "reason": problem.reason,
        "remedy": problem.remedy,
        "link": link_of(problem, ui_url=config.alerts.ui_url) or None,
        "told": {name: when.isoformat() for name, when in _told(problem, record)},
    }


def _told(problem: Problem, record: AlertRecord) -> Iterator[tuple[str, datetime]]:
    """Each channel that was told of `problem`, and when."""
    for name, told in record.channels.items():
        if problem.key in told.told:
            yield name, told.told[problem.key]


def _paragraphs(
    problems: Sequence[Problem],
    config: Config,
    record: AlertRecord,
    begun: Mapping[str, datetime],
) -> Iterator[str]:
    for problem in problems:
        told = [f"{name} ({moment(when)})" for name, when in _told(problem, record)]
        yield "\n".join(
            [
                f"{WORDS[problem.kind]}: {problem.subject}",
                f"  since {moment(begun.get(problem.key, problem.since))}",
                *(f"  {line}" for line in problem.reason.splitlines()),
                f"  what to do: {problem.remedy}",
                f"  told: {', '.join(told) or 'nobody yet'}",
            ]
        )
    if not problems:
        yield "Nothing is wrong."
    failing = [
        f"  {channel.name}: {reason}"
        for channel in config.alerts.channels
        if (reason := _failure_of(record, channel.name))
    ]
    if failing:
        yield "\n".join([f"Not reached, tried again (see {FILE}):", *failing])
    names = ", ".join(f"{one.name} ({one.type})" for one in config.alerts.channels)
    yield f"Channels: {names}" if names else f"Channels: {NO_CHANNEL}"


def _failure_of(record: AlertRecord, channel: str) -> str:
    """Why the last message to a channel did not arrive; empty if it did."""
    told = record.channels.get(channel)
    return told.failure if told else ""
