"""What goes wrong with a config, and texts that may be shown."""

import re

_PARAMETER = re.compile(
    r"((?:[?&;]|%3b|odbc_connect=)(?:ssl)?(?:password|passwd|pwd)(?:=|%3d)).*?(?=[&;\s'\"]|%3b|$)",
    re.IGNORECASE,
)


class ConfigError(Exception):
    """The config cannot be used; the message says which key of which file, and the remedy."""


def redacted(text: str) -> str:
    """`text` with the password of every URL in it replaced by `***`.

    Passwords may also stand among the parameters, spelled as drivers do (`pwd`, `passwd`), or in
    a whole connection string that is one of them (`odbc_connect`), its marks percent-encoded.
    """
    text = re.sub(r"(://[^:/@\s]*):\S*@", r"\1:***@", text)
    return _PARAMETER.sub(r"\1***", text)
