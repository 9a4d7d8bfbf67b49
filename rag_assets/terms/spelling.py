"""How words are compared: in the usual characters, by whatever code points a text spells them.

A micro sign is the Greek letter, a wide letter a letter, a no-break blank a blank, and signs that
nobody sees are nothing. Raised and lowered characters count where they change no number: `CO₂` is
`CO2`, while `10²` is not 102 and `5½` not 51. What is stored and shown stays as it was written.
"""

import re
import unicodedata

UNSEEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
"""Characters that are not seen, for the brackets of a pattern."""
_UNSEEN = re.compile(f"[{UNSEEN}]")
_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u4e00-\u9fff]"
_PARTING = re.compile(f"(?<={_UNSPACED})\u200b")
"""A zero-width blank of a script without blanks: it parts words."""
UNSEEN_WITHIN = rf"(?:(?!(?<={_UNSPACED})\u200b)[{UNSEEN}])*"
"""A pattern of such characters, as far as they part no words."""
_BLANKS = "\u00a0\u2007-\u200a\u202f\u205f"
_GROUPED = re.compile(rf"(?<![\w.,])[1-9]\d{{0,2}}(?:[{_BLANKS}]\d{{3}})+(?!\w|[.,]\d{{3}}\b)")
"""A number with blanks that keep its groups of digits on one line."""
_USUAL = re.compile("[\x00-\x7f\u00c0-\u0131\u0141-\u0148\u0150-\u017e\u2013\u2014\u2018-\u201d]*")
"""Letters of European languages and quotation marks: a text of them alone stays as it is."""
_PARTED_GROUPS = re.compile(r"(?<=\d) (?=\d{3}\b)")
_TOLD_APART = re.compile("((?<=\\d)[ªº²³¹\u2070-\u209c]+|[¼-¾\u2150-\u215f\u2189])")
"""Raised and lowered characters behind a number, and fractions."""


def seen(text: str) -> str:
    """`text` without characters that nobody sees."""
    return text if _is_usual(text) else _UNSEEN.sub("", _PARTING.sub(" ", text))


def plainly_spelled(text: str) -> str:
    """`text` in the characters by which its words are compared."""
    if _is_usual(text):
        return text
    parts = _TOLD_APART.split(seen(text))
    parts[::2] = [unicodedata.normalize("NFKC", part).replace("\u2010", "-") for part in parts[::2]]
    return "".join(parts)


def indexed_text(text: str) -> str:
    """`text` as the full-text index reads it: 12 500 with a no-break blank is also 12500.

    Powers and fractions stand apart: the index itself takes `10²` for 102 and `½` for 12.
    """
    if _is_usual(text):
        return text
    whole = _GROUPED.sub(lambda found: f"{re.sub(r'[^0-9]', '', found[0])} {found[0]}", text)
    return spelled_apart(whole)


def spelled_apart(text: str) -> str:
    """`text` in its usual spelling, powers and fractions apart."""
    if _is_usual(text):
        return text
    return unicodedata.normalize("NFKC", " ".join(_TOLD_APART.split(plainly_spelled(text))))


def sought_text(query: str) -> str:
    """A query as `indexed_text` reads it, with any blank between groups of digits."""
    return indexed_text(_PARTED_GROUPS.sub("\u00a0", query))


def _is_usual(text: str) -> bool:
    return text.isascii() or _USUAL.fullmatch(text) is not None
