"""The client of a server of a language model: how it is asked, and what becomes of each fault.

What a server does not answer is asked again as `models.hosted` does for all servers. Whatever
happens, there is a `Completion` that says so; nothing is raised for what a server or a model did.
A source that the model may not see stops a request before anything is sent.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Self

from rag_assets.config import LanguageModelSettings
from rag_assets.identity import canonical_json
from rag_assets.models.hosted import Address, Patience, ServerError, asked_side_by_side
from rag_assets.models.language import kept_calls
from rag_assets.models.language.calls import Completion, Request
from rag_assets.models.language.chat_server import ChatServer, failed
from rag_assets.models.language.kept_calls import Call, CallsFile
from rag_assets.models.language.spending import Budget, spending_of

if TYPE_CHECKING:
    from rag_assets.workers import Json

CHARACTERS_PER_TOKEN = 8
"""More characters for a token than any text of words has: what exceeds the context even so is not
sent, as some servers would cut it without a word."""
TOKENS_PER_PICTURE = 16_384
"""More tokens than servers count for a picture: by this, calls that run side by side keep to a
budget."""


class StreamedCompletion:
    """The pieces of an answer as they arrive; closing it ends the request."""

    def __init__(self, pieces: Callable[["StreamedCompletion"], Generator[str]]) -> None:
        self.completion: Completion | None = None
        """What came of the call; None until the last piece, or if it was closed before."""
        self._pieces = pieces(self)

    def __iter__(self) -> Iterator[str]:
        """The pieces of the text."""
        return self._pieces

    def close(self) -> None:
        """Ask for no more; the connection is closed, which ends the work of most servers."""
        self._pieces.close()


class LanguageModelClient:
    """A language model behind a server, and what it was asked before.

    It is safe to share between threads.
    """

    def __init__(
        self,
        name: str,
        settings: LanguageModelSettings,
        *,
        address: Callable[[], Address],
        identity: str = "",
        file: CallsFile,
        patience: Patience | None = None,
    ) -> None:
        """Contact nobody yet.

        Args:
            name: The name of the entry in the config.
            settings: The entry itself.
            address: Gives the address of the server, and starts it if need be.
            identity: The identity of the model, if it is known without asking the server.
            file: The file of kept calls.
            patience: How long to wait for an answer, if that is less than the entry says.
        """
        self.name = name
        self.settings = settings
        self.context_tokens = settings.context_tokens
        self.spending = spending_of(name, settings.price.currency if settings.price else "")
        """What the calls of this run used."""
        self._server = ChatServer(name, settings, address=address, patience=patience)
        self._identity = identity
        self._file = file
        self._purges = file.purges
        self._budget = Budget(settings.budget, self.spending, settings.price)
        self._free = BoundedSemaphore(settings.concurrency)
        self._lock = Lock()

    @property
    def identity(self) -> str:
        """The model as the server states it, or last stated it if it does not answer."""
        with self._lock:
            if not self._identity:
                self._identity = self._stated()
            return self._identity

    def _stated(self) -> str:
        of_server = {"server": str(self.settings.base_url), "model": self.settings.model}
        try:
            stated = self._server.stated()
        except ServerError:
            known = kept_calls.last_identity(self._file, **of_server)
            return known or f"{self.settings.model} at {self.settings.base_url}"
        kept_calls.keep_identity(self._file, **of_server, identity=stated)
        return stated

    def reading_since(self, purges: int) -> Self:
        """This model, for texts that are read from now on: see `kept_calls.keep`."""
        same = copy(self)
        same._purges = purges
        return same

    def may_see(self, sources: Iterable[str]) -> bool:
        """Whether text of all these sources may be sent to it."""
        return not self._forbidden(sources)

    def call_id(self, request: Request) -> str:
        """What the answer to `request` depends on, as a hash; while it stays, so does the answer.

        The server is asked which model it is, unless that is known.
        """
        return self._call(request).call_id

    def complete(self, request: Request, *, retry: bool = False) -> Completion:
        """The answer to `request`, whatever becomes of it.

        Args:
            request: What is asked.
            retry: Also ask again what was answered before, and is of no use.

        Raises:
            AbandonedError: Nobody waits for the task: see `workers.raise_if_abandoned`.
        """
        if (unsent := self._unsent(request)) is not None:
            return self._counted(unsent)
        call = self._call(request)
        known = kept_calls.find(self._file, call)
        if known is not None and (known.outcome == "done" or not retry):
            return self._counted(known)
        with self._allowed(request) as over:
            if over:
                return self._counted(Completion("", None, "over_budget", over))
            return self._sent(call, self._asked(call))

    def complete_all(self, requests: Sequence[Request]) -> list[Completion]:
        """The answers in the order of the requests; equal ones are asked once.

        Raises:
            AbandonedError: As `complete`.
        """
        places = [
            canonical_json(
                [
                    kept_calls.messages_of(request),
                    request.max_tokens,
                    request.schema,
                    sorted(request.sources),
                ]
            )
            for request in requests
        ]
        once = dict(zip(places, requests, strict=True))
        answers = asked_side_by_side(
            self.complete, list(once.values()), at_once=self.settings.concurrency
        )
        found = dict(zip(once, answers, strict=True))
        return [found[place] for place in places]

    def stream(self, request: Request) -> StreamedCompletion:
        """The answer to `request`, piece by piece; once a piece arrived it is not asked again."""

        def pieces(stream: StreamedCompletion) -> Generator[str]:
            known = self._unsent(request)
            call = None if known else self._call(request)
            known = known or (kept_calls.find(self._file, call) if call else None)
            if known is not None or call is None:
                stream.completion = known and self._counted(known)
                if known and known.outcome == "done":
                    yield known.text
                return
            with self._allowed(request) as over:
                if over:
                    stream.completion = self._counted(Completion("", None, "over_budget", over))
                    return
                stream.completion = self._sent(call, (yield from self._streamed(call)))

        return StreamedCompletion(pieces)

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _forbidden(self, sources: Iterable[str]) -> list[str]:
        allowed = self.settings.allowed_sources
        return [] if allowed is None else sorted(set(sources) - allowed)

    def _unsent(self, request: Request) -> Completion | None:
        """Why a request must not be sent; None if it may."""
        if forbidden := self._forbidden(request.sources):
            reason = (
                f"the language model {self.name} may not see the source {', '.join(forbidden)}: "
                f"name it in language_models.{self.name}.sources if its text may be sent there"
            )
            return Completion("", None, "not_allowed", reason)
        least = self._characters(request) // CHARACTERS_PER_TOKEN
        if least + self._most_tokens(request) > self.context_tokens:
            reason = (
                f"{self._characters(request):,} characters and an answer do not fit into "
                f"{self.context_tokens:,} tokens of context"
            )
            return Completion("", None, "too_long", reason)
        return None

    @contextmanager
    def _allowed(self, request: Request) -> Generator[str]:
        """A free place among the requests that run; yields which limit of the budget is reached."""
        most = {
            "prompt_tokens": self._characters(request) + _picture_tokens(request),
            "completion_tokens": self._most_tokens(request),
        }
        with self._free, self._budget.call(**most) as over:
            yield over

    def _characters(self, request: Request) -> int:
        return sum(len(message.content) for message in request.messages)

    def _most_tokens(self, request: Request) -> int:
        return min(request.max_tokens, self.settings.output_tokens)

    def _call(self, request: Request) -> Call:
        parameters: dict[str, Json] = {
            "max_tokens": self._most_tokens(request),
            "temperature": self.settings.temperature,
            "structured_output": self.settings.structured_output,
            "schema": request.schema,
        }
        if self.settings.seed is not None:
            parameters["seed"] = self.settings.seed
        return Call(self.identity, request, parameters)

    def _counted(self, completion: Completion, *, was_sent: bool = False) -> Completion:
        self.spending.add(completion, was_sent=was_sent)
        return completion

    def _sent(self, call: Call, completion: Completion) -> Completion:
        if completion.is_answered:
            kept_calls.keep(self._file, call, completion, purges=self._purges)
        return self._counted(completion, was_sent=True)

    def _asked(self, call: Call) -> Completion:
        started = time.monotonic()
        try:
            found = self._server.ask(call)
        except ServerError as error:
            found = failed(error)
        return _timed(found, started)

    def _streamed(self, call: Call) -> Generator[str, None, Completion]:
        """The pieces of an answer; what came of the call is returned, as by `_asked`."""
        started = time.monotonic()
        arrived: list[str] = []
        pieces = self._server.stream(call)
        try:
            while True:
                arrived.append(next(pieces))
                yield arrived[-1]
        except StopIteration as ended:
            found = ended.value
        except ServerError as error:
            found = replace(failed(error), text="".join(arrived))
        finally:
            pieces.close()
        return _timed(found, started)


def _picture_tokens(request: Request) -> int:
    return TOKENS_PER_PICTURE * sum(len(message.pictures) for message in request.messages)


def _timed(completion: Completion, started: float) -> Completion:
    return replace(completion, milliseconds=round((time.monotonic() - started) * 1_000, 1))
