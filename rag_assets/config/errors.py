"""Errors of the config, and how passwords are hidden in messages."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from types import TracebackType

from rag_assets.process.errors import ExplainedError

_PARAMETER = re.compile(
    r"((?:[?&;]|%3b|odbc_connect=)(?:ssl)?(?:password|passwd|pwd)(?:=|%3d)).*?(?=[&;\s'\"]|%3b|$)",
    re.IGNORECASE,
)


class ConfigError(ExplainedError):
    """The config cannot be used; the message names file and key, and says what to do."""


class Problems:
    """Several checks of a section, of which all problems are told: `with problems: check(...)`."""

    def __init__(self) -> None:
        self._told: list[str] = []

    def __enter__(self) -> None:
        """A `ValueError` of the block is kept."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        if isinstance(error, ValueError):
            self._told.append(str(error))
        return isinstance(error, ValueError)

    def tell(self) -> None:
        """Tell all that was kept, a line each.

        Raises:
            ValueError: Something was kept.
        """
        if self._told:
            raise ValueError("\n".join(self._told))


def nearest(given: object, known: Iterable[str]) -> str | None:
    """What of `known` looks most like `given`; None if nothing does."""
    return next(iter(get_close_matches(str(given), list(known), n=1)), None)


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """The end of a message that proposes what of `known` was meant; empty if nothing looks so."""
    meant = nearest(given, known)
    return f"; did you mean {meant}?" if meant else ""


def redacted(text: str, by: str = "***") -> str:
    """`text` with the password of every URL in it replaced by asterisks, or by what is given.

    So are passwords among the parameters of a URL (`password`, `passwd`, `pwd`), also inside a
    percent-encoded connection string (`odbc_connect`).
    """
    text = re.sub(r"(://[^:/@\s]*):\S*@", rf"\1:{by}@", text)
    return _PARAMETER.sub(rf"\1{by}", text)
