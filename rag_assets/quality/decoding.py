"""Whether a text was decoded correctly: traces of a wrong encoding or of a font without a map.

It counts replacement characters, characters of private use, pairs of characters that come from
reading UTF-8 as Latin-1, glyph numbers in place of letters, and words of six or more consonants.
"""

import re
from collections.abc import Iterator

_MISREAD = re.compile(
    "[\ufffd\ue000-\uf8ff\x80-\x9f\U000f0000-\U0010fffd]"
    "|[\u00c2\u00c3][\u0080-\u00bf\u201a-\u203a\u20ac\u0152\u0153\u0160\u0161\u0178\u017d\u017e]"
)
_GLYPHS = re.compile(r"\(cid:\d+\)")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{6,}")
_IS_CONSONANT = bytes(bool(_CONSONANTS.match(chr(code) * 6)) for code in range(0x100))
_RUN = b"\x01" * 6


def garbled_letters(text: str) -> int:
    """Number of characters of `text` that were decoded wrongly."""
    found = [*_GLYPHS.findall(text), *_words_of_consonants(text)]
    if not text.isascii():
        found += _MISREAD.findall(text)
    return sum(map(len, found))


def _words_of_consonants(text: str) -> Iterator[str]:
    if _RUN not in text.encode("utf-8", "surrogatepass").translate(_IS_CONSONANT):
        return  # few texts have one, and the search by letters takes seven times as long
    for run in _CONSONANTS.finditer(text):
        around = text[max(run.start() - 1, 0) : run.start()] + text[run.end() : run.end() + 1]
        if not any(map(str.isalpha, around)):
            yield run[0]
