"""Names in the running text of first hits: of documents, keys, and the columns that name things.

No table has them. Which words of a text are a name depends on what all other units are about, so
what was kept for one unit would change with an edit of another one. They are looked for where they
are followed: in the texts of the first hits of a search.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from rag_assets.terms.names import name_of
from rag_assets.terms.words import JOINING

_WORD = re.compile(r"([^\W_]+)[^\w\s]*")
"""A word, and behind it what may be of it, as in `C++`."""
_ENDING = ".,:;!?/'\"()[]{}-\u2013\u2014\u2019\u201d\u2026\u00bb"
_BEFORE = re.compile(r"([^\W_]+)[ '-]$")
_BEHIND = re.compile(r"[ '-]([^\W_]+)")
LONGEST_WORD = 40
"""At most so many characters of a word beside a name are looked at."""


class NamedThing(NamedTuple):
    """A document or row that is about a name."""

    target: str
    """The unit that says so."""
    document: str | None
    """The document that has the name; None for a row."""
    kind: str
    """`title`, `key`, or `name` for the value of a column that names things."""
    written: str
    """The name, as it is written there."""


class NamesInText:
    """The names that documents and rows are about, to be found in texts; safe to share."""

    def __init__(self, names: pa.Table, *, synonyms: Mapping[str, str]) -> None:
        """`names` as `store.unit_links.names_of` gives them, found by their `synonyms` too."""
        things = defaultdict[str, list[NamedThing]](list)
        for row in names.to_pylist():
            document = row["thing"] if row["is_document"] else None
            thing = NamedThing(row["target"], document, row["kind"], row["text"])
            things[row["name"]].append(thing)
        self._things: dict[str, Sequence[NamedThing]] = dict(things)
        for name, meaning in synonyms.items():
            if meaning in things:
                self._things.setdefault(name, things[meaning])
        self._longest: dict[str, int] = {}
        for name in self._things:
            words = _WORD.findall(name)
            if words:
                self._longest[words[0]] = max(len(words), self._longest.get(words[0], 0))

    def __len__(self) -> int:
        return len(self._things)

    def found_in(self, text: str) -> Iterator[tuple[str, NamedThing]]:
        """Each name in `text` as it is written there, with each thing that is about it.

        The longest name counts, from left to right, at the bounds of words. Titles and keys count
        where they are spelled as names: with the capitals that they have, and not inside of a
        longer name, such as `Lake City` in `Salt Lake City`.
        """
        words = [*_WORD.finditer(text)]
        place = 0
        while place < len(words):
            most = min(self._longest.get(words[place][1].casefold(), 0), len(words) - place)
            for count in range(most, 0, -1):
                start, end = words[place].start(), words[place + count - 1].end()
                things = self._things.get(name_of(text[start:end]))
                if things:
                    written = text[start:end].rstrip(_ENDING)
                    for thing in things:
                        if thing.kind == "name" or _is_spelled_as(thing, text, start, written):
                            yield written, thing
                    place += count
                    break
            else:
                place += 1


def _is_spelled_as(thing: NamedThing, text: str, start: int, found: str) -> bool:
    """Whether `found`, at `start` of a text, is spelled as a title or key, and is all of a name."""
    written, here = ([*map(_initial, _WORD.finditer(each))] for each in (thing.written, found))
    is_proper = len(written) == 1 or any(map(str.isupper, written[1:]))
    first = 0 if is_proper else 1
    pairs = zip(written[first:], here[first:], strict=False)
    if any(one.isupper() and not other.isupper() for one, other in pairs):
        return False
    if not here[0].isupper():
        return True
    end = start + len(found)
    before = _BEFORE.search(text, max(start - LONGEST_WORD, 0), start)
    beside = [match[1] for match in (before, _BEHIND.match(text, end)) if match]
    return not any(word[0].isupper() and word.casefold() not in JOINING for word in beside)


def _initial(word: re.Match[str]) -> str:
    return word[1][0]
