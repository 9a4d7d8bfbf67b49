"""A server that computes a model: requests, which are made again while that can help.

A server that is busy, restarts or loses the connection is asked again after a growing pause, or
after the one that it asks for (`Retry-After`). What it refuses for another reason is refused at
once. Its key is read from the environment with each request, and stands in no message. An answer
is read piece by piece, so that neither a server that sends byte after byte for ever nor one that
sends too many keeps anybody waiting. A redirection is not followed: it might lead elsewhere what
was meant for one server.
"""

import json
import logging
import os
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

from rag_assets.config import Endpoint
from rag_assets.process.http_client import (
    AUTHORITIES,
    http_client,
    is_unsigned,
    user_of_host,
)
from rag_assets.workers import Json, raise_if_abandoned

if TYPE_CHECKING:
    import httpx2
    from tenacity import RetryCallState

Body: TypeAlias = Mapping[str, Json]
Item = TypeVar("Item")
Answer = TypeVar("Answer")

TRANSIENT = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 that a later attempt may avoid."""
TOO_LARGE = 413
OF_INPUT = frozenset({400, TOO_LARGE, 422, 424})
"""HTTP statuses by which a server refuses what it was sent, rather than whoever sent it."""
TOO_LONG = re.compile(r"token|length|too (long|large|big)|context|exceed", re.IGNORECASE)
"""How servers say that a text exceeds their model's window."""
TOO_LARGE_TO_COMPUTE = re.compile(
    r"\b(input|text|prompt)\b.{0,40}\btoo (long|large)", re.IGNORECASE
)
"""How servers say so that call it a failure of their own, with status 500 (llama.cpp)."""
FIRST_PAUSE = 0.5
"""The longest first pause before another attempt, in seconds; each further one may be twice as
long."""
LONGEST_PAUSE = 60.0
SLICE = 0.2
"""Seconds between two looks whether anybody still waits for the answer."""
SHOWN = 300
"""An error shows at most so many characters of an answer."""
LARGEST_BODY = 256 * 2**20
"""The most bytes of an answer."""
LARGEST_ERROR = 2**16
"""So many bytes of an answer that tells an error are read."""

logger = logging.getLogger(__name__)


class ServerError(Exception):
    """A server gives no answer that can be used; the message says which, and why."""


class RefusedRequestError(ServerError, ValueError):
    """A server refuses what it was sent: it may accept other texts."""

    def __init__(self, reason: str, *, is_too_long: bool) -> None:
        super().__init__(reason)
        self.is_too_long = is_too_long
        """Whether the server may accept a shorter text."""


class RefusedKeyError(ServerError):
    """A server does not let this key in, or wants one where there is none."""


class PassingError(ServerError):
    """A failure that may pass."""

    def __init__(self, reason: str, *, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause
        """Seconds that the server asks to wait."""


class UnreachableServerError(PassingError):
    """A server does not answer at all."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for an answer."""

    seconds: float
    """Time limit of one attempt."""
    attempts: int
    pause: float = LONGEST_PAUSE
    """The longest wait in seconds that a server may ask for; if it asks for more, whoever has less
    patience than `LONGEST_PAUSE` gives up."""

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        """For work at `endpoint` that nobody waits for."""
        return cls(endpoint.seconds, endpoint.attempts)

    def at_most(self, other: "Patience") -> "Patience":
        """The lesser of both, in each respect."""
        return Patience(
            min(self.seconds, other.seconds),
            min(self.attempts, other.attempts),
            min(self.pause, other.pause),
        )


QUERY_PATIENCE = Patience(seconds=10, attempts=2, pause=5)
"""The patience with a query, for which somebody waits."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and the key that opens it."""

    url: str
    key: str


class Server:
    """The server of one model; safe to share between threads."""

    def __init__(
        self,
        name: str,
        *,
        address: Callable[[], Address],
        url_key: str,
        key_variable: str,
        at_once: int,
    ) -> None:
        """Contact nobody yet.

        Args:
            name: What messages call it.
            address: Gives the address for each request, and starts the server if need be.
            url_key: Key of the config that gives the address.
            key_variable: Environment variable that holds the key.
            at_once: Requests that may be under way at one time.
        """
        self.name = name
        self._address = address
        self._url_key = url_key
        self._key_variable = key_variable
        self._client = http_client(at_once=at_once)

    @classmethod
    def of(cls, endpoint: Endpoint, *, model: str) -> Self:
        """The server at an `endpoint` of the config."""
        return cls(
            f"the server of {model} at {endpoint.url.host}",
            address=lambda: Address(str(endpoint.url), os.environ.get(endpoint.key_variable, "")),
            url_key="endpoint.url",
            key_variable=endpoint.key_variable,
            at_once=endpoint.requests_at_once,
        )

    def ask(self, path: str, body: Body | None = None, *, patience: Patience) -> object:
        """The JSON that the server answers to `body`, or at `path` alone.

        Raises:
            RefusedRequestError: It refuses what it was sent.
            ServerError: It refuses whoever asks, or fails to answer at each attempt.
        """
        return patiently(lambda: self._json(path, body, patience.seconds), patience=patience)

    def read(self, path: str, body: Body | None, *, seconds: float) -> bytes:
        """What the server answers, asked once and read in `seconds`.

        Raises:
            ServerError: As `ask`, or the answer is too long.
        """
        ends = time.monotonic() + seconds
        found = bytearray()
        with self.answering(path, body, seconds=seconds) as answer:
            for part in self.in_time(answer.iter_bytes(), ends=ends):
                found += part
                if len(found) > LARGEST_BODY:
                    raise ServerError(f"{self.name} answers with over {LARGEST_BODY:,} bytes")
        return bytes(found)

    @contextmanager
    def answering(
        self, path: str, body: Body | None, *, seconds: float
    ) -> "Generator[httpx2.Response]":
        """An answer of which the head has come; each read of the rest takes `seconds` at most.

        Raises:
            ServerError: It does not come, or breaks off while it is read.
        """
        import httpx2

        raise_if_abandoned()
        place = self._address()
        address = f"{place.url.rstrip('/')}/{path}"
        try:
            with self._client.stream(
                "GET" if body is None else "POST",
                address,
                content=None if body is None else json.dumps(body),
                headers=headers_of(place.key),
                auth=(None if place.key else user_of_host(address)) or httpx2.USE_CLIENT_DEFAULT,
                timeout=seconds,
            ) as answer:
                if answer.status_code >= 300:
                    raise self._error_of(answer, self._beginning(answer, seconds))
                yield answer
        except httpx2.HTTPError as error:
            reason = f"{self.name} does not answer ({type(error).__name__})"
            if is_unsigned(error):
                raise ServerError(
                    f"{reason}: nobody whom this machine trusts has signed its certificate. Name "
                    f"the file of those who did in the environment variable {AUTHORITIES}"
                ) from None
            raise UnreachableServerError(reason) from None
        except UnicodeEncodeError:
            raise ServerError(
                f"the key in the environment variable {self._key_variable} has letters that no "
                "header may hold: give it as the server gave it"
            ) from None

    def in_time(self, parts: Iterable[Item], *, ends: float) -> Iterator[Item]:
        """`parts` of an answer, all of which must come before `ends` of the monotonic clock.

        Raises:
            PassingError: They do not.
            AbandonedError: Nobody waits for them any longer.
        """
        for part in parts:
            raise_if_abandoned()
            if time.monotonic() > ends:
                raise PassingError(f"{self.name} takes longer than the time limit")
            yield part

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _json(self, path: str, body: Body | None, seconds: float) -> object:
        found = self.read(path, body, seconds=seconds)
        try:
            return json.loads(found)
        except (ValueError, RecursionError):
            raise PassingError(f"{self.name} answers with what is no JSON") from None

    def _beginning(self, answer: "httpx2.Response", seconds: float) -> str:
        """What an answer begins with: enough of it to tell an error by, and no more."""
        found = bytearray()
        for part in self.in_time(answer.iter_bytes(), ends=time.monotonic() + seconds):
            found += part
            if len(found) > LARGEST_ERROR:
                break
        return found[:LARGEST_ERROR].decode("utf-8", "replace")

    def _error_of(self, answer: "httpx2.Response", text: str) -> ServerError:
        """What an answer of status 300 or more means; its beginning is shown, without the key."""
        status = answer.status_code
        reason = f"{self.name} answers with status {status}: {self._shown(text)}"
        if status < 400:
            place = self._shown(answer.headers.get("Location", ""))
            return ServerError(
                f"{reason} It sends on to {place}: give {self._url_key} as it is there"
            )
        if status == 500 and TOO_LARGE_TO_COMPUTE.search(text):
            return RefusedRequestError(reason, is_too_long=True)
        if status >= 500 or status in TRANSIENT:
            return PassingError(reason, pause=_asked_pause(answer.headers.get("Retry-After")))
        if status in OF_INPUT:
            is_too_long = status == TOO_LARGE or TOO_LONG.search(text) is not None
            return RefusedRequestError(reason, is_too_long=is_too_long)
        if status in (401, 403):
            remedy = f"its key is read from the environment variable {self._key_variable}"
            return RefusedKeyError(f"{reason} ({remedy})")
        return ServerError(reason)

    def _shown(self, text: str) -> str:
        """The beginning of an answer; a server may repeat the key that it refuses."""
        if key := os.environ.get(self._key_variable):
            text = text.replace(key, "***")
        return " ".join(text.split())[:SHOWN]


def headers_of(key: str | None) -> dict[str, str]:
    """The headers of a request with a JSON body, from whoever has `key`."""
    authorization = {"Authorization": f"Bearer {key}"} if key else {}
    return {"Content-Type": "application/json", **authorization}


def patiently(attempt: Callable[[], Answer], *, patience: Patience) -> Answer:
    """What `attempt` returns, made again after a pause while it raises a `PassingError`.

    Raises:
        ServerError: Of the last attempt.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    def may_pass(error: BaseException) -> bool:
        if not isinstance(error, PassingError):
            return False
        return min(LONGEST_PAUSE, error.pause) <= patience.pause

    attempts = Retrying(
        retry=retry_if_exception(may_pass),
        stop=stop_after_attempt(patience.attempts),
        wait=_pause,
        sleep=_sleep,
        before_sleep=_told,
        reraise=True,
    )
    return attempts(attempt)


def asked_side_by_side(
    ask: Callable[[Item], Answer], items: Sequence[Item], *, at_once: int
) -> Iterator[Answer]:
    """What `ask` gives for each of `items`, in their order; after an error no more are asked for.

    `raise_if_abandoned` works in its threads too.
    """

    def in_context(item: Item, context: Context) -> Answer:
        return context.run(ask, item)

    with ThreadPoolExecutor(at_once) as pool:
        requests = [pool.submit(in_context, item, copy_context()) for item in items]
        try:
            for request in requests:
                yield request.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _asked_pause(value: str | None) -> float:
    """Seconds that a `Retry-After` asks for: a number, or a date."""
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    if value is None:
        return 0.0
    try:
        return Retry().parse_retry_after(value)
    except InvalidHeader:
        return 0.0


def _pause(state: "RetryCallState") -> float:
    """Seconds before the next attempt: as the server asks, else at random and growing."""
    from tenacity import wait_random_exponential

    error = state.outcome.exception() if state.outcome else None
    asked = error.pause if isinstance(error, PassingError) else 0.0
    growing = wait_random_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)(state)
    return min(LONGEST_PAUSE, max(asked, growing))


def _sleep(seconds: float) -> None:
    never = Event()
    while seconds > 0:
        raise_if_abandoned()
        never.wait(min(SLICE, seconds))
        seconds -= SLICE


def _told(state: "RetryCallState") -> None:
    error = state.outcome.exception() if state.outcome else None
    pause = state.next_action.sleep if state.next_action else 0.0
    logger.warning("%s; asked again in %.1f s", error, pause)
