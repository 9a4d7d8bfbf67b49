"""Rooms keep their budget of code lines: a room that grows has to ask what it replaces."""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

import pytest
import yaml

PACKAGE = Path(__file__).parents[1] / "rag_assets"
BUDGETS = yaml.safe_load(Path(__file__).with_name("budgets.yaml").read_text("utf-8"))
"""Most lines of code of each room; `.` are the modules that lie in no room."""
SLACK_SHARE, SLACK_LINES = 0.1, 150
"""A budget that is wider than both is lowered."""
NO_CODE = frozenset(
    {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
        *(tokenize.ENCODING, tokenize.ENDMARKER),
    }
)


def code_lines(text):
    """Lines of `text` that hold code: no blank line, no comment, no docstring."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
            if is_text and isinstance(each.value.value, str):
                lines.difference_update(range(each.lineno, each.end_lineno + 1))
    return len(lines)


@pytest.fixture(scope="module")
def rooms():
    counted = Counter()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        counted[parts[0] if len(parts) > 1 else "."] += code_lines(path.read_text("utf-8"))
    return counted


def test_every_room_has_a_budget(rooms):
    assert rooms.keys() == BUDGETS.keys()


@pytest.mark.parametrize("room", BUDGETS)
def test_a_room_keeps_its_budget(rooms, room):
    """Take something out of it, or raise its budget with a line in CHANGELOG.md that says why."""
    assert rooms[room] <= BUDGETS[room]


@pytest.mark.parametrize("room", BUDGETS)
def test_a_budget_follows_a_room_that_got_lighter(rooms, room):
    slack = BUDGETS[room] - rooms[room]
    assert slack <= SLACK_LINES or slack <= SLACK_SHARE * BUDGETS[room]


def test_only_code_counts():
    commented = 'X = 1  # one\n"""Of X."""\n\n\n'
    function = 'def one():\n    """One."""\n    return (\n        X\n    )\n'
    assert code_lines(f'"""About\nit."""\n\n{commented}{function}') == 5
