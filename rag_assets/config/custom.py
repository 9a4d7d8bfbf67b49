"""Parts of somebody's own, which the file names as `module:NAME`: see `rag_assets.api`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, Protocol, TypeVar, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import get_protocol_members

from rag_assets.config.base import LONGEST_SLUG, RECORD
from rag_assets.config.errors import ConfigError
from rag_assets.identity import Canonical

REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)", re.ASCII)
SEE = "see docs/extending.md"


class Revised(Protocol):
    """What all parts have."""

    revision: int


Part = TypeVar("Part", bound=Revised)


def is_custom(name: str) -> bool:
    """Whether `name` stands for a part of somebody's own."""
    return REFERENCE.fullmatch(name) is not None


@cache
def part_of(reference: str, protocol: type[Part]) -> Part:
    """The part called `module:NAME`, imported once in a process.

    Raises:
        ConfigError: There is none, or it lacks a member of `protocol`.
    """
    match = REFERENCE.fullmatch(reference)
    if match is None or len(reference) > LONGEST_SLUG:
        raise ConfigError(
            f"{reference!r}: give module:NAME, such as my_parts:NAME, of at most {LONGEST_SLUG} "
            f"characters; {SEE}"
        )
    module, name = match.groups()
    try:
        found = getattr(import_module(module), name, None)
        part = found() if isinstance(found, type) else found
    except Exception as error:  # whatever code of others raises
        is_gone = isinstance(error, ModuleNotFoundError) and module.startswith(error.name or ":")
        why = "no such module" if is_gone else f"{type(error).__name__}: {error}"
        raise ConfigError(
            f"{reference} cannot be loaded ({why}): install its package where rag_assets runs, or "
            "put its folder into PYTHONPATH"
        ) from error
    if part is None:
        raise ConfigError(f"the module {module} has no {name}; {SEE}")
    if lacking := list(_lacking(part, protocol)):
        kind = protocol.__name__.removeprefix("Custom").lower()
        raise ConfigError(f"{reference} is no {kind}: it lacks {', '.join(lacking)}; {SEE}")
    return cast("Part", part)


def _lacking(part: object, protocol: type[Revised]) -> Iterator[str]:
    for name in sorted(get_protocol_members(protocol)):
        member, method = getattr(part, name, None), getattr(protocol, name, None)
        if method is None:
            if member is None or (name == "revision" and type(member) is not int):
                yield name
            continue
        asked = [*signature(method).parameters][1:]
        try:
            signature(cast("Callable[..., object]", member)).bind(*asked)
        except (TypeError, ValueError):  # it cannot be called so
            yield f"{name}({', '.join(asked)})"


def revised(name: str, protocol: type[Revised]) -> Canonical:
    """What stands for a choice in a recipe: its name, and the revision of somebody's own part."""
    return [name, part_of(name, protocol).revision] if is_custom(name) else name


def check_custom(name: str, protocol: type[Revised], info: ValidationInfo) -> None:
    """Refuse `name` unless it is a part of this `protocol`; what is only recorded may be gone.

    Raises:
        ValueError: There is no such part, or it lacks something.
    """
    if info.context != RECORD:
        try:
            part_of(name, protocol)
        except ConfigError as error:
            raise ValueError(str(error)) from error


@dataclass(frozen=True)
class OrCustom:
    """Marks a text of the file: one of `names`, or a part of somebody's own."""

    protocol: type[Revised]
    names: tuple[str, ...] = ()

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """A text that is checked; a part is loaded."""
        return core_schema.with_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The names, or a pattern."""
        own: dict[str, Any] = {"type": "string", "pattern": f"^{REFERENCE.pattern}$"}
        return {"anyOf": [{"enum": [*self.names]}, own]} if self.names else own

    def _checked(self, name: str, info: ValidationInfo) -> str:
        if name in self.names:
            return name
        if self.names and ":" not in name:
            allowed = f"{', '.join(map(repr, self.names))} or module:NAME of your own"
            raise PydanticCustomError(
                "literal_error", "Input should be {allowed}", {"allowed": allowed}
            )
        check_custom(name, self.protocol, info)
        return name
