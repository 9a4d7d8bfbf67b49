"""Why a file, or some pages of it, gave nothing: in words for whoever can mend it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.workers import Failed


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason, and whether the file or its environment is to blame."""

    reason: str
    kind: Literal["input", "environment"]


def given_up(parser: Parser, *, after: int) -> Problem:
    """Why a parser is given no more pages of a file, `after` so many it could not bear."""
    reason = (
        f"the parser {parser.name} was given up after {after} pages of the file that it "
        "could not bear; it is tried again at the next refresh"
    )
    return Problem(reason, "environment")


def joined(problems: Sequence[Problem]) -> Problem:
    """What every parser of a chain had to say; the environment is to blame where it was once."""
    reason = "; then ".join(dict.fromkeys(problem.reason for problem in problems))
    is_passing = any(problem.kind == "environment" for problem in problems)
    return Problem(reason, "environment" if is_passing else "input")


def problem_of(failure: Failed, parser: Parser) -> Problem:
    """A failed task in words: the file is to blame only for what its parser said of it."""
    if failure.error == ParseError.__name__:
        return Problem(failure.reason, "input")
    if failure.kind == "error":
        return Problem(
            f"the parser {parser.name} cannot read it ({failure.error}: {failure.reason}): save "
            "it again from the program that made it",
            "input",
        )
    return Problem(
        f"the parser {parser.name} failed ({failure.kind}: {failure.reason}); it is tried again "
        "at the next refresh",
        "environment",
    )
