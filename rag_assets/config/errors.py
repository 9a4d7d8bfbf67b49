"""Errors of the config, and how passwords are hidden in messages."""

import re

_PARAMETER = re.compile(
    r"((?:[?&;]|%3b|odbc_connect=)(?:ssl)?(?:password|passwd|pwd)(?:=|%3d)).*?(?=[&;\s'\"]|%3b|$)",
    re.IGNORECASE,
)


class ConfigError(Exception):
    """The config cannot be used; the message names file and key, and says what to do."""


def redacted(text: str) -> str:
    """`text` with the password of every URL in it replaced by `***`.

    So are passwords among the parameters of a URL (`password`, `passwd`, `pwd`), also inside a
    percent-encoded connection string (`odbc_connect`).
    """
    text = re.sub(r"(://[^:/@\s]*):\S*@", r"\1:***@", text)
    return _PARAMETER.sub(r"\1***", text)
