"""What letters are in bytes: documents and tables are decoded by the same rule.

UTF-16 is told by the first bytes of a file.
"""

import codecs
import re
from collections.abc import Iterable

BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
REPLACED = "\ufffd"
"""What stands for a byte that is not of the encoding."""
HEAD = 8_192
"""Bytes from the beginning of a file that tell."""
FEWEST_ZEROS = 0.1
"""Share of the upper bytes that are zero in UTF-16: those of Latin letters, blanks, digits."""
MOST_ODD_ONES = 0.05
"""Zeros among the lower bytes, as a share of those among the upper: hardly a letter has one."""


def utf16_of(head: bytes) -> str | None:
    """Which UTF-16 the file is in that begins with `head`; None if in none.

    Without a byte order mark zero bytes tell the order: they are the upper bytes.
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if 0 not in head:
        return None
    first, second = head[::2].count(0), head[1::2].count(0)
    upper, lower = max(first, second), min(first, second)
    if upper <= FEWEST_ZEROS * len(head) / 2 or lower > MOST_ODD_ONES * upper:
        return None
    return "utf-16-be" if first > second else "utf-16-le"


def is_unicode(text: str) -> bool:
    """Whether `text` can be written at all: it holds no half of a character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_mostly_utf8(texts: Iterable[str]) -> bool:
    """Whether a file is UTF-8 of which some bytes are broken; `texts` is what was read as such.

    Fewer bytes are broken in it than letters beyond ASCII are sound.
    """
    broken = letters = 0
    for text in texts:
        broken += text.count(REPLACED)
        letters += len(BEYOND_ASCII.findall(text))
    return broken < letters - broken
