"""What changed between two versions of a document, section by section, from their elements.

Sections are matched by their headings without numbers, so that a section which only moved is the
same one. Of a section that is in both, the sentences that were added and removed are told, and the
numbers that changed in sentences that are otherwise equal.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from rag_assets.schemas import HEADINGS
from rag_assets.store import Store

NO_SECTION = "(before the first heading)"
_NUMBERING = re.compile(r"^\s*(?:\d+(?:\.\d+)*\.?|[A-Z]\.\d+(?:\.\d+)*)\s+")
_NUMBER = re.compile(r"[-\u2212\u2013]?\d+(?:[.,\u00a0 ]\d+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_LEFT_OUT = ("page_header", "page_footer")


@dataclass(frozen=True, slots=True)
class NumberChange:
    """A sentence in which only numbers changed."""

    before: str
    after: str
    numbers: Sequence[tuple[str, str]]
    """Old and new value of each that changed."""


@dataclass(frozen=True, slots=True)
class SectionChange:
    """What became of one section."""

    section: str
    """The headings of the section, outermost first, joined by ' > '."""
    kind: Literal["added", "removed", "changed"]
    added: Sequence[str] = ()
    """Sentences, lines of tables included."""
    removed: Sequence[str] = ()
    numbers: Sequence[NumberChange] = ()


def section_changes(
    older: Sequence[tuple[Sequence[str], str]], newer: Sequence[tuple[Sequence[str], str]]
) -> list[SectionChange]:
    """The sections that differ, in the order of the newer version, removed ones last.

    Args:
        older: Section path and text of each element, in reading order.
        newer: Likewise.
    """
    before, after = _sections(older), _sections(newer)
    found = [
        change
        for key, (name, lines) in after.items()
        if (change := _changed(before.get(key), name, lines))
    ]
    gone = [
        SectionChange(name, "removed", removed=lines)
        for key, (name, lines) in before.items()
        if key not in after
    ]
    return [*found, *gone]


def read_sections(store: Store, elements: str, document: str) -> list[tuple[Sequence[str], str]]:
    """Section path and text of each element of a document, without its page headers."""
    columns = ["index", "type", "section_path", "text"]
    rows = store.read_keys(elements, column="document_id", keys=[document], columns=columns)
    return [
        (row["section_path"], row["text"])
        for row in rows.sort_by("index").to_pylist()
        if row["text"] and row["type"] not in (*_LEFT_OUT, *HEADINGS)
    ]


def _sections(
    elements: Sequence[tuple[Sequence[str], str]],
) -> Mapping[str, tuple[str, Sequence[str]]]:
    """The name and the sentences of each section, by its comparable name."""
    found: dict[str, tuple[str, list[str]]] = {}
    for path, text in elements:
        name = " > ".join(path) or NO_SECTION
        key = " > ".join(" ".join(_NUMBERING.sub("", part).lower().split()) for part in path)
        lines = found.setdefault(key, (name, []))[1]
        lines.extend(" ".join(line.split()) for line in _SENTENCE_END.split(text) if line.strip())
    return found


def _changed(
    before: tuple[str, Sequence[str]] | None, name: str, lines: Sequence[str]
) -> SectionChange | None:
    if before is None:
        return SectionChange(name, "added", added=lines)
    added: list[str] = []
    removed: list[str] = []
    numbers: list[NumberChange] = []
    matcher = SequenceMatcher(None, before[1], lines, autojunk=False)
    for kind, first, end, start, stop in matcher.get_opcodes():
        if kind != "equal":
            gone, come = _without_numbers(before[1][first:end], lines[start:stop], numbers)
            removed += gone
            added += come
    if not (added or removed or numbers):
        return None
    return SectionChange(name, "changed", added=added, removed=removed, numbers=numbers)


def _without_numbers(
    older: Sequence[str], newer: Sequence[str], numbers: list[NumberChange]
) -> tuple[list[str], list[str]]:
    """What is left of both once sentences that differ only in numbers are noted in `numbers`."""
    come = list(newer)
    gone = []
    for line in older:
        same = next(
            (each for each in come if _NUMBER.sub("#", each) == _NUMBER.sub("#", line)), None
        )
        if same is None or not _NUMBER.search(line):
            gone.append(line)
            continue
        come.remove(same)
        numbers.append(NumberChange(line, same, list(_number_pairs(line, same))))
    return gone, come


def _number_pairs(before: str, after: str) -> Iterator[tuple[str, str]]:
    for one, other in zip(_NUMBER.findall(before), _NUMBER.findall(after), strict=True):
        if one != other:
            yield one, other
