"""What was said before a question, as far as it is remembered, and a question that needs none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

REMEMBERED_TOKENS = 4_000
"""The tokens of a conversation that are remembered, as in P1, section 3."""
BYTES_PER_TOKEN = 3
"""An estimate on the safe side, as no model's tokenizer is asked."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and what was answered."""

    question: str
    """The question as it was asked."""
    answer: str = ""
    """The answer in words; empty where there was none."""
    sources: frozenset[str] | None = None
    """Names of the sources whose text may stand in it; None where nobody knows."""

    @property
    def tokens(self) -> int:
        """An estimate of the tokens of both."""
        return 2 + tokens_in(self.question + self.answer)


def tokens_in(text: str) -> int:
    """An estimate of the tokens of `text`."""
    return len(text.encode(errors="replace")) // BYTES_PER_TOKEN


def remembered(turns: Sequence[Turn], *, most_tokens: int = REMEMBERED_TOKENS) -> tuple[Turn, ...]:
    """The newest of `turns` that fit into `most_tokens`, the oldest of them first."""
    return tuple(reversed([*_newest(turns, most_tokens)]))


def _newest(turns: Sequence[Turn], left: int) -> Iterator[Turn]:
    for turn in reversed(turns):
        left -= turn.tokens
        if left < 0:
            return
        yield turn


@dataclass(frozen=True, slots=True)
class Condensed:
    """A question that needs no history."""

    question: str
    """The whole question, which is searched and looked up."""
    is_follow_up: bool
    """Whether anything was carried over."""
    note: str = ""
    """Why the rules made it although a language model was asked; else empty."""
