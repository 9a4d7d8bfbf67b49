"""Traces of a document: texts that, wherever they occur, show that a part of it is still there.

They are its names (URI, file name, ids, hashes of its bytes and pictures), its n-grams (sequences
of a few words) and its words. A text that another document or a table row contains too is no trace:
it proves nothing. Texts are compared word by word, in lower case and after the escapes of JSON and
HTML are undone, so that they are found in records and reports as well.
"""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

NGRAM_WORDS = 4
"""The words of an n-gram: fewer occur by chance, more are cut off in the previews of records."""
SHORTEST_WORD = 6
"""The fewest bytes of a single word that is a trace; shorter ones occur in any file by chance."""
BLOCK = 8 * 2**20
OVERLAP = 2**16
"""The bytes that two blocks of a file share: no n-gram is longer."""

WORD = re.compile(rb"[0-9a-z_\x80-\xff]+")
WITHOUT_BLANKS = re.compile(
    rb"(?:(?:[\xe3-\xe9][\x80-\xbf]|\xe0[\xb8-\xbb]|\xe1[\x80-\x82\x9e\x9f]|\xef[\xbc\xbd])"
    rb"[\x80-\xbf])+"
)
"""Letters of Chinese, Japanese, Thai, Lao, Burmese and Khmer, which put no blanks between words."""
LETTER = 3
"""The bytes of a letter of these scripts."""
LONG_ESCAPE = re.compile(rb"\\+u(d[89ab][0-9a-f]{2})\\+u(d[c-f][0-9a-f]{2})|\\+u([0-9a-f]{4})")
SHORT_ESCAPE = re.compile(rb"\\+[nrt\"]")
ENTITY = re.compile(rb"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|amp|lt|gt|quot|apos);")
BETWEEN = b" \xff\xff "
"""Separates texts that are searched at once: no text in UTF-8 contains it."""

Ngram: TypeAlias = tuple[bytes, ...]


@dataclass(frozen=True)
class Traces:
    """The names, n-grams and words to search for."""

    names: frozenset[bytes]
    """The names to search for, in the form of `plain`."""
    longer: frozenset[bytes]
    """Names of other documents that contain one of `names`: those are no traces."""
    ngrams: frozenset[Ngram]
    words: frozenset[bytes]
    """The words of this document alone. They count in tables only: records of Dagster have other
    words."""

    @cached_property
    def _named(self) -> re.Pattern[bytes] | None:
        every = sorted(self.names | self.longer, key=len, reverse=True)
        if not self.names:
            return None
        return re.compile(rb"(?<![\w.-])(?:" + b"|".join(map(re.escape, every)) + rb")(?![\w])")

    def are_in(self, *texts: str | bytes, with_words: bool = False) -> bool:
        """Whether one of `texts` contains a trace."""
        return self.first_in(*texts, with_words=with_words) is not None

    def first_in(self, *texts: str | bytes, with_words: bool = False) -> str | None:
        """A trace that `texts` contain, as text for people; None if there is none."""
        content = plain(BETWEEN.join(map(_bytes, texts)))
        if self._named:
            for match in self._named.finditer(content):
                if match[0] in self.names:
                    return _shown(match[0])
        if not self.ngrams and not (with_words and self.words):
            return None
        words = _words(content)
        found = self.ngrams.intersection(ngrams_of(words))
        if found:
            return _shown(b" ".join(min(found)))
        single = self.words.intersection(words) if with_words else ()
        return _shown(min(single)) if single else None

    def first_in_file(self, file: Path) -> str | None:
        """A trace in the bytes of a file; None if there is none."""
        with file.open("rb") as opened:
            before = b""
            while block := opened.read(BLOCK):
                if (found := self.first_in(before + block)) is not None:
                    return found
                before = block[-OVERLAP:]
        return None

    def without_texts(self, texts: Iterable[bytes]) -> "Traces":
        """The traces that none of `texts` contains: `texts` come from others."""
        names, ngrams, words = set(self.names), set(self.ngrams), set(self.words)
        for text in texts:
            content = plain(text)
            found = _words(content)
            words.difference_update(found)
            ngrams.difference_update(ngrams_of(found))
            left = replace(self, names=frozenset(names))
            while (name := left.name_in(content)) is not None:
                names.discard(name)
                left = replace(left, names=frozenset(names))
        return replace(
            self, names=frozenset(names), ngrams=frozenset(ngrams), words=frozenset(words)
        )

    def name_in(self, content: bytes) -> bytes | None:
        """A name in `content`, which is in the form of `plain`; None if there is none."""
        found = self._named.finditer(content) if self._named else ()
        return next((match[0] for match in found if match[0] in self.names), None)


def traces_of(
    texts: Iterable[bytes], *, names: Iterable[str], other_names: Iterable[str]
) -> Traces:
    """The traces of `texts` and `names`, without names that others have too.

    The form that a name has in a URL is a trace as well: files may be called by it.
    """
    others = {plain(name.encode()) for name in other_names}
    given = {name for name in names if name}
    written = given | {quote(name, safe=safe) for name in given for safe in ("", "/")}
    own = {plain(name.encode()) for name in written} - others
    ngrams: set[Ngram] = set()
    words: set[bytes] = set()
    for text in texts:
        found = words_of(text)
        ngrams.update(ngrams_of(found))
        words.update(word for word in found if len(word) >= SHORTEST_WORD)
    longer = {other for other in others if any(name in other for name in own)}
    return Traces(frozenset(own), frozenset(longer), frozenset(ngrams), frozenset(words))


def plain(text: bytes) -> bytes:
    """`text` in lower case and without the escapes of JSON and HTML."""
    text = text.lower()
    if b"\\" in text:
        text = SHORT_ESCAPE.sub(b" ", LONG_ESCAPE.sub(_character, text))
    return ENTITY.sub(_entity, text) if b"&" in text else text


def words_of(text: bytes) -> list[bytes]:
    """The words of a text, in the form of `plain`."""
    return _words(plain(text))


def _words(content: bytes) -> list[bytes]:
    return WORD.findall(content if content.isascii() else WITHOUT_BLANKS.sub(_pairs, content))


def _pairs(letters: re.Match[bytes]) -> bytes:
    """All pairs of letters, as words: first those that do not overlap, then those between."""
    pair = 2 * LETTER
    starts = (at for first in (0, LETTER) for at in range(first, len(letters[0]), pair))
    return b" ".join([b"", *(letters[0][at : at + pair] for at in starts), b""])


def ngrams_of(words: list[bytes]) -> Iterator[Ngram]:
    """All sequences of `NGRAM_WORDS` words."""
    return zip(*(words[start:] for start in range(NGRAM_WORDS)), strict=False)


def _character(escape: re.Match[bytes]) -> bytes:
    high, low, single = escape.groups()
    units = [single] if single else [high, low]
    coded = b"".join(int(unit, 16).to_bytes(2, "big") for unit in units)
    return coded.decode("utf-16-be", "replace").encode()


def _entity(entity: re.Match[bytes]) -> bytes:
    return html.unescape(entity[0].decode("ascii")).encode("utf-8", "replace")


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _shown(found: bytes) -> str:
    return found.decode("utf-8", "replace")
