"""Headings in plain words: `yield strength [MPa]` is words with a unit in square brackets."""

import re
from functools import lru_cache

UNIT_HEADINGS = frozenset({"unit", "units", "uom", "unit of measurement", "enhet", "enheter"})
"""What a column is called that holds the units of the column before it."""
_WITH_UNIT = re.compile(r"(?P<words>.*\S)\s*\[(?P<unit>[^\[\]]+)\]", re.DOTALL)


def humanised(name: str) -> str:
    """A raw column or table name as words: `melting_point` is `melting point`.

    Case stays as it is, since it carries meaning (pH, MPa, Fe).
    """
    return " ".join(name.replace("_", " ").split()) or name


@lru_cache(maxsize=65_536)
def split(heading: str) -> tuple[str, str | None]:
    """The words and the unit of a heading; the unit is None if there is none."""
    found = _WITH_UNIT.fullmatch(heading)
    return (found["words"], found["unit"]) if found else (heading, None)
