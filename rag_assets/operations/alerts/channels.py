"""How a message looks in a channel, how it gets there, and what the channel answered.

No answer and no error shows a URL or a password: these are secrets of the channel.
"""

import re
import smtplib
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from pydantic import SecretStr

from rag_assets.api import CustomChannel
from rag_assets.config import Email, MessageChannel, Ping, Webhook, redacted
from rag_assets.config.alerts import CustomAlerts
from rag_assets.config.custom import part_of
from rag_assets.operations.alerts.messages import AlertMessage, Json
from rag_assets.process.deadlines import within
from rag_assets.process.http_client import http_client, user_of_host

if TYPE_CHECKING:
    from httpx2 import Response

Signal: TypeAlias = Literal["good", "failed", "started"]
"""What a ping is told of a nightly refresh."""
SECONDS_TO_ANSWER = 10
SECONDS_TO_MAIL = 30
"""A mail takes several questions and answers."""
SECONDS_TO_READ = 3
LONGEST_BODY = 4_096
"""At most so many bytes are read of an answer, within `SECONDS_TO_READ`."""
LONGEST_ANSWER = 200
"""At most so many characters of an answer are shown."""
HIDDEN = "***"
SHORTEST_SECRET = 8
"""A part of a URL is hidden from so many characters on: a shorter one may be any word."""
MOVED = "(it leads to another address: give that one)"
SLACK_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
LOGGED_IN = 235
"""Answer of a mail server, RFC 4954."""


NOT_CALLED = "not called, as that would say that a refresh was good"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a message."""

    accepted: bool
    answer: str
    """What the channel answered, or why it could not be reached."""
    lacking: str = ""
    """Receivers of a mail who did not get it though others did, and why."""
    is_unanswered: bool = False
    """Whether no answer came in time: the message may have arrived all the same."""

    @property
    def words(self) -> str:
        """It in words."""
        if self.lacking:
            return f"IN PART ({self.answer}; {self.lacking})"
        if self.answer == NOT_CALLED:
            return NOT_CALLED
        return f"{'accepted' if self.accepted else 'FAILED'} ({self.answer})"


def deliver(message: AlertMessage, channel: MessageChannel) -> Delivery:
    """Hand `message` to `channel`, once; an error is an answer too."""
    match channel:
        case Webhook():
            return _requested(channel.url, body=_payload(message, channel))
        case Email():
            mail = partial(_mailed, message, channel)
            secrets = [channel.password.get_secret_value()] if channel.password else []
            return _answered(mail, seconds=SECONDS_TO_MAIL, secrets=secrets)
        case CustomAlerts():
            return _answered(partial(_sent, message, channel), seconds=SECONDS_TO_MAIL, secrets=[])
        case other:
            assert_never(other)


def _sent(message: AlertMessage, channel: CustomAlerts) -> Delivery:
    """What a channel of somebody's own says."""
    part = part_of(channel.part, CustomChannel)
    record = {"title": message.title, **message.record}
    return Delivery(True, str(part.send(message.title, message.text, record)))


def call(channel: Ping, signal: Signal) -> Delivery | None:
    """Call the URL of `channel` for a refresh that is `good`, `failed` or `started`.

    None if the channel has no such URL.
    """
    urls = {"good": channel.url, "failed": channel.fail_url, "started": channel.start_url}
    url = urls[signal]
    return None if url is None else _requested(url)


def _payload(message: AlertMessage, channel: Webhook) -> Mapping[str, Json]:
    """`message` in the form that the webhook of `channel` takes."""
    match channel.type:
        case "slack":
            # names as they are: chunk_vectors and *.csv are no Markdown
            return {"text": message.text.translate(SLACK_ESCAPES), "mrkdwn": False}
        case "teams":
            return _adaptive_card(message)
        case "json":
            return {"title": message.title, **message.record, "text": message.text}


def _adaptive_card(message: AlertMessage) -> Mapping[str, Json]:
    """A message as a workflow of Teams takes it. Text runs are shown as they are, not as Markdown.

    Source: https://adaptivecards.io/explorer/AdaptiveCard.html
    """
    body: list[Json] = [_text_block(message.title, bold=True)]
    for entry in message.entries:
        body.append(_text_block(entry.heading, bold=True, apart=True))
        body += [_text_block(line) for text in entry.lines for line in text.splitlines()]
        if entry.link:
            opening = {"type": "Action.OpenUrl", "title": "Open in Dagster", "url": entry.link}
            body.append({"type": "ActionSet", "actions": [opening]})
    return {
        "type": "message",
        "attachments": [
            {
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": None,
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "body": body,
                },
            }
        ],
    }


def _text_block(text: str, *, bold: bool = False, apart: bool = False) -> Mapping[str, Json]:
    run: dict[str, Json] = {"type": "TextRun", "text": text}
    if bold:
        run["weight"] = "Bolder"
    return {"type": "RichTextBlock", "inlines": [run], "separator": apart}


def _answered(
    attempt: Callable[[], Delivery], *, seconds: float, secrets: Sequence[str]
) -> Delivery:
    """What became of `attempt`: whatever error it ends with concerns this channel alone.

    After so many `seconds` in all it is waited for no longer: a server that sends a byte now and
    then would never let it end.
    """
    try:
        delivery = within(seconds, attempt)
    except Exception as error:  # a password that cannot be encoded, a URL that cannot be read
        cause = _innermost(error)
        said = _said(f"{type(cause).__name__}: {cause}", secrets=secrets)
        return Delivery(False, said, is_unanswered=isinstance(cause, TimeoutError))
    return replace(delivery, answer=_said(delivery.answer, secrets=secrets))


def _requested(url: SecretStr, *, body: Mapping[str, Json] | None = None) -> Delivery:
    """A GET request; with a `body` a POST request, of which no other address is told.

    A redirected POST request would arrive as a GET request, without the message.
    """
    address = url.get_secret_value()

    def attempt() -> Delivery:
        import httpx2

        with (
            http_client() as client,
            client.stream(
                "GET" if body is None else "POST",
                address,
                json=body,
                auth=user_of_host(address) or httpx2.USE_CLIENT_DEFAULT,
                timeout=SECONDS_TO_ANSWER,
                follow_redirects=body is None,
            ) as answer,
        ):
            said = MOVED if answer.has_redirect_location else _beginning(answer)
        return Delivery(answer.is_success, f"{answer.status_code} {answer.reason_phrase} {said}")

    return _answered(attempt, seconds=SECONDS_TO_ANSWER, secrets=_secrets_of(address))


def _beginning(answer: "Response") -> str:
    """What came of the body of an answer in a moment; its status tells what matters."""
    came, ends = b"", time.monotonic() + SECONDS_TO_READ
    for piece in answer.iter_bytes():
        came += piece
        if len(came) >= LONGEST_BODY or time.monotonic() >= ends:
            break
    return came[:LONGEST_BODY].decode(answer.encoding or "utf-8", "replace")


def _secrets_of(address: str) -> list[str]:
    """What no answer may show of a URL, the longest first: it may name a part of it only."""
    _, _, rest = address.partition("://")
    parts = re.split(r"[/?&=:@#]", rest)
    long = [part for part in parts[1:] if len(part) >= SHORTEST_SECRET]
    return sorted({address, rest.partition("/")[2].strip("/"), *long}, key=len, reverse=True)


def _mailed(message: AlertMessage, channel: Email) -> Delivery:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = message.title, channel.sender, ", ".join(channel.to)
    mail["Date"], mail["Message-ID"] = formatdate(), make_msgid()
    mail.set_content(message.text)
    with _connected(channel) as server:
        if channel.user is not None and channel.password is not None:
            _log_in(server, channel.user, channel.password.get_secret_value())
        refused = server.send_message(mail, to_addrs=channel.to)
    taken = [name for name in channel.to if name not in refused]
    said = f"taken for {', '.join(taken)}"
    if not refused:
        return Delivery(True, said)
    why = "; ".join(
        f"{name}: {code} {text.decode(errors='replace')}" for name, (code, text) in refused.items()
    )
    return Delivery(True, said, lacking=_said(f"refused for {why}", secrets=[]))


def _log_in(server: smtplib.SMTP, user: str, password: str) -> None:
    """Log in; `smtplib` itself takes no password with other letters than those of ASCII.

    Source: RFC 4616 (PLAIN), in which both are UTF-8.
    """
    if user.isascii() and password.isascii():
        server.login(user, password)
        return
    server.ehlo_or_helo_if_needed()
    secret = b64encode(f"\0{user}\0{password}".encode()).decode()
    code, answer = server.docmd("AUTH", f"PLAIN {secret}")
    if code != LOGGED_IN:
        raise smtplib.SMTPAuthenticationError(code, answer)


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


def _innermost(error: BaseException) -> BaseException:
    """The first error: those around it name the URL."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return error


def _said(text: str, *, secrets: Sequence[str]) -> str:
    """The first line of `text`, without secrets and what a terminal would take for a command."""
    for secret in filter(None, secrets):
        text = text.replace(secret, HIDDEN)
    shown = "".join(letter if letter.isprintable() else " " for letter in redacted(text))
    return " ".join(shown.split())[:LONGEST_ANSWER]
