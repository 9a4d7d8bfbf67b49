"""What all commands share: replies, errors and exit codes."""

import argparse
import getpass
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import WithJsonSchema
from typing_extensions import TypeAliasType

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.process.errors import ExplainedError
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

ANY = WithJsonSchema({})
"""Generators of clients know no schema that holds itself."""
Json = TypeAliasType(
    "Json",
    "Annotated[str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None, ANY]",
)

STDIN = "-"
"""Stands for stdin in the place of a file or a text."""
OK, FAILED, USAGE, PARTLY, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: see docs/faults.md."""


class CommandError(ExplainedError):
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


def project_of(options: argparse.Namespace) -> tuple[Config, Store]:
    """The config of a command, and its state.

    Raises:
        ConfigError: It cannot be used, or has no such variant as `options` name.
    """
    config = configuration.load()
    if variant := getattr(options, "variant", None):
        config.variant(variant)
    return config, Store.of(config)


def megabytes(size: int) -> str:
    """Bytes, as people read them."""
    return f"{size / 1_000_000:,.1f} MB"


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


def add_variant(command: argparse.ArgumentParser, what: str = "variant to use") -> None:
    """Declare the variant that a command is about."""
    command.add_argument("--variant", help=f"{what} (default: the one that serves)")


def read_text(file: str | Path) -> str:
    """The text of a file; of stdin where it is called `-`.

    Raises:
        CommandError: It cannot be read, or is not valid UTF-8.
    """
    try:
        return sys.stdin.read() if str(file) == STDIN else Path(file).read_text("utf-8")
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{file} is not valid UTF-8: save it as UTF-8") from error


def require_answers(what: str) -> None:
    """Refuse to ask where nobody can answer.

    Raises:
        UsageError: There is no terminal; `what` asks.
    """
    if not sys.stdin.isatty():
        raise UsageError(
            f"{what} asks before it erases, but there is no terminal to ask on: add --yes"
        )


def agrees(question: str) -> bool:
    """Whether the person at the terminal says yes."""
    say(f"{question} It cannot be undone. [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def write_file(file: Path, content: str | bytes) -> None:
    """Write what a person asked for into a file, which is replaced if it is there.

    Raises:
        CommandError: It cannot be written.
    """
    try:
        write_atomically(file, content)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror or error}") from error


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
