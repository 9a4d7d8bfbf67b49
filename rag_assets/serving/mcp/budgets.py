"""How much a reply holds, and where the next one begins.

A client pays for every token that it reads, and cuts what is too long wherever that falls. So the
server keeps each reply within a budget, and hands out the rest on request.
"""

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import BaseModel, Field

from rag_assets.identity import Canonical, fingerprint
from rag_assets.serving.replies import UsageError

if TYPE_CHECKING:
    from rag_assets.serving.http.opened import Opened

TOKENS = 8_000
FEWEST, MOST = 500, 20_000
CHARACTERS = 4
"""About so many characters are a token."""
ENVELOPE = 600
"""Characters of a reply that are kept for all but its entries: the cursor, counts, names."""
MaxTokens = Annotated[
    int, Field(ge=FEWEST, le=MOST, description="the most tokens of the reply; the rest by cursor")
]
CursorText = Annotated[
    str, Field(max_length=1_000, description="`next_cursor` of the reply before")
]
Entry = TypeVar("Entry", bound=BaseModel)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a reply begins: behind so many entries of one call on one index."""

    version: str
    """The version of the index, as it is told."""
    index: str
    """Fingerprint of what the index holds: it may change while nothing is promoted."""
    call: str
    """Fingerprint of the tool and its arguments."""
    offset: int = 0

    @classmethod
    def of(cls, given: str, opened: "Opened", *call: Canonical) -> "Cursor":
        """Where the reply to a call begins.

        Args:
            given: What the client gave: empty at first.
            opened: What answers.
            call: The tool and its arguments.

        Raises:
            UsageError: It is none, is of an older index, or belongs to another call.
        """
        joint = opened.index.complete_set.joint
        held = fingerprint(joint.table, joint.data_version)
        here = cls(opened.index_version, held, fingerprint(*call))
        if not given:
            return here
        try:
            there = cls(*json.loads(base64.urlsafe_b64decode(given.encode())))
            offset = int(there.offset)
        except (ValueError, TypeError) as error:
            raise UsageError("cursor: this server gave none like it: leave it out") from error
        if (there.version, there.index) != (here.version, here.index):
            raise UsageError(
                f"cursor: it is of an older index (version {there.version}), and version "
                f"{here.version} serves now: leave it out to begin anew"
            )
        if there.call != here.call:
            raise UsageError("cursor: it is of another call: give the same arguments with it")
        return replace(here, offset=max(offset, 0))

    def behind(self, taken: int, total: int) -> str | None:
        """The cursor behind the next `taken` entries, as clients get it; None behind the last."""
        if self.offset + taken >= total:
            return None
        values = [self.version, self.index, self.call, self.offset + taken]
        return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


def fitting(entries: Iterable[Entry], room: int) -> list[Entry]:
    """As many of the first `entries` as fit `room` characters.

    Raises:
        UsageError: Not even one does.
    """
    taken: list[Entry] = []
    for each in entries:
        room -= len(json_of(each)) + 1
        if room < 0 and not taken:
            raise UsageError(
                f"max_tokens: the next entry takes {-room // CHARACTERS + 1:,} tokens more: raise "
                f"it (at most {MOST:,}), or ask for fewer columns"
            )
        if room < 0:
            break
        taken.append(each)
    return taken


def page_of(
    items: Sequence[Item], make: Callable[[Item], Entry], at: Cursor, room: int
) -> tuple[list[Entry], str | None]:
    """The entries behind a cursor that fit `room` characters, and the cursor behind them."""
    taken = fitting(map(make, islice(items, at.offset, None)), room)
    return taken, at.behind(len(taken), len(items))


def room_of(max_tokens: int, *beside: BaseModel) -> int:
    """Characters that a reply of so many tokens has for entries, with `beside` in it."""
    return max_tokens * CHARACTERS - ENVELOPE - sum(len(json_of(each)) for each in beside)


def json_of(reply: BaseModel) -> str:
    """A reply as it is sent."""
    return reply.model_dump_json()


def head_of(text: str, room: int) -> str:
    """The beginning of `text` that takes at most so many characters as JSON."""
    part = text[: max(room, 1)]
    while (excess := len(json.dumps(part, ensure_ascii=False)) - room) > 0 and len(part) > 1:
        part = part[: -(excess // 2 + 1)]
    return part
