"""What a finding says: lines for a terminal, rows of a table for a page, data for programs."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Annotated, TypeAlias, TypeVar

from pydantic import PlainSerializer, WithJsonSchema

from rag_assets.config import redacted
from rag_assets.findings.finding import Finding

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

WIDTH = 99
MOST_SHOWN = 20
"""Findings that a terminal shows; --json has all."""
ON_ONE_LINE = ("table_damaged",)
"""Kinds whose reason is not broken, so that the name of the file is found in it."""


def lines_of(findings: Sequence[Finding], *, most: int = MOST_SHOWN) -> list[str]:
    """Lines that say what is wrong, since when, why, and what to do; of the first `most`.

    Passwords in URLs are hidden, here as in all that is told.
    """
    lines = (redacted(line) for each in findings[:most] for line in _lines(each))
    return [*lines, *more(findings, most)]


def more(listed: Sequence[object], most: int = MOST_SHOWN) -> list[str]:
    """A line that says how many more there are than `most`, if there are."""
    left = len(listed) - most
    return [f"  and {left:,} more: see --json"] if left > 0 else []


def _lines(finding: Finding) -> Iterator[str]:
    yield from wrapped(headline(finding), indent=2)
    if finding.kind in ON_ONE_LINE:
        yield f"    {finding.subject} ({finding.reason})"
    else:
        for line in finding.reason.splitlines():
            yield from wrapped(line, indent=4)
    if finding.examples:
        counted = finding.count or 0
        count = f"{counted:,} in all, " if counted > len(finding.examples) else ""
        yield from wrapped(f"{count}such as {'; '.join(finding.examples)}", indent=4)
    yield from wrapped(f"what to do: {finding.remedy}", indent=4)


def headline(finding: Finding) -> str:
    """What is wrong with what, and since when; with its code, where its kind has one."""
    says = finding.says.removesuffix(".")
    if finding.code:
        return f"{finding.code} {finding.severity}: {finding.subject}: {says}"
    return f"{says}: {finding.subject}, since {when(finding.since)}"


def rows_of(findings: Sequence[Finding]) -> Iterator[dict[str, str]]:
    """The rows of a table of findings, for a page or the Dagster UI."""
    for each in findings:
        told = {
            "code": each.code or each.kind,
            "severity": str(each.severity),
            "subject": each.subject,
            "what is wrong": each.reason or each.says,
            "count": "" if each.count is None else f"{each.count:,}",
            "examples": "; ".join(each.examples),
            "what to do": each.remedy,
        }
        yield {name: redacted(text) for name, text in told.items()}


def record_of(finding: Finding) -> dict[str, Json]:
    """All that there is to say of a finding, for programs; passwords in URLs are hidden.

    What has a code was found by a look just now: since when, nobody knows.
    """
    shown = {each.name: getattr(finding, each.name) for each in fields(finding) if each.repr}
    return {
        **{name: _plain(value) for name, value in shown.items()},
        "since": None if finding.code else finding.since.isoformat(),
        "run_id": finding.run_id or None,
        "code": finding.code,
        "says": finding.says,
        "key": redacted(finding.key),
    }


AnyFinding = TypeVar("AnyFinding", bound=Finding)
Told: TypeAlias = Annotated[
    AnyFinding,
    PlainSerializer(record_of, return_type=dict),
    WithJsonSchema({"title": "Finding", "type": "object"}),
]
"""A finding in what is told to programs, over HTTP as by --json: its `record_of`."""


def _plain(value: object) -> Json:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    is_plain = value is None or isinstance(value, (bool, int, float))
    return value if is_plain else redacted(str(value))


def when(at: datetime | None) -> str:
    """A time as a terminal has it: UTC, to the minute; empty without one."""
    return f"{at:%Y-%m-%d %H:%M}" if at else ""


def wrapped(text: str, *, indent: int) -> list[str]:
    """`text` in lines that fit; a path or a name that is longer is not broken."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
