"""Text encodings of files: documents and tables follow the same rules.

UTF-16 is recognised by the first bytes of a file. What is no Unicode is in the code page that its
letters make most likely; if another one is as likely, or there are few letters, that is told.
"""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_OTHER_SCRIPT = re.compile("[\u0250-\u1dff\u2c00-\ud7ff\uf900-\ufffc]+")
"""Letters of scripts other than Latin."""
_WITHIN_A_WORD = re.compile(
    r"(?<=[^\W\d_])[\xa1-\xa9\xab\xac\xae-\xb1\xb4\xb6\xb8\xbb\xbf\xd7\xf7\u2020-\u2022\u2030\u2039"
    r"\u203a\u201a\u201c-\u201e\u20ac\u2122\u2500-\u259f]+(?=[^\W\d_])"
)
"""Quotes, signs of money, lines of boxes and their like between letters, where none belongs."""
_SIGNS = re.compile("(?<![A-Za-z]{3})[\xa0\xa3\xa7\xa9\xae\xb0-\xb3\xb5\xb7\xbc-\xbe\xd7\u20ac]")
"""A fixed blank, and signs such as ° ± ² µ € that stand beside numbers and at no word's end."""
_IS_ASCII_LETTER = bytes(code < 0x80 and chr(code).isalnum() for code in range(0x100))
WITHOUT_BLANKS = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{4,}"
"""Letters of scripts without blanks between words, such as Thai and Chinese: a pattern for Python
and for Arrow."""
REPLACED = "\ufffd"
"""What Python writes in place of a byte that the encoding does not allow."""
HEAD = 8_192
"""So many bytes at the beginning of a file are examined."""
FEWEST_ZEROS = 0.1
"""The least share of upper bytes that are zero in UTF-16: those of Latin letters, blanks and
digits."""
MOST_ODD_ONES = 0.05
"""Zeros among the lower bytes, as a share of those among the upper: hardly a letter has one."""
CODE_PAGES = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874"),
    *("koi8-r", "koi8-u", "cp866", "cp850", "cp852", "mac-roman", "iso8859-2", "iso8859-5"),
    *("cp932", "euc-jp", "gb18030", "big5", "cp949"),
)
"""Encodings that texts of today and of older systems are in, of all that Python knows."""
WESTERN = "cp1252"
SAMPLE = 200_000
"""The code page is told by at most so many bytes of lines beyond ASCII."""
CLEARLY, FAR_MORE = 1.4, 1.9
"""How many times as likely as the Western code page another one has to be."""
FEWEST_BYTES = 3
"""Fewer bytes beyond ASCII tell no other script, and a language only where it is far more
likely."""
BEYOND_DOUBT = 10
"""A code page that is so many times as likely as any other one may rest on few bytes."""
LEAST = 0.05
"""Likelihood below which so few tell nothing."""
MOST_WITHIN = 0.1
"""The largest share of letters and signs beyond ASCII that stand inside a word and are no
letter."""
FEW_BYTES = 12
"""Beyond ASCII; so few tell a code page hardly."""
AS_LIKELY = 0.97
"""Another code page is as good from this share of the likelihood of the first on."""


@dataclass(frozen=True, slots=True)
class CodePage:
    """What a text that is no Unicode is most likely in."""

    name: str
    """A codec of Python."""
    doubt: str = ""
    """Why that is not sure, and what to do."""


def code_page_of(lines: Iterable[bytes]) -> CodePage:
    """The code page of the lines of a file that is neither UTF-8 nor UTF-16."""
    from chardet import detect_all

    sample = bytearray()
    for line in lines:
        sample += b"" if line.isascii() else line[:SAMPLE]
        if len(sample) >= SAMPLE:
            break
    if is_mostly_utf8([sample.decode("utf-8-sig", "replace")]):
        return CodePage("utf-8-sig")
    found = detect_all(
        bytes(sample), ignore_threshold=True, include_encodings=CODE_PAGES, compat_names=False
    )
    likely = {each["encoding"]: each["confidence"] for each in found if each["encoding"]}
    readings = {name: sample.decode(name, "ignore") for name in likely}
    likely = {
        name: score
        for name, score in likely.items()
        if not (_CONTROL.search(readings[name]) or _is_no_writing(readings[name]))
    }
    if not likely:
        return CodePage("latin-1", _doubt("latin-1"))
    if WESTERN in likely and _SIGNS.sub("", readings[WESTERN]).isascii():
        return CodePage(WESTERN)
    chosen = max(likely, key=likely.__getitem__)
    count = len(_BEYOND_ASCII.findall(readings[chosen]))
    if WESTERN in likely:
        if count < FEWEST_BYTES:
            latin = [
                name
                for name, score in likely.items()
                if count > 1 and score >= LEAST and not _OTHER_SCRIPT.search(readings[name])
            ]
            chosen = max(latin or [WESTERN], key=likely.__getitem__)
        least = FAR_MORE if count < FEWEST_BYTES else CLEARLY
        if likely[chosen] <= least * likely[WESTERN]:
            chosen = WESTERN
    score, reading = likely.pop(chosen), readings[chosen]
    others = [name for name in likely if readings[name] != reading]
    rival = max(others, key=likely.__getitem__, default="")
    least = score if chosen == WESTERN and count < FEW_BYTES else AS_LIKELY * score
    is_close = bool(rival) and likely[rival] > least
    is_thin = (
        chosen != WESTERN and count < FEW_BYTES and score < BEYOND_DOUBT * likely.get(rival, 0)
    )
    has_letters = any(map(str.isalpha, _BEYOND_ASCII.findall(reading)))
    is_worse = bool(rival) and count > 1 and likely[rival] > FAR_MORE * score
    is_doubted = is_worse or (has_letters and (is_close or is_thin))
    return CodePage(chosen, _doubt(chosen, rival) if is_doubted else "")


def _is_no_writing(text: str) -> bool:
    """Whether signs stand inside words, or letters of another script among the Latin ones."""
    within = len(_WITHIN_A_WORD.findall(text))
    lengths = [len(run) for run in _OTHER_SCRIPT.findall(text)]
    is_scattered = 2 * lengths.count(1) > sum(lengths)
    return is_scattered or within > MOST_WITHIN * len(_BEYOND_ASCII.findall(text))


def code_page_of_file(path: Path) -> CodePage:
    """What a file is in that is no UTF-8."""
    with path.open("rb") as file:
        if encoding := utf16_of(file.read(HEAD)):
            return CodePage(encoding)
        file.seek(0)
        return code_page_of(file)


def doubt_of_text(content: bytes) -> str:
    """Why the encoding of a text is not sure, and what to do; empty where it is."""
    if utf16_of(content[:HEAD]):
        return ""
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return code_page_of(content.splitlines(keepends=True)).doubt
    return ""


def _doubt(name: str, rival: str = "") -> str:
    other = f", but may be in {rival}" if rival else ""
    return f"its encoding is uncertain: it was read as {name}{other}; save it as UTF-8"


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
