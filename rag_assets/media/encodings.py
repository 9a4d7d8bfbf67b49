"""Text encodings of files: documents and tables follow the same rules.

UTF-16 is recognised by the first bytes of a file.
"""

import codecs
import re
from collections.abc import Iterable

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_IS_ASCII_LETTER = bytes(code < 0x80 and chr(code).isalnum() for code in range(0x100))
REPLACED = "\ufffd"
"""What Python writes in place of a byte that the encoding does not allow."""
HEAD = 8_192
"""Bytes at the beginning of a file that are examined."""
FEWEST_ZEROS = 0.1
"""Share of the upper bytes that are zero in UTF-16: those of Latin letters, blanks, digits."""
MOST_ODD_ONES = 0.05
"""Zeros among the lower bytes, as a share of those among the upper: hardly a letter has one."""


def utf16_of(head: bytes) -> str | None:
    """The name of the UTF-16 encoding of a file that begins with `head`; None if it is not UTF-16.

    Without a byte order mark the zero bytes tell the order: they are the upper bytes of letters.
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


def letters_of(text: str) -> int:
    """Number of letters and digits, by which two readings of a page are compared."""
    is_letter = text.encode("utf-8", "surrogatepass").translate(_IS_ASCII_LETTER)
    letters = int.from_bytes(is_letter, "little").bit_count()  # faster than to count bytes
    if not text.isascii():
        letters += sum(map(str.isalnum, _BEYOND_ASCII.findall(text)))
    return letters


def is_unicode(text: str) -> bool:
    """Whether `text` can be written as UTF-8: it holds no half of a character (no surrogate)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_mostly_utf8(texts: Iterable[str]) -> bool:
    """Whether a file is UTF-8 with some broken bytes; `texts` is its content decoded as UTF-8.

    It is if fewer bytes are broken than letters beyond ASCII were decoded well.
    """
    broken = letters = 0
    for text in texts:
        broken += text.count(REPLACED)
        letters += len(_BEYOND_ASCII.findall(text))
    return broken < letters - broken
