"""What all sections of the file share: names, owners, unknown keys, defaults that are merged."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    JsonValue,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from rag_assets.config.errors import ConfigError, Problems, did_you_mean
from rag_assets.process.errors import RequestError

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
        RequestError: Nothing of that `kind` has it; `key` is where it was given.
    """
    if name is not None and name not in known:
        there = f"{', '.join(known) or 'none'}{did_you_mean(name, known)}"
        raise RequestError(f"{key}: no {kind} is named {name!r}; there are {there}")


def duplicates(names: Iterable[str]) -> list[str]:
    """The names that occur more than once in `names`, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


RECORD = "recorded"
"""The context in which settings are read that were recorded, not written by somebody."""


class Section(BaseModel):
    """A part of the file: unknown keys are errors, values do not change once loaded."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @classmethod
    def from_record(cls, given: object) -> Self:
        """Read what a record holds, of this release or an earlier one.

        Raises:
            ConfigError: It uses a key that is gone, other than by its default, or is no section.
        """
        try:
            return cls.model_validate(given, context=RECORD)
        except ValidationError as error:
            problems = (problem["msg"] for problem in error.errors(include_url=False))
            told = "; ".join(problem.removeprefix("Value error, ") for problem in problems)
            raise ConfigError(f"recorded {cls.__name__} cannot be used: {told}") from None


_REMOVED = TypeAdapter(dict[str, dict[str, dict[str, JsonValue]]]).validate_python(
    read_data(Path(__file__).with_name("removed_keys.yaml"))
)


class ExtendedSection(Section):
    """A section whose keys changed after fingerprints of it had been kept.

    An added key is left out of a dump while it has its default, and one of `removed_keys.yaml`
    stays there with the default that it had: the fingerprints of settings that use neither stay.
    """

    added_keys: ClassVar[frozenset[str]] = frozenset()
    """Names of keys that were added, of those that were removed since as well."""

    @model_validator(mode="before")
    @classmethod
    def _without_removed_keys(cls, given: object, info: ValidationInfo) -> object:
        if not isinstance(given, Mapping):
            return given
        gone, problems = removed_keys(cls), Problems()
        for key in (key for key in given if key in gone):
            instead = gone[key]["instead"]
            with problems:
                if info.context != RECORD:
                    raise ValueError(f"delete the line `{key}`: {instead}")
                if given[key] != gone[key].get("recorded", given[key]):
                    raise ValueError(f"`{key}` was {given[key]!r}, and is gone: {instead}")
        problems.tell()
        return {key: value for key, value in given.items() if key not in gone}

    @model_serializer(mode="wrap")
    def _as_recorded(
        self, dump: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, object]:
        fields, gone = type(self).model_fields, removed_keys(type(self))
        unused = {
            name
            for name in self.added_keys
            if name in gone or getattr(self, name) == fields[name].default
        }
        whole = dump(self)
        if not (info.exclude_defaults or info.exclude_unset):
            last = {name: key["recorded"] for name, key in gone.items() if "recorded" in key}
            whole = last | whole
        return {name: value for name, value in whole.items() if name not in unused}


@cache
def removed_keys(section: type[BaseModel]) -> dict[str, dict[str, JsonValue]]:
    """The keys that a section had, its own and those of the sections that it extends."""
    classes = reversed(section.__mro__)
    return {name: key for one in classes for name, key in _REMOVED.get(one.__name__, {}).items()}


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
