"""How a message reaches a channel, and what the channel answered.

No answer and no error shows a URL or a password: these are secrets of the channel.
"""

import smtplib
import ssl
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import SecretStr

from rag_assets.config import Email, Ping, Webhook
from rag_assets.operations.alerts.messages import Json, Message, headers, payload

Signal: TypeAlias = Literal["good", "failed", "started"]
"""What a ping is told of a nightly refresh."""
SECONDS_TO_ANSWER = 10
LONGEST_ANSWER = 200
"""Characters of an answer that are shown."""
HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a message."""

    accepted: bool
    answer: str
    """What the channel answered, or why it could not be reached."""


def deliver(message: Message, channel: Webhook | Email) -> Delivery:
    """Hand `message` to `channel`, once; an error is an answer too."""
    if isinstance(channel, Email):
        return _mailed(message, channel)
    return _requested(channel.url, body=payload(message, channel))


def call(channel: Ping, signal: Signal) -> Delivery | None:
    """Call the URL of `channel` for a refresh that is `good`, `failed` or `started`.

    None if the channel has no such URL.
    """
    urls = {"good": channel.url, "failed": channel.fail_url, "started": channel.start_url}
    url = urls[signal]
    return None if url is None else _requested(url)


def _requested(url: SecretStr, *, body: Mapping[str, Json] | None = None) -> Delivery:
    import requests

    address = url.get_secret_value()
    secrets = [address, urlsplit(address).path.strip("/"), urlsplit(address).query]
    try:
        answer = requests.request(
            "GET" if body is None else "POST", address, json=body, timeout=SECONDS_TO_ANSWER
        )
    except requests.RequestException as error:
        return Delivery(False, _said(_cause(error), secrets=secrets))
    said = f"{answer.status_code} {answer.reason} {answer.text}"
    return Delivery(answer.ok, _said(said, secrets=secrets))


def _mailed(message: Message, channel: Email) -> Delivery:
    mail = EmailMessage()
    for name, value in headers(message, channel).items():
        mail[name] = value
    mail["Date"], mail["Message-ID"] = formatdate(), make_msgid()
    mail.set_content(message.text)
    password = channel.password.get_secret_value() if channel.password else ""
    try:
        with _connected(channel) as server:
            if channel.user is not None:
                server.login(channel.user, password)
            refused = server.send_message(mail, to_addrs=channel.to)
    except (OSError, smtplib.SMTPException) as error:
        return Delivery(False, _said(_cause(error), secrets=[password]))
    if refused:
        return Delivery(False, f"refused for {', '.join(refused)}")
    return Delivery(True, f"taken for {', '.join(channel.to)}")


@contextmanager
def _connected(channel: Email) -> Generator[smtplib.SMTP]:
    host, port = channel.host, channel.port_or_default
    safe = ssl.create_default_context()
    if channel.security == "tls":
        connection = smtplib.SMTP_SSL(host, port, timeout=SECONDS_TO_ANSWER, context=safe)
    else:
        connection = smtplib.SMTP(host, port, timeout=SECONDS_TO_ANSWER)
    with connection as server:
        if channel.security == "starttls":
            server.starttls(context=safe)
        yield server


def _cause(error: BaseException) -> str:
    """The innermost error: those around it name the URL."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return f"{type(error).__name__}: {error}"


def _said(text: str, *, secrets: Sequence[str]) -> str:
    """The first line of `text`, without secrets."""
    for secret in filter(None, secrets):
        text = text.replace(secret, HIDDEN)
    return " ".join(text.split())[:LONGEST_ANSWER]
