"""Findings have one form and one list of kinds, and what they say to do can be done."""

import argparse
import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import TypeAdapter

import rag_assets
from rag_assets.config.alerts import ALL_KINDS
from rag_assets.findings.finding import Finding, kinds
from rag_assets.findings.telling import lines_of, record_of, rows_of
from rag_assets.serving.cli import parser

PACKAGE = Path(rag_assets.__file__).parent
TESTS = Path(__file__).parents[1]
BEGAN = datetime(2026, 11, 30, 8, 5, tzinfo=UTC)
DOCS = (
    PACKAGE.parent / "README.md",
    *PACKAGE.parent.glob("docs/*.md"),
    *PACKAGE.parent.glob("skills/*/*.md"),
)
COMMAND = re.compile(
    r"rag-assets (?!https?:)([a-z][a-z-]+)(?: ([a-z][a-z-]*)\b(?!/|\.[a-z]))?"
    r"(?:[^`.;:#|\n]*?(--[a-z][a-z-]+))?"
)


def test_names_and_codes_are_given_once():
    listed = [*kinds().values()]
    assert max(Counter(each.name for each in listed).values()) == 1
    assert max(Counter(each.code for each in listed if each.code).values()) == 1


def test_those_without_a_code_are_what_alerts_may_tell():
    assert [each.name for each in kinds().values() if not each.code] == [*ALL_KINDS]


@pytest.mark.parametrize("name", kinds())
def test_a_test_reaches_each_kind(name):
    kind = kinds()[name]
    sought = {f'"{name}"', *({f'"{kind.code}"', f"{kind.code} "} if kind.code else ())}
    own = Path(__file__)
    others = (path for path in TESTS.rglob("*.py") if path != own)
    held = [PACKAGE.parent / "rag_assets_testing/faults/harming.py", *others]
    assert any(word in path.read_text("utf-8") for path in held for word in sought)


@pytest.mark.parametrize("name", kinds())
def test_a_finding_is_told_to_people_and_to_programs(name):
    finding = Finding(
        name,
        "plant",
        since=BEGAN,
        reason="the server says no: postgresql://reader:secret@plant/db",
        examples=["a.md"],
    )
    text, record, [row] = "\n".join(lines_of([finding])), record_of(finding), rows_of([finding])
    for said in (text, json.dumps(record), json.dumps(row)):
        assert "plant" in said
        assert "a.md" in said
        assert "secret" not in said
    assert record["severity"] == kinds()[name].severity
    if remedy := kinds()[name].remedy:
        assert record["remedy"] == row["what to do"] == remedy
    again = TypeAdapter(Finding).validate_json(TypeAdapter(Finding).dump_json(finding))
    assert again == finding


def test_a_kind_that_is_not_listed_is_refused():
    with pytest.raises(ValueError, match="index_stail"):
        Finding("index_stail", "plant")


def test_what_is_left_of_several_files_is_counted_anew():
    finding = Finding("units_failed", "3 documents", names=("a", "b", "c"), items="documents")
    left = finding.without({"units_failed:b"})
    assert finding.count == 3
    assert (left.count, left.subject) == (2, "2 documents: a, c")


def test_of_many_the_first_are_shown_and_the_others_counted():
    findings = [Finding("run_failed", f"job {number}", since=BEGAN) for number in range(25)]
    text = "\n".join(lines_of(findings))
    assert "job 19" in text
    assert "job 20" not in text
    assert "and 5 more: see --json" in text


def commands_below(command):
    """The commands that a parser has, or the actions of one command."""
    found = (each for each in command._actions if isinstance(each, argparse._SubParsersAction))
    return next((each.choices for each in found), {})


def test_each_command_that_program_and_docs_name_is_one_with_that_option():
    commands = commands_below(parser())
    unknown = []
    of_program = (
        each for suffix in ("py", "yaml", "html") for each in PACKAGE.rglob(f"*.{suffix}")
    )
    for path in (*of_program, *DOCS):
        for found in COMMAND.finditer(path.read_text("utf-8")):
            name, action, option = found.groups()
            command = commands.get(name)
            if command and (actions := commands_below(command)):
                command = actions.get(action or next(iter(actions)))
            if command is None or (option and option not in command._option_string_actions):
                unknown.append(f"{path.relative_to(PACKAGE.parent)}: {found[0]}")
    assert "\n".join(unknown) == ""
