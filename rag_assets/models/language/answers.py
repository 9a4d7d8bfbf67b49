"""What a server's JSON says.

Of an answer: the text, how it ended, and whether it follows the schema. Of a model: which one it
is, and how much it takes.
"""

import json
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from rag_assets.identity import canonical_json
from rag_assets.models.language.calls import Outcome
from rag_assets.workers import Json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
"""JSON as a model writes it that is told to in words alone."""
LAST = "[DONE]"
"""What ends a stream."""
SHOWN = 200
"""A reason shows at most so many characters of a fault."""
STATED = ("root", "owned_by", "parent", "meta", "digest", "revision")
"""What servers say of a model besides its name that stays the same from start to start."""
CONTEXT = ("max_model_len", "context_length", "max_context_length", "n_ctx", "n_ctx_train")
"""How servers call the tokens that a model takes: vLLM, hosted ones, LM Studio, llama.cpp."""


class AnswerMessage(BaseModel):
    """The message of an answer."""

    content: str | None = None
    refusal: str | None = None


class AnswerChoice(BaseModel):
    """One answer; only one is asked for."""

    message: AnswerMessage
    finish_reason: str | None = None


class TokenUsage(BaseModel):
    """Tokens that were read and written."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatAnswer(BaseModel):
    """The part of a chat completion that is read."""

    choices: list[AnswerChoice]
    usage: TokenUsage | None = None


class AnswerDelta(BaseModel):
    """What a piece of an answer adds to its text."""

    content: str | None = None


class PieceChoice(BaseModel):
    """A piece of one answer."""

    delta: AnswerDelta = AnswerDelta()
    finish_reason: str | None = None


class ChatPiece(BaseModel):
    """The part of a piece of a streamed chat completion that is read."""

    choices: list[PieceChoice] = []
    usage: TokenUsage | None = None
    is_last: bool = False
    """Whether nothing comes after it; it says no more than that."""


class _ServedModels(BaseModel):
    data: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What an answer is worth."""

    outcome: Outcome
    reason: str = ""
    parsed: Json | None = None


def chat_answer(body: bytes) -> ChatAnswer:
    """A chat completion with one answer at least.

    Raises:
        ValueError: The body is none.
    """
    with _as_value_error():
        answer = ChatAnswer.model_validate_json(body)
    if not answer.choices:
        raise ValueError("it holds no choices")
    return answer


def chat_piece(line: str) -> ChatPiece | None:
    """The piece in a line of an event stream; None if the line holds none.

    Raises:
        ValueError: It holds something else.
    """
    field, _, data = line.partition(":")
    if field != "data":
        return None
    if data.strip() == LAST:
        return ChatPiece(is_last=True)
    with _as_value_error():
        return ChatPiece.model_validate_json(data)


def served_models(answer: object) -> Mapping[str, Mapping[str, Json]]:
    """What a server says of each of its models, by their names.

    Raises:
        ValueError: The answer is no list of models.
    """
    with _as_value_error():
        return {str(one.get("id")): one for one in _ServedModels.model_validate(answer).data}


@contextmanager
def _as_value_error() -> Generator[None]:
    """Say of an answer of another shape what is wrong with it, and show nothing of it."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(first["msg"][:SHOWN]) from None


def judged(text: str, finish_reason: str | None, *, schema: Mapping[str, Json] | None) -> Judged:
    """What an answer that arrived in whole is worth; only one that ended by itself is parsed."""
    if finish_reason == "length":
        return Judged("cut", "the answer reached its limit of tokens")
    if finish_reason == "content_filter":
        return Judged("refused", "a filter of the server held the answer back")
    if finish_reason != "stop":
        return Judged("malformed", f"the answer ended by {finish_reason or 'nothing'}, not by stop")
    if not text.strip():
        return Judged("empty", "the answer holds no text")
    return Judged("done") if schema is None else _by_schema(text, schema)


def statement_of(model: str, said: Mapping[str, Json]) -> str:
    """A name of the model, by what its server says of it."""
    more = {key: said[key] for key in STATED if said.get(key)}
    return f"{model} {canonical_json(more)}" if more else model


def context_of(said: Mapping[str, Json]) -> int | None:
    """Tokens of context that a server says its model has; None if it does not say."""
    meta = said.get("meta")
    places = [said, meta] if isinstance(meta, Mapping) else [said]
    told = [place.get(name) for place in places for name in CONTEXT]
    return min((size for size in told if isinstance(size, int) and size > 0), default=None)


def _by_schema(text: str, schema: Mapping[str, Json]) -> Judged:
    fenced = FENCED.match(text)
    try:
        parsed: Json = json.loads(fenced[1] if fenced else text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        return Judged("malformed", f"the answer is no JSON: {str(error)[:SHOWN]}")
    fault = next(iter(_validator(schema).iter_errors(parsed)), None)
    if fault is not None:
        place = ".".join(map(str, fault.absolute_path)) or "the whole"
        return Judged("malformed", f"{place} does not follow the schema ({fault.validator})")
    return Judged("done", parsed=parsed)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object, in which each name stands once: of two values none is meant more."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _validator(schema: Mapping[str, Json]) -> "Validator":
    from jsonschema import Draft202012Validator

    return Draft202012Validator(dict(schema))
