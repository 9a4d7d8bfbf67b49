"""Who asks: their name, what they may do, and the groups whose sources they may see."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

Scope: TypeAlias = Literal["read", "feedback", "label", "admin"]
"""What one may do: ask, search and read one's own answers; say what is right and wrong of them;
label; and all of it, with the answers of others."""
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sent a request."""

    name: str
    """Answers are kept by it: all keys of one name share a history."""
    scopes: frozenset[Scope]
    groups: frozenset[str] | None = frozenset()
    """The groups they are in; None: they see everything."""
    is_logged_in: bool = field(default=False, compare=False)
    """Whether they logged in on the page, and may log out again."""

    def may(self, scope: Scope) -> bool:
        """Whether they may do that; *admin* may do everything."""
        return bool(self.scopes & {scope, "admin"})


NOBODY = Caller("", frozenset())
"""Whoever gave no key."""
CALLER: ContextVar[Caller] = ContextVar("caller", default=NOBODY)
"""Who asks, for pages and tools that are made for them."""


def person_here(name: str) -> Caller:
    """The person at this machine: they see all that the command line shows them.

    Answers of others are kept under other names, and are not theirs.
    """
    return Caller(name, frozenset(SCOPES) - {"admin"}, groups=None)
