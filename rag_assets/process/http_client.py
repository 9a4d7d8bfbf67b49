"""The one HTTP client: requests as the environment of this process says, and no address in a log.

`HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` name proxies, `SSL_CERT_FILE` the authorities whose
certificates count, and `.netrc` (or `NETRC`) the users of hosts.
"""

import logging
import netrc
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2

AUTHORITIES = "SSL_CERT_FILE"
"""The environment variable that names a file of authorities."""
SSL_FAILURE = "CERTIFICATE_VERIFY_FAILED"
"""How OpenSSL says that nobody whom it trusts has signed a certificate."""
FEWEST_CONNECTIONS = 10
"""Connections that a client may hold, whatever it is asked for."""


def http_client(*, at_once: int = FEWEST_CONNECTIONS) -> "httpx2.Client":
    """A client that follows no redirect, safe to share between threads.

    Args:
        at_once: Requests that may be under way at one time.
    """
    import httpx2

    hide_addresses()
    connections = max(FEWEST_CONNECTIONS, at_once)
    return httpx2.Client(limits=httpx2.Limits(max_connections=connections))


def hide_addresses() -> None:
    """Keep the addresses of requests out of logs: they may hold secrets."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)


def user_of_host(address: str) -> tuple[str, str] | None:
    """The user and password that `.netrc` has for the host of `address`.

    None if it has none, if it cannot be read (as `curl` and `requests` do), or if `address` names a
    user itself. They take the place of a header `Authorization`: whoever has a key does not ask.
    """
    place = urlsplit(address)
    file = os.environ.get("NETRC")
    try:
        known = None if place.username else netrc.netrc(file).authenticators(place.hostname or "")
    except (OSError, netrc.NetrcParseError):
        return None
    return (known[0], known[2]) if known else None


def is_unsigned(error: BaseException) -> bool:
    """Whether a request failed as nobody whom this machine trusts has signed the certificate."""
    return SSL_FAILURE in str(error.__cause__ or error)
