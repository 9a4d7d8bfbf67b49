"""What all commands share: replies, errors and exit codes."""

import argparse
import getpass
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Annotated

from pydantic import WithJsonSchema
from typing_extensions import TypeAliasType

ANY = WithJsonSchema({})
"""Generators of clients know no schema that holds itself."""
Json = TypeAliasType(
    "Json",
    "Annotated[str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None, ANY]",
)

OK, FAILED, USAGE, PARTLY, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: see docs/faults.md."""


class CommandError(Exception):
    """A command failed; the message says why, and what to do."""


class UsageError(CommandError):
    """A command was called with wrong arguments; the message says what is right."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command replies."""

    record: Mapping[str, Json]
    """The reply for programs."""
    text: str
    """The reply for people."""
    code: int = OK
    """Exit code of the process."""


@contextmanager
def search_errors() -> Generator[None]:
    """Turn errors of a search into a `CommandError` with the same message."""
    from rag_assets.retrieval.failing import unanswerable

    try:
        yield
    except unanswerable() as error:
        raise CommandError(str(error)) from error


@contextmanager
def assistant_errors() -> Generator[None]:
    """Turn a judge or an embedded language model that cannot be opened into a `CommandError`."""
    from rag_assets.answering.checks.judging import JudgeError
    from rag_assets.models.language.embedded import MissingExtraError

    try:
        yield
    except (JudgeError, MissingExtraError) as error:
        raise CommandError(str(error)) from error


def say(line: str) -> None:
    """Write a line of progress to stderr: stdout is for the answer alone."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def login() -> str:
    """The login of who runs this.

    Raises:
        UsageError: It has no name, as in a container that runs under any number.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError("your login has no name here: give one with --user") from error


def add_unit(command: argparse.ArgumentParser) -> None:
    """Declare the unit that a command is about."""
    command.add_argument("unit_id", help="id of a hit, as search shows it: its start is enough")
    command.add_argument("--variant", help="variant to use (default: the one that serves)")


def positive(text: str) -> int:
    """An option's value that must be a whole number from 1.

    Raises:
        ArgumentTypeError: It is not.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def day(text: str) -> date:
    """An option's value that must be a day.

    Raises:
        ArgumentTypeError: It is not.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day such as 2024-03-01") from None
