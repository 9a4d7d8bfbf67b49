"""The links between the units of one index, in memory: `store.unit_links` says what a link is."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import cast, get_args

import pyarrow as pa

from rag_assets.config import TextNameKind
from rag_assets.retrieval.glossary import Glossary
from rag_assets.retrieval.text_names import NamesInText
from rag_assets.terms.formulas import SYMBOL_OF, names_of
from rag_assets.terms.names import name_of

KINDS_KEPT = 2
"""Choices of kinds of names whose names are kept in memory."""


@dataclass(frozen=True, slots=True)
class WayOverLink:
    """The way over one link."""

    start: str
    """The unit that was found first."""
    text: str
    """The name, as it is written in the unit that mentions it."""
    kind: str
    """`title`, `key`, `name`, `identifier`, `formula`, `foreign_key` or `relation`."""
    is_back: bool
    """Whether the first unit is about the name, and this one mentions it; else the other way."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A thing at the other end of a link: a unit, or a document with the chunk that names it."""

    unit: str
    document: str | None
    step: WayOverLink


class LinksInMemory:
    """The links between the units of one index, in memory; safe to share between threads."""

    def __init__(
        self,
        links: pa.Table,
        *,
        load_names: Callable[[Sequence[str]], NamesInText] | None = None,
    ) -> None:
        """`links` as `store.unit_links.links_of` gives them; `load_names`, those of some kinds."""
        self._load_names = lru_cache(maxsize=KINDS_KEPT)(load_names) if load_names else None
        self._units, self._targets, self._things, self._texts, self._kinds = (
            [*map(intern, cast("list[str]", links[name].to_pylist()))]  # many are equal
            for name in ("unit_id", "target", "thing", "text", "kind")
        )
        self._is_document = cast("list[bool]", links["is_document"].to_pylist())
        self._of_unit = _places(self._units)
        self._of_thing = _places(self._things)

    def __len__(self) -> int:
        return len(self._units)

    def from_unit(self, unit: str) -> Iterator[Reached]:
        """What is about the names that a unit mentions."""
        for place in self._of_unit.get(unit, ()):
            document = self._things[place] if self._is_document[place] else None
            yield Reached(self._targets[place], document, self._step(unit, place, is_back=False))

    def degree(self, unit: str, document: str | None) -> int:
        """How many links a unit has: what it names, and what names it or its document."""
        return len(self._of_unit.get(unit, ())) + len(self._of_thing.get(document or unit, ()))

    def to_thing(self, unit: str, document: str | None, *, most: int) -> Iterator[Reached]:
        """What mentions the names that a unit, or its document, is about; none of more than `most`.

        What very many units mention, such as a country, says nothing about any of them.
        """
        places = self._of_thing.get(document or unit, ())
        if len(places) <= most:
            for place in places:
                yield Reached(self._units[place], None, self._step(unit, place, is_back=True))

    def names(self, kinds: Sequence[TextNameKind]) -> NamesInText | None:
        """The names of these kinds that are looked for in texts; None where there are none."""
        load = self._load_names
        return (load(tuple(kinds)) or None) if kinds and load else None

    def ways_from(self, unit: str, text: str, document: str | None) -> Iterator[Reached]:
        """All that a unit leads to, those names in its text that are looked for anywhere last."""
        yield from self.from_unit(unit)
        yield from self.to_thing(unit, document, most=len(self))
        if names := self.names(get_args(TextNameKind)):
            yield from in_text(unit, text, document, names=names)

    def _step(self, start: str, place: int, *, is_back: bool) -> WayOverLink:
        return WayOverLink(start, self._texts[place], self._kinds[place], is_back)


def in_text(unit: str, text: str, document: str | None, *, names: NamesInText) -> Iterator[Reached]:
    """What is about the `names` in the text of a unit, itself and its document left out."""
    for written, thing in names.found_in(text):
        if thing.target != unit and (document is None or thing.document != document):
            step = WayOverLink(unit, written, thing.kind, is_back=False)
            yield Reached(thing.target, thing.document, step)


def _places(names: Sequence[str]) -> Mapping[str, Sequence[int]]:
    found = defaultdict[str, list[int]](list)
    for place, name in enumerate(names):
        found[name].append(place)
    return dict(found)


def synonyms_of(glossary: Glossary | None) -> Mapping[str, str]:
    """For names that mean the same, the one that stands for them.

    They are those of chemical elements and the entries of the glossary. A name of two meanings
    stands for itself.
    """
    entries = [names_of(symbol) for symbol in SYMBOL_OF.values()]
    for each in glossary.entries if glossary else ():
        entries.append((each.term, *each.synonyms, *each.abbreviations))
    meanings = defaultdict[str, set[str]](set)
    for entry in entries:
        for name in (names := [*filter(None, map(name_of, entry))]):
            meanings[name].add(names[0])
    return {name: min(found) for name, found in meanings.items() if len(found) == 1}
