"""Parts of somebody's own, which the file names as `module:NAME`: see `rag_assets.api`."""

import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import get_protocol_members

from rag_assets.config.base import LONGEST_SLUG, RECORD
from rag_assets.config.errors import ConfigError, did_you_mean
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
    found = named(reference)
    with _explained(reference):
        part = found() if isinstance(found, type) else found
    if lacking := list(_lacking(part, protocol)):
        kind = protocol.__name__.removeprefix("Custom").lower()
        raise ConfigError(f"{reference} is no {kind}: it lacks {', '.join(lacking)}; {SEE}")
    return cast("Part", part)


def named(reference: str, *, folder: Path | None = None) -> object:
    """What `module:NAME` stands for.

    Args:
        reference: As the file has it.
        folder: Where modules are looked for first; where Python looks for them unless given.

    Raises:
        ConfigError: There is none, it cannot be imported, or another of that name is there.
    """
    module, _, name = reference.partition(":")
    if folder and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    with _explained(reference, folder):
        loaded = import_module(module)
    if folder:
        place = folder.joinpath(*module.split("."))
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file() and not (loaded.__file__ and file.samefile(loaded.__file__)):
                raise ConfigError(
                    f"{reference}: {loaded.__file__ or 'a part of Python'} is loaded under this "
                    f"name, and not {file}: a process has one module of a name, so rename it"
                )
    if getattr(loaded, name, None) is None:
        raise ConfigError(f"the module {module} has no {name}{did_you_mean(name, vars(loaded))}")
    return getattr(loaded, name)


@contextmanager
def _explained(reference: str, folder: Path | None = None) -> Generator[None]:
    """Tell what the code of others raises while it is loaded."""
    try:
        yield
    except (Exception, SystemExit) as error:
        module, why = reference.partition(":")[0], f"{type(error).__name__}: {error}"
        remedy = "correct it"
        if isinstance(error, ImportError):
            place = f"put it into {folder}" if folder else "put its folder into PYTHONPATH"
            remedy = f"install its package where rag_assets runs, or {place}"
            if f"{module}.".startswith(f"{error.name}."):
                why = "no such module"
        raise ConfigError(f"{reference} cannot be loaded ({why}): {remedy}") from error


def _lacking(part: object, protocol: type[Revised]) -> Iterator[str]:
    for name in sorted(get_protocol_members(protocol)):
        member, method = getattr(part, name, None), getattr(protocol, name, None)
        if method is None:
            kind = protocol.__annotations__[name]
            if member is None or (kind in (int, str) and type(member) is not kind):
                yield f"{name} ({kind.__name__})" if kind in (int, str) else name
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
