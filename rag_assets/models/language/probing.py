"""Does a configured language model work? Its server is asked as a run would, with tiny questions.

No text of a source is sent, nothing is kept, and no budget is touched.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.config import LanguageModelSettings
from rag_assets.models.hosted import RefusedKeyError, ServerError, UnreachableServerError
from rag_assets.models.language.calls import Message, Request
from rag_assets.models.language.chat_server import ChatServer, UnknownModelError
from rag_assets.models.language.kept_calls import Call
from rag_assets.models.language.opening import address_of
from rag_assets.workers import Json

ATTEMPTS = 2
QUESTION = "Is water wet? Answer yes or no."
ANSWER_TOKENS = 256
"""Enough for models that think before they answer."""
SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}

ProbeFault: TypeAlias = Literal["unreachable", "key", "unknown", "answer", "structure", "context"]
"""What a probe finds wrong: the server does not answer, does not take the key, or does not know the
model; the model does not answer, does not follow a schema, or takes less than the config says."""


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """Something that is wrong with a language model."""

    fault: ProbeFault
    detail: str
    """What the server said; the key never stands in it."""
    remedy: str
    """What to do about it."""


def probe(name: str, settings: LanguageModelSettings) -> list[ProbeFinding]:
    """What is wrong with the entry `name` of `language_models`, which has a server.

    A server that does not list its models is asked all the same.
    """
    brief = settings.model_copy(update={"attempts": min(ATTEMPTS, settings.attempts)})
    server = ChatServer(name, brief, address=lambda: address_of(settings))
    try:
        return list(_findings(server, settings, key=f"language_models.{name}"))
    finally:
        server.close()


def _findings(
    server: ChatServer, settings: LanguageModelSettings, *, key: str
) -> Iterator[ProbeFinding]:
    context = None
    try:
        context = server.stated_context()
    except (UnreachableServerError, RefusedKeyError, UnknownModelError) as error:
        yield _of_server(error, settings, key=key)
        return
    except ServerError:
        pass  # it lists no models
    if context is not None and context < settings.context_tokens:
        detail = f"{settings.context_tokens:,} in the config, {context:,} by the server"
        yield ProbeFinding("context", detail, f"set {key}.context_tokens: {context}")
    try:
        found = server.ask(_call(None))
    except ServerError as error:
        yield _of_server(error, settings, key=key)
        return
    if found.outcome not in {"done", "cut"}:
        yield ProbeFinding("answer", found.reason, _look_at(settings))
        return
    if detail := _unstructured(server):
        yield ProbeFinding("structure", detail, _otherwise_told(settings, key=key))


def _unstructured(server: ChatServer) -> str:
    """Why an answer by a schema is of no use; empty if it is."""
    try:
        return server.ask(_call(SCHEMA)).reason
    except ServerError as error:
        return str(error)


def _call(schema: Mapping[str, Json] | None) -> Call:
    request = Request((Message("user", QUESTION),), ANSWER_TOKENS, schema)
    return Call("", request, {})


def _of_server(error: ServerError, settings: LanguageModelSettings, *, key: str) -> ProbeFinding:
    match error:
        case UnreachableServerError():
            remedy = f"start the server, or correct {key}.base_url"
            return ProbeFinding("unreachable", str(error), remedy)
        case RefusedKeyError():
            remedy = f"put its key into the environment variable {settings.key_variable}"
            return ProbeFinding("key", str(error), remedy)
        case UnknownModelError():
            return ProbeFinding("unknown", str(error), f"correct {key}.model")
    return ProbeFinding("answer", str(error), _look_at(settings))


def _look_at(settings: LanguageModelSettings) -> str:
    return f"look into the log of the server, and whether it serves {settings.model} for chats"


def _otherwise_told(settings: LanguageModelSettings, *, key: str) -> str:
    others = {"json_schema": "json_object or none", "json_object": "json_schema or none"}
    if other := others.get(settings.structured_output):
        return f"set {key}.structured_output: {other}"
    return f"set {key}.structured_output: json_schema if the server has it, or name another model"
