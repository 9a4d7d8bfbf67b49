"""What all sections of the file share: names, owners, unknown keys, defaults that are merged."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    model_serializer,
)

SLUG = re.compile(r"[a-z0-9]+([_-][a-z0-9]+)*")
"""Never two underscores in a row: `__` separates names in the name of a table, and the levels in
the name of an environment variable."""
ALONE, BY_DOMAIN = "[alone]", "[by domain]"
"""What pydantic inserts into the place of a value that may have two forms."""
LONGEST_SLUG = 60
"""The folder of a table has four such names in its own, and a file system allows 255 bytes."""

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
"""A name that the config file gives to something: names of tables, files and assets contain it."""

OWNER = re.compile(r"team:\S.*|\w[\w.%+-]*@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}", re.ASCII)
"""What Dagster accepts as an owner."""


def _owner(name: str) -> str:
    if not OWNER.fullmatch(name):
        raise ValueError("give team:NAME, or an e-mail address such as data@example.org")
    return name


Owner: TypeAlias = Annotated[str, AfterValidator(_owner)]


def read_data(file: Path) -> object:
    """What a YAML file of the package holds; it is ours, so that nothing of it is checked."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is there
    return yaml.load(file.read_text("utf-8"), Loader=loader)


def check_named(name: str | None, known: Iterable[str], *, kind: str, key: str) -> None:
    """Refuse a name that is given and not `known`.

    Raises:
        ValueError: Nothing of that `kind` has it; `key` is where it was given.
    """
    if name is not None and name not in known:
        there = ", ".join(known) or "none"
        raise ValueError(f"{key}: no {kind} is named {name!r}; there are {there}")


def duplicates(names: Iterable[str]) -> list[str]:
    """Those of `names` that occur more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


class Section(BaseModel):
    """A part of the file: unknown keys are errors, values do not change once loaded."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ExtendedSection(Section):
    """A section with keys that were added after fingerprints of it had been kept.

    Such a key is left out of a dump while it has its default, so that the fingerprints of settings
    that do not use it stay as they were.
    """

    added_keys: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_unused_keys(self, dump: SerializerFunctionWrapHandler) -> dict[str, object]:
        fields = type(self).model_fields
        unused = {name for name in self.added_keys if getattr(self, name) == fields[name].default}
        return {name: value for name, value in dump(self).items() if name not in unused}


def merged_with_defaults(given: object, *, defaults: Mapping[str, Section]) -> object:
    """The named entries of a section: the defaults, changed and extended by those of the file.

    An entry of the file with the name of a default changes only the keys that it names, at any
    depth.
    """
    if not isinstance(given, dict):
        return given
    changed = {
        name: merged(defaults[name].model_dump(exclude_unset=True), entry)
        if name in defaults and isinstance(entry, dict)
        else entry
        for name, entry in given.items()
    }
    return {**defaults, **changed}


def merged(default: object, given: object) -> object:
    """`default` with the keys that `given` names, at any depth."""
    if not isinstance(default, dict) or not isinstance(given, dict):
        return given
    return default | {key: merged(default.get(key), value) for key, value in given.items()}
