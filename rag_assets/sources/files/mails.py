"""Mails, mailboxes and web archives, told by the headers that mail programs write above a text."""

import re
from collections.abc import Mapping

from rag_assets.media.encodings import utf16_of

MAIL = "message/rfc822"
MULTIPART = "multipart/mixed"
WEB_ARCHIVE = "multipart/related"

BEFORE = "\ufeff \t\r\n"
"""What may stand before the first header."""

_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]*):(.*)")
_MAILBOX = re.compile(
    r"From \S[^\n]{0,120}?\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b[ ,][^\n]{4,20}\d\d:\d\d[^\n]*\n"
)
_MIME_PART = re.compile(
    r"(?:[^\n]*multi-?part message in MIME format[^\n]*\s+)?"
    r"--(?=\S{0,70}\w)\S{1,72}[ \t]*\r?\nContent-[\w-]+:",
    re.IGNORECASE,
)
_WRITTEN_BY_PEOPLE = frozenset({"from", "to", "date", "subject", "sender"})
_WRITTEN_BY_PROGRAMS = {
    "message-id": re.compile(r"<"),
    "mime-version": re.compile(r"\d"),
    "received": re.compile(r"(?:from|by) \S.*;.*\d\d:\d\d"),
    "return-path": re.compile(r"<"),
    "delivered-to": re.compile(r"\S+@"),
    "dkim-signature": re.compile(r"\w+ *="),
    "content-transfer-encoding": re.compile(r"\w"),
}
"""Headers that no person puts above a text, and how their values begin.

Minutes and letters have the others too, and memos and manuscripts say when they were received.
"""


def mail_in(head: bytes) -> str | None:
    """The kind of mail that begins with `head`, if any; headers stand before everything else."""
    text = head.decode(utf16_of(head) or "utf-8", "ignore")
    return mail_of(text.lstrip(BEFORE))


def mail_of(start: str) -> str | None:
    """The kind of mail of a text that begins with `start`, if any."""
    mailbox = _MAILBOX.match(start)
    headers = _headers(start[mailbox.end() :] if mailbox else start)
    is_of_people = not _WRITTEN_BY_PEOPLE.isdisjoint(headers)
    content = headers.get("content-type", "").lower()
    if content.startswith(WEB_ARCHIVE) and "message-id" not in headers:
        return WEB_ARCHIVE
    if is_of_people and (mailbox or _is_of_program(headers)):
        return MAIL
    is_multipart = content.startswith("multipart/") and "boundary" in content
    return MULTIPART if is_multipart or _MIME_PART.match(start) else None


def _is_of_program(headers: Mapping[str, str]) -> bool:
    return any(
        form.match(headers.get(name, "").lstrip()) for name, form in _WRITTEN_BY_PROGRAMS.items()
    )


def _headers(start: str) -> dict[str, str]:
    """The lines `Name: value` that a text begins with, by their names in lower case."""
    found: dict[str, str] = {}
    name = ""
    for line in start.splitlines() if _HEADER.match(start) else ():
        if name and line[:1] in (" ", "\t") and not line.isspace():
            found[name] += line
        elif header := _HEADER.match(line):
            name = header[1].lower()
            found[name] = header[2].strip()
        else:
            break
    return found
