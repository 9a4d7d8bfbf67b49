"""Why a file, or some pages of it, could not be read, in words for the person who can mend it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_assets.change.quarantine import Blame
from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.workers import Failed, FailureKind

_FIRST_TO_BLAME: tuple[Blame, ...] = ("limit", "environment")
_WHAT: Mapping[FailureKind, str] = {
    "timeout": "it",
    "memory": "it",
    "crash": "it crashed,",
    "system": "a problem of this machine,",
}
"""What comes before the reason of a failure, by its kind: `it took longer than 60 s`."""


@dataclass(frozen=True, slots=True)
class ParseProblem:
    """One reason, and what is to blame: the file, its environment, or a limit that it ran into."""

    reason: str
    kind: Blame


def given_up(parser: Parser, *, after: int) -> ParseProblem:
    """Why a parser gets no more pages of a file, `after` so many costly failures."""
    reason = (
        f"the parser {parser.name} gets no more pages of this file: it hung, crashed or ran out of "
        f"memory on {after} of them"
    )
    return ParseProblem(reason, "limit")


def joined(problems: Sequence[ParseProblem]) -> ParseProblem:
    """The problems that the parsers of a chain had with the same page, as one."""
    reason = "; then ".join(dict.fromkeys(problem.reason for problem in problems))
    return ParseProblem(reason, blame(problems))


def blame(problems: Sequence[ParseProblem]) -> Blame:
    """What is to blame for all of them: a limit if any is, so that costly pages wait some days."""
    kinds = {problem.kind for problem in problems}
    return next((kind for kind in _FIRST_TO_BLAME if kind in kinds), "input")


def problem_of(failure: Failed, parser: Parser) -> ParseProblem:
    """A failed task in words; the file is to blame only for errors that its parser raised."""
    if failure.error == ParseError.__name__:
        return ParseProblem(failure.reason, "input")
    if failure.kind == "error":
        return ParseProblem(
            f"the parser {parser.name} cannot read it ({failure.error}: {failure.reason}): save "
            "it again from the program that made it",
            "input",
        )
    reason = f"the parser {parser.name} failed: {_WHAT[failure.kind]} {failure.reason}"
    return ParseProblem(reason, kind_of(failure.kind))


def kind_of(failure: FailureKind) -> Blame:
    """What is to blame for a task that did not end with an error of its function."""
    return "limit" if failure in ("timeout", "memory") else "environment"
