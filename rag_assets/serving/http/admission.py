"""Who is let in: by a key, by a login on the page, or by the login of a proxy.

Nobody needs a key while the server listens on this machine alone, no key was ever made, and no
proxy is configured: then whoever asks is the person at this machine.
"""

import hashlib
import logging
import secrets
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, cast

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer, SecurityScopes
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.types import Scope as Asked

from rag_assets.config import Config
from rag_assets.serving.callers import Caller, Scope, person_here
from rag_assets.serving.keys import Key, KeyRefusedError, KeysFile, KeysFileError, id_of

SESSION = "rag_assets_session"
"""The cookie of who logged in; it holds no key, and another value after each login."""
SESSION_SECONDS = 12 * 3_600
MOST_REMEMBERED = 10_000
"""Logins, and addresses that gave wrong keys; the oldest are forgotten."""
SECONDS_OF_WRONG_KEYS = 60.0
MOST_WRONG_KEYS, MOST_OF_ADDRESS = 10, 60
"""Wrong keys in that time: of one id from one address, and of one address."""
KEY_NEEDED = (
    "this needs a key: send the header Authorization: Bearer KEY, or log in on the page "
    "(rag-assets keys create makes one)"
)
TOO_OFTEN = f"too many wrong keys came from there: try again in {SECONDS_OF_WRONG_KEYS:.0f} seconds"
NO_KEYS = "the keys cannot be read, so that nobody is let in: the log of the server says why"
_BEARER = HTTPBearer(
    scheme_name="key", description="Of `rag-assets keys create`.", auto_error=False
)
logger = logging.getLogger(__name__)


class WrongKeys:
    """When wrong keys came lately, by whatever they are counted by."""

    def __init__(self) -> None:
        self._times: dict[object, deque[float]] = {}

    def are_too_many(self, of: object, most: int) -> bool:
        """Whether `most` came within the last minute."""
        times = self._times.get(of, deque())
        return len(times) == most and time.monotonic() - times[0] < SECONDS_OF_WRONG_KEYS

    def count(self, of: object, most: int) -> None:
        """Count one that came now."""
        self._times.setdefault(of, deque(maxlen=most)).append(time.monotonic())
        if len(self._times) > MOST_REMEMBERED:
            del self._times[next(iter(self._times))]


class Admission:
    """Tells who sent a request to one server."""

    def __init__(self, config: Config, *, user: str, is_loopback: bool) -> None:
        """Let in who has a key of the state, or comes through the proxy of the config.

        Args:
            config: Names the state and the proxy.
            user: The person at this machine.
            is_loopback: Whether the server listens on this machine alone.
        """
        self.keys = KeysFile(config.state_dir)
        self._proxy = config.serving.proxy
        self.person = person_here(user)
        self._is_open = is_loopback and self._proxy is None
        self._sessions: dict[bytes, tuple[str, float]] = {}
        self._wrong = WrongKeys()

    @property
    def needs_keys(self) -> bool:
        """Whether who asks has to say who they are.

        Once it was so it stays so: a file of keys that goes away opens nothing.

        Raises:
            HTTPException: The keys cannot be read.
        """
        self._is_open = self._is_open and not self._keys()
        return not self._is_open

    @property
    def lets_somebody_in(self) -> bool:
        """Whether there is a key that is good, or a proxy with a login."""
        has_login = self._proxy is not None and self._proxy.user_header is not None
        return has_login or not all(each.refusal for each in self.keys.read())

    def caller_of(self, asked: Asked) -> Caller | None:
        """Who sent a request; None where it does not say.

        Raises:
            HTTPException: Its key lets nobody in, wrong ones came too often, or the keys cannot be
                read.
        """
        headers = Headers(scope=asked)
        kind, _, given = headers.get("authorization", "").partition(" ")
        proxied = self._through_proxy(asked, headers)
        is_key = not proxied or id_of(given.strip())  # else it is a token of the proxy's own login
        if kind.lower() == "bearer" and is_key:
            return self._checked(given.strip(), asked).caller
        if proxied:
            return proxied
        if token := cookie_parser(headers.get("cookie", "")).get(SESSION):
            key_id, until = self._sessions.get(_hash(token), ("", 0.0))
            if until > time.monotonic():
                found = (each for each in self._keys() if each.id == key_id and not each.refusal)
                if key := next(found, None):
                    return replace(key.caller, is_logged_in=True)
        return None if self.needs_keys else self.person

    def log_in(self, given: str, asked: Asked) -> str:
        """Begin a session of who has a key; the value of its cookie.

        Raises:
            HTTPException: As `caller_of` does.
        """
        key, token = self._checked(given, asked), secrets.token_urlsafe()
        self._sessions[_hash(token)] = (key.id, time.monotonic() + SESSION_SECONDS)
        if len(self._sessions) > MOST_REMEMBERED:
            del self._sessions[next(iter(self._sessions))]
        return token

    def log_out(self, token: str) -> None:
        """End a session."""
        self._sessions.pop(_hash(token), None)

    def _through_proxy(self, asked: Asked, headers: Headers) -> Caller | None:
        proxy = self._proxy
        if not (proxy and proxy.user_header and proxy.is_at(_peer(asked))):
            return None
        name = _said(headers.getlist(proxy.user_header))
        groups = _said(headers.getlist(proxy.groups_header)) if proxy.groups_header else ""
        named = frozenset(filter(None, map(str.strip, groups.split(","))))
        return Caller(name, frozenset(proxy.scopes), named) if name else None

    def _checked(self, given: str, asked: Asked) -> Key:
        """What is kept of a key that a request gave."""
        key_id, address = id_of(given), self._address(asked)
        counted = (((address, key_id), MOST_WRONG_KEYS), (address, MOST_OF_ADDRESS))
        if any(self._wrong.are_too_many(*each) for each in counted):
            again = {"Retry-After": f"{SECONDS_OF_WRONG_KEYS:.0f}"}
            raise HTTPException(HTTPStatus.TOO_MANY_REQUESTS, TOO_OFTEN, again)
        try:
            return self.keys.of(given)
        except KeysFileError as error:
            raise _unreadable(error) from error
        except KeyRefusedError as error:
            for each in counted:
                self._wrong.count(*each)
            logger.warning("refused key %s from %s: %s", key_id or "of no form", address, error)
            raise _unauthorized(str(error)) from error

    def _keys(self) -> Sequence[Key]:
        try:
            return self.keys.read()
        except KeysFileError as error:
            raise _unreadable(error) from error

    def _address(self, asked: Asked) -> str:
        """Where a request comes from: what the proxy says of it, where it comes through one."""
        peer = _peer(asked)
        if self._proxy is None or not self._proxy.is_at(peer):
            return peer
        told = ",".join(Headers(scope=asked).getlist("x-forwarded-for"))
        return told.rpartition(",")[2].strip() or peer  # the others are the client's own words


def let_in(caller: Caller | None, scopes: Iterable[Scope]) -> Caller:
    """Who asks, if they may do all that.

    Raises:
        HTTPException: Nobody says who asks (401), or they may not (403).
    """
    if caller is None:
        raise _unauthorized(KEY_NEEDED)
    for each in scopes:
        if not caller.may(each):
            has = ", ".join(sorted(caller.scopes)) or "none"
            why = f"this needs the scope {each}, and {caller.name} has {has}: ask for a key with it"
            raise HTTPException(HTTPStatus.FORBIDDEN, why)
    return caller


async def admitted(
    request: Request, needed: SecurityScopes, _given: Annotated[object, Depends(_BEARER)]
) -> Caller:
    """Who asks, as a dependency of a route that states the scope it needs.

    Raises:
        HTTPException: As `let_in` does.
    """
    return let_in(request.state.caller, cast("list[Scope]", needed.scopes))


READ, FEEDBACK, LABEL = (
    Security(admitted, scopes=[each]) for each in ("read", "feedback", "label")
)
"""What a route states as its dependency."""
Asking = Annotated[Caller, Security(admitted)]
"""Who asks, as a parameter of a route."""


def _peer(asked: Asked) -> str:
    return (asked.get("client") or ("",))[0]


def _said(sent: list[str]) -> str:
    """The words of a header; none where it came twice: one of the two is not the proxy's.

    Proxies write names in UTF-8, and headers are read as Latin-1.
    """
    return sent[0].encode("latin-1").decode("utf-8", "replace").strip() if len(sent) == 1 else ""


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _unauthorized(why: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNAUTHORIZED, why, {"WWW-Authenticate": "Bearer"})


def _unreadable(error: KeysFileError) -> HTTPException:
    logger.error("%s", error)
    return HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, NO_KEYS)
