"""What all sections of the file have in common."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict

SLUG = re.compile(r"[a-z0-9]+([_-][a-z0-9]+)*")
"""Never two underscores: `__` parts the names inside a table's name, and a variable's levels."""
LONGEST_SLUG = 60
"""The folder of a table has four of them in its name, and a file system takes 255 bytes."""

MOST_SECONDS = 2_147_483
"""Longest time limit: 24 days, as servers and clocks count milliseconds in 32 bits."""


def _slug(name: str) -> str:
    if not SLUG.fullmatch(name):
        raise ValueError(
            "a name has lowercase letters a-z and digits, with single - or _ between them, such "
            "as test-reports_2024"
        )
    if len(name) > LONGEST_SLUG:
        raise ValueError(f"a name has at most {LONGEST_SLUG} characters")
    return name


Slug: TypeAlias = Annotated[str, AfterValidator(_slug)]
"""A name that the file gives to something; it stands in names of tables, files and assets."""

OWNER = re.compile(r"team:\S.*|\w[\w.%+-]*@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}", re.ASCII)
"""What Dagster takes for an owner."""


def _owner(name: str) -> str:
    if not OWNER.fullmatch(name):
        raise ValueError("give team:NAME, or an e-mail address such as data@example.org")
    return name


Owner: TypeAlias = Annotated[str, AfterValidator(_owner)]


def duplicates(names: Iterable[str]) -> list[str]:
    """Those of `names` that are there more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


class Section(BaseModel):
    """A part of the file: unknown keys are errors, values do not change once loaded."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def merged_with_defaults(given: object, *, defaults: Mapping[str, Section]) -> object:
    """Named entries of the file over those that are there without being written down.

    An entry with the name of a default changes what it names of it, key by key and at any depth.
    """
    if not isinstance(given, dict):
        return given
    changed = {
        name: _over(defaults[name].model_dump(exclude_unset=True), entry)
        if name in defaults and isinstance(entry, dict)
        else entry
        for name, entry in given.items()
    }
    return {**defaults, **changed}


def _over(held: object, given: object) -> object:
    if not isinstance(held, dict) or not isinstance(given, dict):
        return given
    return held | {key: _over(held.get(key), value) for key, value in given.items()}
