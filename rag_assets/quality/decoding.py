"""Whether a text was decoded rightly: what a wrong encoding or a font without a map leaves behind.

Counted are replacement characters and characters of private use, pairs that UTF-8 read as Latin-1
gives, glyph numbers that stand for letters, and words of six consonants or more.
"""

import re

_GARBLED = re.compile(
    "[\ufffd\ue000-\uf8ff\x80-\x9f\U000f0000-\U0010fffd]"
    "|[\u00c2\u00c3][\u0080-\u00bf\u201a-\u203a\u20ac\u0152\u0153\u0160\u0161\u0178\u017d\u017e]"
    r"|\(cid:\d+\)"
    r"|(?<![^\W\d_])[bcdfghjklmnpqrstvwxz]{6,}(?![^\W\d_])"
)


def garbled_letters(text: str) -> int:
    """Characters of `text` that nobody can make sense of."""
    return sum(len(found) for found in _GARBLED.findall(text))
