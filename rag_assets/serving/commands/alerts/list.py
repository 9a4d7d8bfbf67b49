"""`rag-assets alerts list`: what is wrong now, and who was told."""

import argparse
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rag_assets.config import Config
from rag_assets.findings.finding import Finding
from rag_assets.findings.telling import lines_of
from rag_assets.operations.alerts.dispatch import open_problems
from rag_assets.operations.alerts.messages import record_of
from rag_assets.operations.alerts.record import FILE, AlertRecord, Change, RecordFile
from rag_assets.process.clock import moment
from rag_assets.serving import alerting
from rag_assets.serving.replies import OK, PARTLY, Reply, project_of, say

SUMMARY = "tell what is wrong now, and who was told"
EXAMPLES = """\
  rag-assets alerts
  rag-assets alerts list --json"""

NO_CHANNEL = "no channel is configured: see `alerts` in docs/configuration.md"


def run(options: argparse.Namespace) -> Reply:
    """List what is open, with the channels."""
    config, _ = project_of(options)
    record = RecordFile(config.state_dir).read()
    with alerting.records(config) as instance:
        problems = open_problems(config, instance, before=record.open, log=say)
    known = {problem.key for problem in problems}
    problems += [problem for problem in record.noted if problem.key not in known]
    problems = list(record.dated(problems, now=datetime.now(UTC)))
    waiting = {name: len(each.waiting) for name, each in record.channels.items()}
    return Reply(
        record={
            "problems": [
                {
                    **record_of(Change(one), config.alerts.ui_url, config.dagster),
                    "told": {name: when.isoformat() for name, when in record.told_of(one).items()},
                }
                for one in problems
            ],
            "channels": [
                {
                    "name": channel.name,
                    "type": channel.type,
                    "waiting": waiting.get(channel.name, 0),
                    "failure": record.failure_of(channel.name) or None,
                }
                for channel in config.alerts.channels
            ],
        },
        text="\n\n".join(_paragraphs(problems, config, record)),
        code=PARTLY if problems else OK,
    )


def _paragraphs(problems: Sequence[Finding], config: Config, record: AlertRecord) -> Iterator[str]:
    for problem in problems:
        names = [f"{name} ({moment(when)})" for name, when in record.told_of(problem).items()]
        who = f"    told: {', '.join(names) or 'nobody yet'}"
        yield "\n".join([*lines_of([problem]), who])
    if not problems:
        yield "Nothing is wrong."
    names = [channel.name for channel in config.alerts.channels]
    failing = [f"  {name}: {why}" for name in names if (why := record.failure_of(name))]
    if failing:
        yield "\n".join([f"Not reached, tried again (see {FILE}):", *failing])
    names = ", ".join(f"{one.name} ({one.type})" for one in config.alerts.channels)
    yield f"Channels: {names}" if names else f"Channels: {NO_CHANNEL}"
