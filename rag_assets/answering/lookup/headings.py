"""What a heading says: its words, and the unit of the numbers below it."""

import re

from rag_assets.answering.lookup.units import is_unit, pint_unit
from rag_assets.tables.headings import split

_BRACKETS = (
    re.compile(r"(?P<words>.*\S)\s*\((?P<unit>[^()]*(?:\([^()]*\)[^()]*)*)\)\s*", re.DOTALL),
    re.compile(r"(?P<words>.*\S)\s*\[(?P<unit>[^\[\]]+)\]\s*", re.DOTALL),
)
_AFTER_WORDS = re.compile(r"(?P<words>.*\S)(?:,\s*|\s+in\s+|\s+/\s+)(?P<unit>[^\s,()]+)", re.DOTALL)


def words_and_unit(heading: str, *, is_numeric: bool) -> tuple[str, str | None]:
    """The words of a heading, and the unit that it states for its numbers.

    `Yield strength (MPa)`, `Yield strength [MPa]`, `Yield strength in MPa` and `Yield strength,
    MPa` all state MPa; brackets that hold a remark stay with the words.
    """
    heading = " ".join(heading.split())
    words, unit = split(heading)
    if unit is not None:
        return words, unit
    if not is_numeric:
        return heading, None
    for pattern in _BRACKETS:
        found = pattern.fullmatch(heading)
        if found and is_unit(found["unit"]):
            return found["words"].rstrip(" ,"), found["unit"].strip()
    found = _AFTER_WORDS.fullmatch(heading)
    if found and pint_unit(found["unit"]) is not None:
        return found["words"], found["unit"]
    return heading, None
