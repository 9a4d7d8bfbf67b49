"""Names in the running text of first hits: of documents, keys, and the columns that name things.

No table has them. Which words of a text are a name depends on what all other units are about, so
what was kept for one unit would change with an edit of another one. They are looked for where they
are followed: in the texts of the first hits of a search.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from rag_assets.terms.words import JOINING

_WORD = re.compile(r"[^\W_]+")
_BEFORE = re.compile(r"([^\W_]+)[ '-]$")
_BEHIND = re.compile(r"[ '-]([^\W_]+)")
LONGEST_WORD = 40
"""Characters of a word beside a name that are looked at."""


class NamedThing(NamedTuple):
    """A document or row that is about a name."""

    target: str
    """The unit that says so."""
    document: str | None
    """None for a row."""
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
            first, words = name.partition(" ")[0], name.count(" ") + 1
            self._longest[first] = max(words, self._longest.get(first, 0))

    def __len__(self) -> int:
        return len(self._things)

    def found_in(self, text: str) -> Iterator[tuple[str, NamedThing]]:
        """Each name in `text` as it is written there, with each thing that is about it.

        The longest name counts, from left to right, at the bounds of words. Titles and keys count
        where they are spelled as names: with the capitals that they have, and not inside of a
        longer name, such as `Lake City` in `Salt Lake City`.
        """
        text = unicodedata.normalize("NFKC", text)
        words = [(match[0].casefold(), *match.span()) for match in _WORD.finditer(text)]
        place = 0
        while place < len(words):
            most = min(self._longest.get(words[place][0], 0), len(words) - place)
            for count in range(most, 0, -1):
                name = " ".join(word for word, _, _ in words[place : place + count])
                if name in self._things:
                    start, end = words[place][1], words[place + count - 1][2]
                    for thing in self._things[name]:
                        if thing.kind == "name" or _is_spelled_as(thing, text, start, end):
                            yield text[start:end], thing
                    place += count
                    break
            else:
                place += 1


def _is_spelled_as(thing: NamedThing, text: str, start: int, end: int) -> bool:
    written, found = _WORD.findall(thing.written), _WORD.findall(text[start:end])
    is_proper = len(written) == 1 or any(word[0].isupper() for word in written[1:])
    for place, (one, other) in enumerate(zip(written, found, strict=False)):
        if one[0].isupper() and not other[0].isupper() and (place or is_proper):
            return False
    if not found[0][0].isupper():
        return True
    before = _BEFORE.search(text, max(start - LONGEST_WORD, 0), start)
    beside = [match[1] for match in (before, _BEHIND.match(text, end)) if match]
    return not any(word[0].isupper() and word.casefold() not in JOINING for word in beside)
