"""Glob patterns of files, as the config gives them."""

import re
import unicodedata


def file_pattern(glob: str) -> re.Pattern[str]:
    """The expression that a whole URI below a source has to fit.

    Patterns ignore case. `*` stays within one folder, `**` does not; a pattern without a slash
    holds at any depth (`/a.pdf`: only at the root).

    Raises:
        ValueError: It is no pattern.
    """
    glob = unicodedata.normalize("NFC", glob)
    anchored = glob.strip("/")
    if "/" not in glob.rstrip("/"):
        anchored = f"**/{anchored}"
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", anchored)
    translated = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = "".join(
        translated.get(part) or (_class(part) if part.startswith("[") else re.escape(part))
        for part in parts
    )
    try:
        return re.compile(expression, re.IGNORECASE | re.DOTALL)
    except re.error as error:
        raise ValueError(f"{glob} is no pattern ({error.msg})") from error


def _class(part: str) -> str:
    """`[!a-c]` of a pattern as a class of a regular expression."""
    members = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    return f"[^{members[1:]}]" if members.startswith("!") else f"[{members}]"
