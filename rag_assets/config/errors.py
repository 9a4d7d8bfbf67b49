"""What goes wrong with a config, and texts that may be shown."""

import re


class ConfigError(Exception):
    """The config cannot be used; the message says which key of which file, and the remedy."""


def redacted(text: str) -> str:
    """`text` with the password of every URL in it replaced by `***`."""
    text = re.sub(r"(://[^:/@\s]*):\S*@", r"\1:***@", text)
    return re.sub(r"(?i)([?&](?:password|pwd)=)[^&\s'\"]*", r"\1***", text)
