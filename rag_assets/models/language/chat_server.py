"""The server of a language model: what it is sent, and what each of its answers means.

`models.hosted` makes the requests, and makes them again, as for all servers.
"""

import time
from base64 import b64encode
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack

from rag_assets.config import LanguageModelSettings
from rag_assets.identity import canonical_json
from rag_assets.models.hosted import (
    Address,
    PassingError,
    Patience,
    RefusedRequestError,
    Server,
    ServerError,
    patiently,
)
from rag_assets.models.language.answers import (
    TokenUsage,
    chat_answer,
    chat_piece,
    context_of,
    judged,
    served_models,
    statement_of,
)
from rag_assets.models.language.calls import AttachedPicture, Completion, Message, Request
from rag_assets.models.language.kept_calls import Call
from rag_assets.models.language.spending import cost_of
from rag_assets.workers import Json

IN_WORDS = "Answer with JSON alone, which follows this JSON schema: "

COMPLETIONS, MODELS = "chat/completions", "models"
SECONDS_TO_STATE = 10.0
"""The most seconds that a server may take to say which model it serves."""
MODELS_SHOWN = 10
STREAMED: dict[str, Json] = {"stream": True, "stream_options": {"include_usage": True}}


class UnknownModelError(ServerError):
    """A server does not serve the model that the config names."""


class MalformedAnswerError(PassingError):
    """A server answers with what is no chat completion."""


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
        own = Patience(settings.seconds, settings.attempts)
        self._patience = own.at_most(patience) if patience else own
        host = settings.base_url.host if settings.base_url else "this machine"
        self._server = Server(
            f"the server of {settings.model or name} at {host}",
            address=address,
            url_key="base_url",
            key_variable=settings.key_variable,
            at_once=settings.concurrency,
        )

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
        seconds = self._patience.seconds
        ends = time.monotonic() + seconds
        body = body_of(call.request, self._settings) | STREAMED
        text, finish_reason, usage = "", None, TokenUsage()
        with ExitStack() as stack:
            answer = patiently(
                lambda: stack.enter_context(
                    self._server.answering(COMPLETIONS, body, seconds=seconds)
                ),
                patience=self._patience,
            )
            for line in self._server.in_time(answer.iter_lines(), ends=ends):
                try:
                    piece = chat_piece(line)
                except ValueError as error:
                    raise self._malformed(error) from None
                if piece is None:
                    continue
                if piece.is_last:
                    break
                usage = piece.usage or usage
                for choice in piece.choices[:1]:
                    finish_reason = choice.finish_reason or finish_reason
                    if content := choice.delta.content:
                        text += content
                        yield content
        if finish_reason is None:
            raise PassingError(f"{self._server.name} broke off in the middle of its answer")
        return self._completion(call, text, finish_reason, usage)

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
        model, name = self._settings.model, self._server.name
        try:
            served = served_models(self._server.ask(MODELS, patience=Patience(SECONDS_TO_STATE, 2)))
        except ValueError as error:
            raise ServerError(f"{name} lists no models: {error}") from None
        if model not in served:
            known = ", ".join([*served][:MODELS_SHOWN]) or "none"
            raise UnknownModelError(f"{name} does not know {model}; it serves {known}")
        return served[model]

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _attempt(self, call: Call) -> Completion:
        body = body_of(call.request, self._settings)
        found = self._server.read(COMPLETIONS, body, seconds=self._patience.seconds)
        try:
            answer = chat_answer(found)
        except ValueError as error:
            raise self._malformed(error) from None
        choice = answer.choices[0]
        finish_reason = "content_filter" if choice.message.refusal else choice.finish_reason
        usage = answer.usage or TokenUsage()
        return self._completion(call, choice.message.content or "", finish_reason, usage)

    def _malformed(self, error: ValueError) -> MalformedAnswerError:
        return MalformedAnswerError(
            f"{self._server.name} answers with what is no chat completion: {error}"
        )

    def _completion(
        self, call: Call, text: str, finish_reason: str | None, usage: TokenUsage
    ) -> Completion:
        worth = judged(text, finish_reason, schema=call.request.schema)
        return Completion(
            text,
            worth.parsed,
            worth.outcome,
            worth.reason,
            usage.prompt_tokens,
            usage.completion_tokens,
            cost=cost_of(
                self._settings.price,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
            ),
            is_answered=True,
        )


def failed(error: ServerError) -> Completion:
    """What came of a call that nothing arrived of."""
    if isinstance(error, RefusedRequestError):
        return Completion("", None, "too_long" if error.is_too_long else "refused", str(error))
    is_malformed = isinstance(error, MalformedAnswerError)
    return Completion("", None, "malformed" if is_malformed else "unavailable", str(error))


def body_of(request: Request, settings: LanguageModelSettings) -> dict[str, Json]:
    """What is sent to the model of `settings`."""
    kind = settings.structured_output
    is_told = request.schema is not None and kind != "json_schema"
    last = f"\n\n{IN_WORDS}{canonical_json(request.schema)}" if is_told else ""
    *before, end = request.messages
    body: dict[str, Json] = {
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


def _message(message: Message, *, more: str = "") -> dict[str, Json]:
    text = message.content + more
    if not message.pictures:
        return {"role": message.role, "content": text}
    shown = [{"type": "text", "text": text}, *map(_picture, message.pictures)]
    return {"role": message.role, "content": shown}


def _picture(picture: AttachedPicture) -> dict[str, Json]:
    data = b64encode(picture.data).decode("ascii")
    url = f"data:{picture.media_type};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url}}
