"""The server of a language model: the SDK of OpenAI, and what each of its errors means.

The SDK makes each request once; `models.hosted` makes it again as for all servers. The body of an
answer is read piece by piece, so that neither a server that sends byte after byte for ever nor one
that sends too many keeps anybody waiting. A redirection is not followed: it might lead elsewhere
what was meant for one server.
"""

import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, TypeVar, cast

from rag_assets.config import LanguageModelSettings
from rag_assets.models.hosted import (
    PassingError,
    Patience,
    RefusedRequestError,
    ServerError,
    error_of,
    patiently,
    unsigned,
    unusable_key,
)
from rag_assets.models.language.answers import chat_answer, context_of, judged, statement_of
from rag_assets.models.language.calls import Completion
from rag_assets.models.language.kept_calls import Call
from rag_assets.models.language.spending import cost_of
from rag_assets.process.http_client import hide_addresses, is_unsigned
from rag_assets.workers import Json, raise_if_abandoned

if TYPE_CHECKING:
    from openai import OpenAI, Stream
    from openai.types.chat import ChatCompletionChunk
from base64 import b64encode
from typing import Any

from rag_assets.identity import canonical_json
from rag_assets.models.language.calls import AttachedPicture, Message, Request

IN_WORDS = "Answer with JSON alone, which follows this JSON schema: "

Part = TypeVar("Part")

LARGEST_BODY = 64 * 2**20
"""The most bytes of an answer."""
SECONDS_TO_STATE = 10.0
"""The most seconds that a server may take to say which model it serves."""
MODELS_SHOWN = 10
NO_KEY = "none"
"""The SDK sends no request without a key; servers that need none ignore it."""


class UnreachableServerError(PassingError):
    """A server does not answer at all."""


class UnknownModelError(ServerError):
    """A server does not serve the model that the config names."""


class MalformedAnswerError(PassingError):
    """A server answers with what is no chat completion."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and the key that opens it."""

    url: str
    key: str


class ChatServer:
    """A server of a language model; safe to share between threads."""

    def __init__(
        self,
        name: str,
        settings: LanguageModelSettings,
        *,
        address: Callable[[], Address],
        patience: Patience | None = None,
    ) -> None:
        """Contact nobody yet; `address` gives the address, and starts the server if need be.

        `patience` shortens that of the settings.
        """
        self._settings = settings
        self._address = address
        own = Patience(settings.seconds, settings.attempts)
        self._patience = own.at_most(patience) if patience else own
        self._lock = Lock()
        self._opened: tuple[Address, OpenAI] | None = None
        host = settings.base_url.host if settings.base_url else "this machine"
        self._named = f"the server of {settings.model or name} at {host}"

    def ask(self, call: Call) -> Completion:
        """What the model answers.

        Raises:
            ServerError: Nothing that is an answer arrived.
        """
        return patiently(lambda: self._attempt(call), patience=self._patience)

    def stream(self, call: Call) -> Generator[str, None, Completion]:
        """The pieces of the answer; what came of it is returned. It is begun again, not gone on.

        Raises:
            ServerError: It does not begin, or breaks off.
        """
        ends = time.monotonic() + self._patience.seconds
        text, finish_reason, read, written = "", None, 0, 0
        with patiently(lambda: self._begun(call), patience=self._patience) as stream:
            chunks = self._in_time(stream, ends=ends)
            for chunk in chunks:
                if chunk.usage:
                    read, written = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
                for choice in chunk.choices[:1]:
                    finish_reason = choice.finish_reason or finish_reason
                    if piece := choice.delta.content:
                        text += piece
                        yield piece
        if finish_reason is None:
            raise PassingError(f"{self._named} broke off in the middle of its answer")
        return self._completion(call, text, finish_reason, read=read, written=written)

    def stated(self) -> str:
        """The identity of the model that the server says it serves.

        Raises:
            ServerError: It does not say.
        """
        return statement_of(self._settings.model, self._listed())

    def stated_context(self) -> int | None:
        """Tokens of context that the server says its model has; None if it does not say.

        Raises:
            UnknownModelError: It does not serve the model.
            ServerError: It does not say what it serves.
        """
        return context_of(self._listed())

    def _listed(self) -> Mapping[str, Json]:
        """What the server says of its model."""
        model = self._settings.model

        def ask() -> Mapping[str, Json]:
            with self._named_errors():
                listed = self._client().with_options(timeout=SECONDS_TO_STATE).models.list()
            served = {one.id: one.to_dict(mode="json") for one in listed.data}
            if model not in served:
                known = ", ".join([*served][:MODELS_SHOWN]) or "none"
                raise UnknownModelError(f"{self._named} does not know {model}; it serves {known}")
            return cast("Mapping[str, Json]", served[model])

        return patiently(ask, patience=Patience(SECONDS_TO_STATE, 2))

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._opened:
                self._opened[1].close()
            self._opened = None

    def _client(self) -> "OpenAI":
        """The SDK's client of where the server is now."""
        from openai import DefaultHttpxClient, OpenAI

        address = self._address()
        with self._lock:
            if self._opened and self._opened[0] == address:
                return self._opened[1]
            hide_addresses()
            client = OpenAI(
                base_url=address.url,
                api_key=address.key or NO_KEY,
                timeout=self._patience.seconds,
                max_retries=0,
                http_client=DefaultHttpxClient(follow_redirects=False),
            )
            self._opened = (address, client)
            return client

    def _attempt(self, call: Call) -> Completion:
        raise_if_abandoned()
        ends = time.monotonic() + self._patience.seconds
        with self._named_errors(), ExitStack() as stack:
            create = self._client().chat.completions.with_streaming_response.create
            response = stack.enter_context(create(**body_of(call.request, self._settings)))
            body = bytearray()
            for part in self._in_time(response.iter_bytes(), ends=ends):
                body += part
                if len(body) > LARGEST_BODY:
                    raise ServerError(f"{self._named} answers with over {LARGEST_BODY:,} bytes")
        try:
            answer = chat_answer(bytes(body))
        except ValueError as error:
            raise MalformedAnswerError(
                f"{self._named} answers with what is no chat completion: {error}"
            ) from None
        choice, usage = answer.choices[0], answer.usage
        return self._completion(
            call,
            choice.message.content or "",
            "content_filter" if choice.message.refusal else choice.finish_reason,
            read=usage.prompt_tokens if usage else 0,
            written=usage.completion_tokens if usage else 0,
        )

    def _begun(self, call: Call) -> "Stream[ChatCompletionChunk]":
        raise_if_abandoned()
        with self._named_errors():
            return self._client().chat.completions.create(
                **body_of(call.request, self._settings),
                stream=True,
                stream_options={"include_usage": True},
            )

    def _in_time(self, parts: Iterable[Part], *, ends: float) -> Iterator[Part]:
        """`parts`, all of which must come before `ends`: each read has a limit of its own."""
        with self._named_errors():
            for part in parts:
                raise_if_abandoned()
                if time.monotonic() > ends:
                    raise PassingError(f"{self._named} takes longer than the time limit")
                yield part

    def _completion(
        self, call: Call, text: str, finish_reason: str | None, *, read: int, written: int
    ) -> Completion:
        worth = judged(text, finish_reason, schema=call.request.schema)
        cost = cost_of(self._settings.price, prompt_tokens=read, completion_tokens=written)
        return Completion(
            text,
            worth.parsed,
            worth.outcome,
            worth.reason,
            read,
            written,
            cost=cost,
            is_answered=True,
        )

    @contextmanager
    def _named_errors(self) -> Generator[None]:
        """Turn what the SDK and its HTTP client raise into errors of a server."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            response = error.response
            raise error_of(
                error.status_code,
                response.text,
                response.headers,
                server=self._named,
                address="base_url",
                key_variable=self._settings.key_variable,
            ) from None
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            reason = f"{self._named} does not answer ({type(error).__name__})"
            if is_unsigned(error):
                raise unsigned(reason) from None
            raise UnreachableServerError(reason) from None
        except UnicodeEncodeError:
            raise unusable_key(self._settings.key_variable) from None
        except (openai.APIError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise MalformedAnswerError(
                f"{self._named} answers with what is no chat completion ({type(error).__name__})"
            ) from None


def failed(error: ServerError) -> Completion:
    """What came of a call that nothing arrived of."""
    if isinstance(error, RefusedRequestError):
        return Completion("", None, "too_long" if error.is_too_long else "refused", str(error))
    is_malformed = isinstance(error, MalformedAnswerError)
    return Completion("", None, "malformed" if is_malformed else "unavailable", str(error))


def body_of(request: Request, settings: LanguageModelSettings) -> dict[str, Any]:
    """What is sent to the model of `settings`."""
    kind = settings.structured_output
    is_told = request.schema is not None and kind != "json_schema"
    last = f"\n\n{IN_WORDS}{canonical_json(request.schema)}" if is_told else ""
    *before, end = request.messages
    body: dict[str, object] = {
        "model": settings.model,
        "messages": [*map(_message, before), _message(end, more=last)],
        "max_tokens": min(request.max_tokens, settings.output_tokens),
        "temperature": settings.temperature,
    }
    if settings.seed is not None:
        body["seed"] = settings.seed
    if request.schema is not None and kind == "json_schema":
        wanted = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    elif request.schema is not None and kind == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def _message(message: Message, *, more: str = "") -> dict[str, object]:
    text = message.content + more
    if not message.pictures:
        return {"role": message.role, "content": text}
    shown = [{"type": "text", "text": text}, *map(_picture, message.pictures)]
    return {"role": message.role, "content": shown}


def _picture(picture: AttachedPicture) -> dict[str, object]:
    data = b64encode(picture.data).decode("ascii")
    url = f"data:{picture.media_type};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url}}
