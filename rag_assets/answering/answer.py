"""An answer: computed from a table, written by a model, or only found; or nothing was found.

`to_json` and `from_json` are the form in which answers are kept, sent and read: see
docs/answering.md, which describes `FORMAT`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from pydantic import JsonValue, TypeAdapter

from rag_assets.citations import versioned_json
from rag_assets.citations.kinds import Citation
from rag_assets.citations.sentences import Sentence
from rag_assets.process.errors import RequestError

FORMAT = "rag_assets/answer/2"
"""Moves when a reader of the JSON has to read it in another way."""

Outcome: TypeAlias = Literal["computed", "written", "found", "nothing"]
"""`computed`: a lookup ran on a table. `written`: a language model wrote it. `found`: what fits the
question best, which is no answer. `nothing`: a named thing is not there, or nothing was found."""


class AnswerFormatError(RequestError):
    """A text is not an answer in the format that is read here; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A unit that was retrieved for an answer, as it was then."""

    unit_id: str
    text_hash: str
    rank: int
    """The place among the units, from 1."""
    score: float
    domain: str
    uri: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What was searched."""

    variant: str
    retriever: str
    filters: Mapping[str, JsonValue]
    """The filters that were set, by their name; empty: all of the index."""
    units: int
    """Units that the search ranked."""


@dataclass(frozen=True, slots=True)
class Generation:
    """How a language model came to an answer."""

    model: str
    """The name of the model in the config."""
    identity: str
    """The identity of the model, as its server states it."""
    prompts: Mapping[str, str]
    """SHA-256 of each prompt that it was asked by."""
    calls: int
    """Answers of the model that were read, kept ones included."""
    kept_calls: int
    """Answers that were kept before: nothing was sent for them, and no token is counted below."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """The cost by the prices of the config; None without them."""
    asked_again: bool
    """Whether what is delivered was written after faults were named."""
    further_queries: tuple[str, ...]
    """What was searched for after the first answer."""
    is_written: bool = True
    """Whether an answer of the model could be read; if not, the reason says why."""
    may_pass: bool = False
    """Whether a call failed in a way that may pass: asked again, the answer may be another."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What `ask` returns."""

    question: str
    outcome: Outcome
    sentences: tuple[Sentence, ...]
    """The sentences in reading order; the passages of a `found` answer; none where nothing was
    found."""
    scope: Scope
    shown: tuple[Shown, ...] = ()
    """The units that were retrieved, best first."""
    read_as: str = ""
    """The question with what it took from the conversation before it; empty where it took
    nothing."""
    planned_as: str = ""
    """How a language model read a question to a table, in words; empty where the rules did."""
    reason: str = ""
    """Why there is no answer, or what stands in its way, in one sentence; else empty."""
    missing: tuple[str, ...] = ()
    """Names of the question that what is shown does not hold; the reason says so."""
    readings: tuple[str, ...] = ()
    """How the question could be read, where two ways differ and none was chosen; of `nothing`, the
    nearest names that there are."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each stage."""
    generation: Generation | None = None
    """How a language model was asked, whether or not its answer is delivered; None where none
    was."""

    @property
    def citations(self) -> Iterator[Citation]:
        """All citations, sentence after sentence."""
        return (citation for sentence in self.sentences for citation in sentence.citations)


def to_json(answer: Answer) -> dict[str, JsonValue]:
    """`answer` as a JSON object of the format `FORMAT`."""
    return versioned_json.written(answer, _adapter(), format_name=FORMAT)


def from_json(record: Mapping[str, object]) -> Answer:
    """The answer that `to_json` wrote.

    Raises:
        AnswerFormatError: It is of another format, or a part of it is missing or wrong.
    """
    return versioned_json.read(record, _adapter(), format_name=FORMAT, error=AnswerFormatError)


@cache
def _adapter() -> TypeAdapter[Answer]:
    return TypeAdapter(Answer)
