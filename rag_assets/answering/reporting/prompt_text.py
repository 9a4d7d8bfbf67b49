r"""A prompt as people send it: without greeting and signature, its headings and tables as items.

request_text("Hi Anna,\n\nReport on steel, please.\n\nBest regards\nErik")
# Report on steel, please.
"""

import re

_FLAGS = re.IGNORECASE | re.VERBOSE
_HEADER = re.compile(
    r"(?:subject|from|to|cc|date|ämne|från|till|datum|betreff|re|sv|fwd?)\s*:[^\n]*(?:\n\s*|$)",
    re.IGNORECASE,
)
"""A line of the head of a letter."""
_GREETING = re.compile(
    r"""(?:hi|hello|hey|dear|good\s+(?:morning|afternoon|evening|day)|hej(?:san)?|hallå
        |god(?:\s+(?:morgon|dag|kväll)|dag)|hallo|guten\s+(?:tag|morgen)|sehr\s+geehrte[rn]?|liebe[rs]?)
    (?:(?:[ ]+[\w.'@-]+){0,5}[ ]*[,!.:]?[ ]*(?:\n\s*|$) | (?:[ ]+[\w.'@-]+){0,2}[ ]*[,!.]\s+)""",
    _FLAGS,
)
_CLOSING = re.compile(
    r"""^[ \t]*(?:(?:kind|best|warm|with\s+(?:kind|best))\s+(?:regards|wishes)|regards|cheers
        |sincerely|yours\s+(?:sincerely|faithfully|truly)|br|mvh
        |(?:med\s+)?(?:vänliga?|bästa)\s+hälsning(?:ar)?|hälsningar|(?:mit\s+)?(?:freundlichen|besten|vielen?)\s+gr(?:ü|ue)(?:ß|ss)en?)
    (?:[ \t]*[,.!]?[ \t]*$ | [ \t]*[,.!/][ \t]*(?:[\w.'-]+[ \t]*){1,4}$)""",
    _FLAGS | re.MULTILINE,
)
"""What a signature follows."""
_THANKS = re.compile(
    r"""^[ \t]*(?:(?:many|a\s+lot\s+of)\s+thanks|thanks|thank\s+you|tack|tusen\s+tack|danke
        |vielen\s+dank)
    (?:[ \t]+[\w-]+){0,6}[ \t]*[,.!]*[ \t]*$""",
    _FLAGS | re.MULTILINE,
)
_TABLE_LINE = re.compile(r"^[ \t]*\|(?P<cells>[^\n]*?)\|?[ \t]*$", re.MULTILINE)
_TABLE_HEAD = re.compile(r"^[ \t]*\|[^\n]*\n(?=[ \t]*\|[\s|:-]*-[\s|:-]*$)", re.MULTILINE)
_RULE_LINE = re.compile(r"^[ \t]*\|?[\s|:=_-]*[-=_]{3}[\s|:=_-]*$\n?", re.MULTILINE)
_TITLE_LINE = re.compile(r"\A#[ \t]+(?P<title>[^\n]+)$", re.MULTILINE)
_HEADING_LINE = re.compile(
    r"^#{1,6}[ \t]+(?P<heading>[^\n]+)$\n*(?P<below>(?:[^\n#]+\n?)*)", re.MULTILINE
)


def request_text(prompt: str) -> str:
    """What `prompt` asks for; all of it where nothing else would be left."""
    whole = "\n".join(prompt.splitlines()).strip()
    text = _without_letter(whole) or whole
    return _as_list(text).strip() or whole


def _without_letter(text: str) -> str:
    while match := _HEADER.match(text):
        text = text[match.end() :]
    if match := _GREETING.match(text):
        text = text[match.end() :]
    if match := _CLOSING.search(text):
        text = text[: match.start()]
    return _THANKS.sub("", text).strip()


def _as_list(text: str) -> str:
    """`text` with each row of a table, and each heading with what stands below, as an item."""
    text = _RULE_LINE.sub("", _TABLE_HEAD.sub("", text))
    text = _TABLE_LINE.sub(_row_as_item, text)
    title = _TITLE_LINE.match(text)
    before, below = (f"{title['title']}\n\n", text[title.end() :]) if title else ("", text)
    return before + _HEADING_LINE.sub(_heading_as_item, below.lstrip())


def _row_as_item(match: re.Match[str]) -> str:
    cells = [cell.strip() for cell in match["cells"].split("|")]
    return f"- {': '.join(filter(None, cells))}"


def _heading_as_item(match: re.Match[str]) -> str:
    below = " ".join(match["below"].split())
    return f"- {match['heading'].strip()}{': ' if below else ''}{below}\n"
