"""People who label, by a script: they read the screen, and write a line."""

import io
import re
from collections.abc import Callable, Sequence

PROGRESS = re.compile(r"^[\d,]+ of [\d,]+: ", re.MULTILINE)
ITEM = re.compile(r"^\[(\d+)\] ", re.MULTILINE)


class Labeller:
    """Stands in for stdin and stderr: `decide` gets the question and its items, and answers."""

    def __init__(self, decide: Callable[[str, Sequence[str]], str]) -> None:
        self.decide = decide
        self.screen = io.StringIO()
        self.asked: list[str] = []

    def isatty(self) -> bool:
        return False

    def readline(self) -> str:
        shown = PROGRESS.split(self.screen.getvalue())[-1].rstrip("\n").rpartition("\n")[0]
        question, *items = ITEM.split(shown)
        texts = [each.strip() for each in items[1::2]]
        question = " ".join(question.split())
        self.asked.append(question)
        return f"{self.decide(question, texts)}\n"
