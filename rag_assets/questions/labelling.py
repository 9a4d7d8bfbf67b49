"""What a person decides on questions, one after another: on a terminal, or through a pipe.

A question and its items fill one screen. Each decision is handed on before the next question is
shown, so that nothing that was decided is lost, whatever ends the work.
"""

import shutil
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TextIO, TypeAlias

WIDTH = 96
SCREEN = (WIDTH, 40)
"""Columns and lines where the size of the terminal is not known."""
LINES_OF_QUESTION = 4
AROUND_ITEMS = 8
"""The lines of a screen that are not items."""
INDENT = "      "
TICKED, SKIP = "ticked", "skip"
REWORD, SHOW, QUIT = "e", "v", "q"


@dataclass(frozen=True, slots=True)
class ScreenItem:
    """Something that a question may be about: a passage or a row."""

    title: str
    passage: str
    """What of it fits the question best: as much of that is shown as there is room for."""
    text: str
    """The whole text."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What a person is asked."""

    question: str
    """The question, or what else is decided on, such as a sentence with its source."""
    items: Sequence[ScreenItem]
    decisions: Mapping[str, str]
    """What may be decided, by its key, beside `SKIP`."""
    can_tick: bool = False
    """Whether the numbers of items may be answered."""
    can_reword: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """What a person decided."""

    name: str
    """The decision: one of `Screen.decisions`, `SKIP` or `TICKED`."""
    question: str
    """The question, reworded if a person did so."""
    ticked: tuple[int, ...] = ()
    """Places of the ticked items, from 0."""


ToLabel: TypeAlias = tuple[Screen, Callable[[Label], None]]
"""A screen, with what keeps the decision on it."""


def label(
    screens: Iterable[ToLabel], *, count: int, answers: TextIO, say: Callable[[str], None]
) -> Counter[str]:
    """Ask about each screen, and hand on each decision at once; returns how many of each were made.

    Args:
        screens: What is asked.
        count: How many there are, at most.
        answers: A terminal, or lines that were written before.
        say: Shows lines to the person.

    Raises:
        EOFError: There was nobody to ask: no terminal, and no decision in the lines.
    """
    made: Counter[str] = Counter()
    try:
        for number, (screen, keep) in enumerate(screens, start=1):
            say(_shown(screen, f"{number:,} of {count:,}"))
            decision = _decided(screen, answers, say)
            if decision is None:
                break
            keep(decision)
            made[decision.name] += 1
    except EOFError:
        if not (made or answers.isatty()):
            raise
    except KeyboardInterrupt:
        say(f"\nStopped. All decisions are kept: {made.total():,}.")
        raise
    return made


def printable(text: str) -> str:
    """`text` on one line, with a visible escape for what would move or colour a terminal."""
    return "".join(
        letter if letter.isprintable() else ascii(letter)[1:-1] for letter in " ".join(text.split())
    )


def _decided(screen: Screen, answers: TextIO, say: Callable[[str], None]) -> Label | None:
    """The decision on one screen; None where the person ends the work.

    Raises:
        EOFError: There is no further line.
    """
    keys = _keys(screen)
    while line := answers.readline():
        key, _, rest = line.strip().partition(" ")
        places, ticked = _places(rest, screen), _places(line, screen)
        if key == QUIT:
            return None
        if key == REWORD and rest and screen.can_reword:
            screen = replace(screen, question=rest.strip())
            say(f"Reworded: {printable(rest)}")
        elif key == SHOW and len(places) == 1:
            say("\n".join(_wrapped(screen.items[places[0]].text)))
        elif line.strip() in keys:
            return Label(keys[key], screen.question)
        elif screen.can_tick and ticked:
            return Label(TICKED, screen.question, ticked)
        else:
            say(f"That is no answer here. {_help(screen)}")
    raise EOFError


def _keys(screen: Screen) -> dict[str, str]:
    return {**screen.decisions, SKIP[0]: SKIP}


def _places(line: str, screen: Screen) -> tuple[int, ...]:
    """Places of the items whose numbers are in a line; none where it holds anything else."""
    numbers = {f"{number}": number - 1 for number in range(1, len(screen.items) + 1)}
    named = dict.fromkeys(line.replace(",", " ").split())
    return tuple(map(numbers.__getitem__, named)) if named.keys() <= numbers.keys() else ()


def _shown(screen: Screen, progress: str) -> str:
    height = shutil.get_terminal_size(SCREEN).lines
    room = max((height - AROUND_ITEMS) // max(len(screen.items), 1) - 1, 1)
    question = f"{progress}: {printable(screen.question)}"
    lines = ["", *textwrap.wrap(question, WIDTH, max_lines=LINES_OF_QUESTION, placeholder=" ...")]
    lines += textwrap.wrap(printable(screen.note), WIDTH)
    for number, item in enumerate(screen.items, start=1):
        lines.append(f"[{number}] {printable(item.title)}"[:WIDTH])
        lines += _wrapped(item.passage)[:room]
    return "\n".join([*lines, _help(screen)])


def _help(screen: Screen) -> str:
    ticking = {"1 3": "the right ones"} if screen.can_tick else {}
    rewording = {f"{REWORD} TEXT": "reword"} if screen.can_reword else {}
    told = {**ticking, **_keys(screen), **rewording, f"{SHOW} 2": "all of 2", QUIT: "quit"}
    return "; ".join(f"{key} = {what}" for key, what in told.items())


def _wrapped(text: str) -> list[str]:
    lines = (textwrap.wrap(printable(line), WIDTH - len(INDENT)) for line in text.splitlines())
    return [f"{INDENT}{line}" for part in lines for line in part]
