"""What a language model is asked, and what comes of it: a failure is a value, not an exception."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self, TypeAlias

from rag_assets.workers import Json

Role: TypeAlias = Literal["system", "user", "assistant"]

Outcome: TypeAlias = Literal[
    "done",
    "cut",
    "empty",
    "malformed",
    "refused",
    "unavailable",
    "too_long",
    "over_budget",
    "not_allowed",
]
"""What came of a call; only what is `done` may be used.

- `cut`: the answer reached its limit of tokens; `empty`: it holds no text.
- `malformed`: it is not what was asked for, such as JSON that does not follow the schema.
- `refused`: the server or the model will not answer this.
- `unavailable`: the server did not answer, at each attempt, or refuses the key.
- `too_long`: the messages do not fit into the model's context.
- `over_budget`, `not_allowed`: nothing was sent, because the budget is spent, or because the model
  may not see a source of which text stands in the messages.
"""


@dataclass(frozen=True, slots=True)
class AttachedPicture:
    """A picture that a message shows."""

    media_type: str
    """The media type of the picture, such as image/png."""
    data: bytes = field(repr=False)
    """The bytes of the picture's file."""

    @property
    def hash(self) -> str:
        """SHA-256 of the bytes, which stands for them among kept calls."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Message:
    """A part of a conversation."""

    role: Role
    content: str
    pictures: tuple[AttachedPicture, ...] = ()
    """Shown after the text, to models that see."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked; temperature and seed come from its entry in the config."""

    messages: tuple[Message, ...]
    max_tokens: int
    """Longest answer; the `output_tokens` of the model, if they are fewer."""
    schema: Mapping[str, Json] | None = None
    """JSON schema of the answer; None asks for text."""
    sources: frozenset[str] = frozenset()
    """Names of the sources whose text stands in the messages."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What came of a call."""

    text: str
    """The whole answer, or the part that arrived: see `outcome`."""
    parsed: Json | None
    """The answer by its schema; None unless it is `done` and had one."""
    outcome: Outcome
    reason: str = ""
    """Why it is not `done`, in words."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    milliseconds: float = 0.0
    """Until the whole answer was there, waiting for the next attempt included; as it was when the
    call was made, if it was kept."""
    cost: float | None = None
    """The cost by the prices of the config; None without them. A kept answer has cost nothing
    again."""
    is_kept: bool = False
    """Whether the answer came from the file of kept calls, and nothing was sent."""
    is_answered: bool = False
    """Whether the model answered, whatever that is worth: asked again, it would say the same."""


class LanguageModel(Protocol):
    """Whoever answers requests; safe to share between threads."""

    @property
    def name(self) -> str:
        """The name of the model in the config."""
        ...

    @property
    def identity(self) -> str:
        """The identity of the model, as the server states it."""
        ...

    @property
    def context_tokens(self) -> int:
        """Tokens of messages and answer together, at most."""
        ...

    def complete(self, request: Request) -> Completion:
        """The answer to one request."""
        ...

    def complete_all(self, requests: Sequence[Request]) -> list[Completion]:
        """The answers in the order of the requests, several of which are made at once."""
        ...

    def may_see(self, sources: Iterable[str]) -> bool:
        """Whether text of all these sources may be sent to it."""
        ...

    def reading_since(self, purges: int) -> Self:
        """This model, for texts read when the state had had so many `store.purges`."""
        ...
