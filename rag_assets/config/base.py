"""What all sections of the file have in common."""

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

SLUG = r"^[a-z0-9]+([_-][a-z0-9]+)*$"
"""Never two underscores: `__` parts the names inside a table's name, and a variable's levels."""
Slug: TypeAlias = Annotated[str, Field(pattern=SLUG)]


class Section(BaseModel):
    """A part of the file: unknown keys are errors, values do not change once loaded."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def over_defaults(given: object, *, defaults: Mapping[str, Section]) -> object:
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
