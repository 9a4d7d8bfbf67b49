"""The loop that asks a person, and the files that it adds lines to."""

import io
import json

import pytest

from rag_assets.media.json_lines import append, lines_of, record_of
from rag_assets.questions.labelling import SKIP, TICKED, Screen, ScreenItem, label, printable

ITEMS = [ScreenItem(f"part{n}.md", f"passage {n}", f"passage {n}\nand more") for n in (1, 2, 3)]
SCREEN = Screen("How is it welded?", ITEMS, {"n": "none"}, can_tick=True)


class Terminal(io.StringIO):
    """Stands in for one."""

    def isatty(self) -> bool:
        return True


def labelled(lines, *, screens=1, screen=SCREEN, stream=io.StringIO):
    """What is decided by these lines, and what the person is shown."""
    kept, said = [], []
    shown = [(screen, kept.append)] * screens
    made = label(shown, count=screens, answers=stream(lines), say=said.append)
    assert made.total() == len(kept)
    return kept, "\n".join(said)


@pytest.mark.parametrize(
    ("line", "name", "ticked"),
    [("2", TICKED, (1,)), ("3, 1 3", TICKED, (2, 0)), ("n", "none", ()), (" s ", SKIP, ())],
)
def test_a_line_decides(line, name, ticked):
    [decision], shown = labelled(f"{line}\n")

    assert (decision.name, decision.ticked, decision.question) == (name, ticked, SCREEN.question)
    assert "1 of 1: How is it welded?" in shown
    assert "[2] part2.md\n      passage 2\n" in shown


@pytest.mark.parametrize("line", ["0", "4", "1 4", "", "yes", "n 1", "-1", "²", "e", "v", "v 9"])
def test_what_is_no_answer_is_told_and_asked_again(line):
    [decision], shown = labelled(f"{line}\nn\n")

    assert decision.name == "none"
    assert "That is no answer here. 1 3 = the right ones; n = none; s = skip;" in shown


def test_all_of_an_item_is_shown_and_a_question_is_reworded():
    [decision], shown = labelled("v 2\ne How is steel welded?\n1\n")

    assert "and more" in shown.partition("quit")[2]
    assert (decision.question, decision.ticked) == ("How is steel welded?", (0,))


def test_items_that_are_only_shown_cannot_be_ticked():
    screen = Screen("How?", ITEMS, {"k": "keep"}, note="Answer: so")

    [decision], shown = labelled("1\nk\n", screen=screen)

    assert decision.name == "keep"
    assert "Answer: so" in shown
    assert "the right ones" not in shown


def test_quitting_and_the_end_of_the_lines_keep_what_was_decided():
    assert len(labelled("n\nq\nn\n", screens=3)[0]) == 1
    assert len(labelled("n\ns\n", screens=3)[0]) == 2
    assert labelled("", stream=Terminal)[0] == []


@pytest.mark.parametrize("lines", ["", "what?\n"])
def test_without_a_terminal_or_a_decision_there_is_nobody_to_ask(lines):
    with pytest.raises(EOFError):
        labelled(lines)


def test_no_text_moves_or_colours_the_terminal():
    hostile = "red \x1b[31m\u202e back\r\nnext\x07 \ud800"
    screen = Screen(hostile, [ScreenItem(hostile, hostile, hostile)], {"n": "none"}, note=hostile)

    _, shown = labelled(f"v 1\ne {hostile.splitlines()[0]}\nn\n", screen=screen)

    assert all(line.isprintable() for line in shown.splitlines())
    assert r"red \x1b[31m\u202e back next\x07 \ud800" in shown
    assert printable("Låt å ñ 漢字 stå") == "Låt å ñ 漢字 stå"


def test_a_long_list_fits_the_screen(monkeypatch):
    monkeypatch.setenv("LINES", "30")
    item = ScreenItem("a" * 500, "word " * 500, "")
    screen = Screen("How? " * 200, [item] * 10, {"n": "none"})

    _, shown = labelled("q\n", screen=screen)

    assert len(shown.splitlines()) <= 30


def test_a_line_is_added_behind_whatever_stands_there(tmp_path):
    file = tmp_path / "questions" / "people.jsonl"
    append(file, {"id": "å"})
    file.write_bytes(file.read_bytes() + b'{"id": "to')

    append(file, {"id": "\ud800"})

    lines = [line for _, line in lines_of(file, what="questions")]
    assert [lines[0], lines[1]] == ['{"id": "å"}'.encode(), b'{"id": "to']
    assert record_of(lines[2]) == {"id": "?"}
    assert json.loads(lines[2]) == {"id": "?"}
