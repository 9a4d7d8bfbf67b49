"""What a heading says: its words, and the unit of the numbers below it."""

import re

from rag_assets.table_lookup.question.quantities import is_of_symbols, named_unit
from rag_assets.tables.headings import split
from rag_assets.terms.lemmas import is_known
from rag_assets.terms.units import is_unit, pint_unit

_BRACKETS = (
    re.compile(r"(?P<words>.*\S)\s*\((?P<unit>[^()]*(?:\([^()]*\)[^()]*)*)\)\s*", re.DOTALL),
    re.compile(r"(?P<words>.*\S)\s*\[(?P<unit>[^\[\]]+)\]\s*", re.DOTALL),
)
_HUMP = re.compile(r"(?<=[a-z]{2})(?=[A-Z])|(?<=[a-z])(?=[A-Z][a-z])")
_LETTERS = re.compile(r"[^\W\d_]{4,}")
LONG = 9
_PER = ("per", "pr")
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
        if found and _is_unit(found["unit"]):
            return found["words"].rstrip(" ,"), found["unit"].strip()
    found = _AFTER_WORDS.fullmatch(heading)
    if found and _is_unit(found["unit"], is_scale=False):
        return found["words"], found["unit"]
    return _of_name(heading)


def _is_unit(text: str, *, is_scale: bool = True) -> bool:
    """Whether `text` is a unit, or the short name of a scale; `pint` is asked last, as it is slow.

    Words of a dictionary (`r-value`), and long ones, are no units but those that are known here.
    """
    if is_of_symbols(text) or named_unit(text) is not None:
        return True
    words = [word.lower() for word in _LETTERS.findall(text)]
    if any(len(word) >= LONG or is_known(word, languages=("en", "sv")) for word in words):
        return False
    return is_unit(text) if is_scale else pint_unit(text) is not None


def _of_name(heading: str) -> tuple[str, str | None]:
    """`gwp kg`, `leadTimeDays`, `speed km per h`: the last words of a name may be its unit."""
    words = heading.split()
    if len(words) == 1:
        words = _HUMP.sub(" ", heading).split()
        words = [words[0], *(word.lower() if word.istitle() else word for word in words[1:])]
    *before, last = words
    after_per = len(before) > 2 and before[-1].casefold() in _PER
    unit = named_unit(last, before[-2] if after_per else before[-1]) if before else None
    above = named_unit(before[-2 if after_per else -1]) if unit and len(before) > 1 else None
    is_of_words = len(before) > 1 and before[-2].casefold() in _PER
    is_at = bool(before) and before[-1].replace(".", "").isdigit()
    if unit is None or is_at or (before[-1].casefold() in _PER and not above):
        return " ".join(words), None
    if above and not is_of_words:
        return " ".join(before[: -2 if after_per else -1]), f"{above}/{unit}"
    return " ".join(before), unit
