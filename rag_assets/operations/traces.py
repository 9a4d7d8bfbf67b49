"""Traces of a document: what tells, wherever it is found, that something of it is still there.

They are its names (URI, file name, ids, hashes of its bytes and pictures), every run of a few words
that it says, and its words. What other documents or rows of tables say too is none: a sentence that
stays with another document proves nothing. Text is compared word by word and in lower case, after
the escapes of JSON and HTML are undone, so that it is found in records and reports as well.
"""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

RUN_WORDS = 4
"""Words of a run: fewer are said by chance, more are cut off by the previews of records."""
SHORTEST_WORD = 6
"""Bytes of a word that counts by itself; shorter ones come about in any file by chance."""
BLOCK = 8 * 2**20
OVERLAP = 2**16
"""Bytes that two blocks of a file share: no run of words is longer."""

WORD = re.compile(rb"[0-9a-z_\x80-\xff]+")
LONG_ESCAPE = re.compile(rb"\\+u(d[89ab][0-9a-f]{2})\\+u(d[c-f][0-9a-f]{2})|\\+u([0-9a-f]{4})")
SHORT_ESCAPE = re.compile(rb"\\+[nrt\"]")
ENTITY = re.compile(rb"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|amp|lt|gt|quot|apos);")
BETWEEN = b" \xff\xff "
"""Stands between texts that are searched at once: no text in UTF-8 says it."""

Run: TypeAlias = tuple[bytes, ...]


@dataclass(frozen=True)
class Traces:
    """What is searched for."""

    names: frozenset[bytes]
    """In the form of `plain`."""
    longer: frozenset[bytes]
    """Names of other documents that hold one of `names`: there it says nothing."""
    runs: frozenset[Run]
    words: frozenset[bytes]
    """Words that nothing else says. They count in tables alone: Dagster has words of its own."""

    @cached_property
    def _named(self) -> re.Pattern[bytes] | None:
        every = sorted(self.names | self.longer, key=len, reverse=True)
        if not self.names:
            return None
        return re.compile(rb"(?<![\w.-])(?:" + b"|".join(map(re.escape, every)) + rb")(?![\w])")

    def are_in(self, *texts: str | bytes, with_words: bool = False) -> bool:
        """Whether one of `texts` holds any of them."""
        return self.first_in(*texts, with_words=with_words) is not None

    def first_in(self, *texts: str | bytes, with_words: bool = False) -> str | None:
        """What of them `texts` hold, one of it, for people; None if there is none."""
        content = plain(BETWEEN.join(map(_bytes, texts)))
        if self._named:
            for match in self._named.finditer(content):
                if match[0] in self.names:
                    return _shown(match[0])
        if not self.runs and not (with_words and self.words):
            return None
        words = WORD.findall(content)
        found = self.runs.intersection(runs_of(words))
        if found:
            return _shown(b" ".join(min(found)))
        single = self.words.intersection(words) if with_words else ()
        return _shown(min(single)) if single else None

    def first_in_file(self, file: Path) -> str | None:
        """The same of the bytes of a file, whatever they mean."""
        with file.open("rb") as opened:
            before = b""
            while block := opened.read(BLOCK):
                if (found := self.first_in(before + block)) is not None:
                    return found
                before = block[-OVERLAP:]
        return None

    def unless_in(self, texts: Iterable[bytes]) -> "Traces":
        """Those that none of `texts` holds: they are what others say."""
        names, runs, words = set(self.names), set(self.runs), set(self.words)
        for text in texts:
            content = plain(text)
            said = WORD.findall(content)
            words.difference_update(said)
            runs.difference_update(runs_of(said))
            held = replace(self, names=frozenset(names))
            while (name := held.name_in(content)) is not None:
                names.discard(name)
                held = replace(held, names=frozenset(names))
        return replace(self, names=frozenset(names), runs=frozenset(runs), words=frozenset(words))

    def name_in(self, content: bytes) -> bytes | None:
        """A name that `content`, in the form of `plain`, holds."""
        found = self._named.finditer(content) if self._named else ()
        return next((match[0] for match in found if match[0] in self.names), None)


def traces_of(
    texts: Iterable[bytes], *, names: Iterable[str], other_names: Iterable[str]
) -> Traces:
    """All that `texts` and `names` say; names that others have too are left out.

    A name counts as it is written in a URL too: so do files that are called by it.
    """
    others = {plain(name.encode()) for name in other_names}
    given = {name for name in names if name}
    written = given | {quote(name, safe=safe) for name in given for safe in ("", "/")}
    own = {plain(name.encode()) for name in written} - others
    runs: set[Run] = set()
    words: set[bytes] = set()
    for text in texts:
        said = WORD.findall(plain(text))
        runs.update(runs_of(said))
        words.update(word for word in said if len(word) >= SHORTEST_WORD)
    longer = {other for other in others if any(name in other for name in own)}
    return Traces(frozenset(own), frozenset(longer), frozenset(runs), frozenset(words))


def plain(text: bytes) -> bytes:
    """`text` in lower case and without the escapes of JSON and HTML."""
    text = text.lower()
    if b"\\" in text:
        text = SHORT_ESCAPE.sub(b" ", LONG_ESCAPE.sub(_character, text))
    return ENTITY.sub(_entity, text) if b"&" in text else text


def runs_of(words: list[bytes]) -> Iterator[Run]:
    """All runs of `RUN_WORDS` words."""
    return zip(*(words[start:] for start in range(RUN_WORDS)), strict=False)


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
