"""Reading the file: overrides from the environment, secrets, and errors that name the key."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, ValidationError

from rag_assets.config.base import ALONE, BY_DOMAIN, removed_keys
from rag_assets.config.errors import ConfigError, did_you_mean, nearest, redacted
from rag_assets.config.experiments import experiments_of, with_design
from rag_assets.config.paths import with_absolute_paths
from rag_assets.config.root import Config
from rag_assets.media.encodings import is_unicode

ENVIRONMENT_PREFIX = "RAG_ASSETS__"
PATH_VARIABLE = "RAG_ASSETS_CONFIG"
DEFAULT_FILE = "rag_assets.yaml"
EXPERIMENTS = "experiments"
"""Folder beside the config file; each YAML file in it is an experiment."""
SECRET_KEYS = {"url", "start_url", "fail_url", "password"}
"""Keys whose value no message shows."""
TAG = "type"
"""Key that says of which class a section is."""
KEY = "[key]"
"""What pydantic appends to the location of a key that is itself invalid."""
VARIABLE = re.compile(r"\$\{(\w+)\}")
"""What stands for a variable of the environment."""
NEVER_MENDED = {"name", "defaults"}
"""Keys on whose values others rest: without them, good ones would look wrong."""


def find() -> Path:
    """The config file: `RAG_ASSETS_CONFIG`, or `rag_assets.yaml` in the working directory."""
    return Path(os.environ.get(PATH_VARIABLE) or DEFAULT_FILE).absolute()


def load(path: Path | None = None) -> Config:
    """Read and validate the config at `path`, or where `find` says.

    Raises:
        ConfigError: The file is missing or is not valid; every problem is named.
    """
    path = (path or find()).absolute()
    if not path.is_file():
        raise ConfigError(
            f"there is no config file {path}: write one with `rag-assets init`, "
            f"or point {PATH_VARIABLE} at yours"
        )
    raw = _loaded(path) or {}
    if not isinstance(raw, dict):
        raise ConfigError(f"{path} must hold keys and values, such as `sources:`")
    merged = _with_environment(_with_experiments(raw, folder=path.parent / EXPERIMENTS))
    config = made_of(merged, path=path)
    config._file = path
    return config


def made_of(given: object, *, path: Path) -> Config:
    """A config of these keys and values, which stand in the file at `path`.

    Raises:
        ConfigError: They are not valid; every problem is named.
    """
    unset: dict[str, None] = {}
    try:
        given = _interpolate(given, unset=unset)
    except RecursionError:
        raise ConfigError(_too_deep(path)) from None
    if unusable := [".".join(place) for place in _unusable_texts(given)]:
        raise ConfigError(
            f"{path}: {', '.join(unusable)} contains a NUL or an incomplete Unicode "
            "character: type it again"
        )
    told = [f"{path}: ${{{name}}}: that environment variable is not set" for name in unset]
    config = _validated(given, path=path, told=told)
    return with_absolute_paths(config, root=path.parent)


def _validated(given: object, *, path: Path, told: list[str]) -> Config:
    """`given` as a config.

    What is wrong is mended as far as that goes, so that what comes after it is told as well.

    Raises:
        ConfigError: Something is wrong, or something was `told` already.
    """
    found = dict.fromkeys(told)
    while True:
        try:
            config = Config.model_validate(given)
        except ValidationError as error:
            found |= dict.fromkeys(_explain(error, path=path, given=given))
            before, given = given, _mended(given, error)
            if given != before:
                continue
        if found:
            raise ConfigError("\n".join(found))
        return config


def _mended(given: object, error: ValidationError) -> object:
    """`given` without single wrong values, and with the keys that unknown ones were meant as."""
    mended = deepcopy(given)
    for problem in error.errors(include_url=False):
        *above, key = place = _place(problem["loc"]) or [""]
        within = _within(mended, above)
        if KEY in problem["loc"] or key in NEVER_MENDED or key not in within:
            continue
        if problem["type"] == "value_error" and place[0] != EXPERIMENTS:
            for gone in removed_keys(_section_at((*problem["loc"], ""), given)):
                _within(mended, place).pop(gone, None)
        if problem["type"] == "extra_forbidden":
            value, meant = within.pop(key), nearest(key, _known_keys(problem["loc"], given))
            if meant:
                within.setdefault(meant, value)
        elif place[0] != EXPERIMENTS and not isinstance(within[key], (dict, list)):
            field = _section_at(problem["loc"], given).model_fields.get(key)
            if field and not field.is_required():
                del within[key]
    return mended


def _within(given: object, place: list[str]) -> dict[str, object]:
    """The section of `given` that lies at `place`; an empty one if none does."""
    for key in place:
        if isinstance(given, list):
            given = given[int(key)] if key.isdecimal() and int(key) < len(given) else None
        else:
            given = given.get(key) if isinstance(given, dict) else None
    return given if isinstance(given, dict) else {}


def _with_experiments(raw: dict[str, object], *, folder: Path) -> dict[str, object]:
    """`raw` with the experiment of each file in `folder`, under the file's name."""
    files = {file.stem: file for file in sorted(folder.glob("*.yaml"))}
    experiments = raw.get("experiments") or {}
    if not files or not isinstance(experiments, dict):
        return raw
    twice = sorted(files.keys() & experiments.keys())
    if twice:
        raise ConfigError(
            f"{files[twice[0]]}: the config has an experiment named {twice[0]} already: rename one"
        )
    found = {name: _loaded(file) for name, file in files.items()}
    return {**raw, "experiments": {**experiments, **found}}


def _loaded(file: Path) -> object:
    """What a YAML file holds.

    Raises:
        ConfigError: It cannot be read, or is not valid YAML.
    """
    import yaml

    try:
        return _values(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read ({error.strerror}): give the right to read it"
        ) from None
    except RecursionError:
        raise ConfigError(_too_deep(file)) from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: of 2026-99-99, which is no date
        raise ConfigError(f"{file} is not valid YAML: {_syntax_problem(error)}") from None


def _values(text: str) -> object:
    """The values of a YAML text; a repeated key is an error, as its first value would be lost."""
    import yaml

    loader = yaml.SafeLoader(text)
    document = loader.get_single_node()
    waiting = [document]
    looked_at: set[int] = set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in looked_at:
            continue
        looked_at.add(id(node))
        if not isinstance(node, yaml.MappingNode):
            waiting += node.value
            continue
        names: set[str] = set()
        for key, value in node.value:
            waiting.append(value)
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in names:
                problem = f"the key {key.value} occurs twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            names.add(key.value)
    return None if document is None else loader.construct_document(document)


def _too_deep(file: Path) -> str:
    return f"{file} is nested too deeply, or an alias contains itself: write it without aliases"


def _syntax_problem(error: Exception) -> str:
    """What is wrong and in which line, without the line's text: it may hold a password."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return str(error)
    return f"{getattr(error, 'problem', error)}, line {mark.line + 1}, column {mark.column + 1}"


def _with_environment(raw: dict[str, object]) -> object:
    import yaml

    merged: object = raw
    for name, text in sorted(os.environ.items()):
        if not name.upper().startswith(ENVIRONMENT_PREFIX):
            continue
        try:
            value = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError):
            # without their text: it would show the value, which may be a password
            raise ConfigError(
                f"the environment variable {name} is not valid YAML: put its value in quotes"
            ) from None
        keys = name[len(ENVIRONMENT_PREFIX) :].lower().split("__")
        merged = _overridden(merged, keys, value=value, name=name)
    return merged


def _overridden(given: object, keys: list[str], *, value: object, name: str) -> object:
    """`given` with `value` at the place that `keys` lead to; a number leads into a list."""
    if not keys:
        return value
    key, *below = keys
    if isinstance(given, list):
        if not key.isdecimal() or int(key) >= len(given):
            raise ConfigError(
                f"the environment variable {name} asks for item {key} of a list "
                f"of {len(given)}: count from 0"
            )
        index = int(key)
        item = _overridden(given[index], below, value=value, name=name)
        return [*given[:index], item, *given[index + 1 :]]
    members = given if isinstance(given, dict) else {}
    key = next((known for known in members if str(known).lower() == key), key)
    return {**members, key: _overridden(members.get(key), below, value=value, name=name)}


def _interpolate(value: object, *, unset: dict[str, None]) -> object:
    """`value` with variables replaced; names that are not set stay, and are added to `unset`."""
    if isinstance(value, dict):
        return {key: _interpolate(item, unset=unset) for key, item in value.items()}
    if isinstance(value, list):
        return [_interpolate(item, unset=unset) for item in value]
    if not isinstance(value, str):
        return value

    def lookup(match: re.Match[str]) -> str:
        if match.group(1) not in os.environ:
            unset[match.group(1)] = None
        return os.environ.get(match.group(1), match.group())

    return VARIABLE.sub(lookup, value)


def _unusable_texts(value: object, *place: str) -> Iterator[tuple[str, ...]]:
    """The keys that lead to strings which no file name, database or URL may hold."""
    if isinstance(value, str):
        if "\0" in value or not is_unicode(value):
            yield place
        return
    below = enumerate(value) if isinstance(value, list) else ()
    for key, item in value.items() if isinstance(value, dict) else below:
        named = str(key).encode("utf-8", "replace").decode()
        yield from _unusable_texts(str(key), *place, named)
        yield from _unusable_texts(item, *place, named)


def _explain(error: ValidationError, *, path: Path, given: object) -> Iterator[str]:
    for problem in error.errors(include_url=False):
        place, value, kind = _place(problem["loc"]), problem["input"], problem["type"]
        said = key = ".".join(place)
        if isinstance(value, str) and VARIABLE.search(value):
            continue  # it is not set, which is told already
        message = problem["msg"].removeprefix("Value error, ")
        if kind == "extra_forbidden":
            known = sorted(_known_keys(problem["loc"], given))
            meant = did_you_mean(place[-1], known) or _elsewhere(place)
            yield f"{path}: unknown key {key}; known here: {', '.join(known)}{meant}"
            continue
        if kind == "missing":
            said, message = f"{key} is missing", message.lower()
        elif isinstance(value, (str, int, float, bool)) and not SECRET_KEYS & set(place[-1:]):
            said = f"{key} = {redacted(repr(value))}"
        if kind == "literal_error":
            message += did_you_mean(value, re.findall(r"'([^']+)'", message))
        elif kind == "model_type":
            message = f"write keys and values below it{_elsewhere(place)}"
        head, gap, to_copy = message.partition("\n\n")
        *others, last = head.splitlines()
        for line in (*others, f"{last}{gap}{to_copy}"):
            yield ": ".join(filter(None, (str(path), said, line)))


@cache
def _places() -> Mapping[str, Sequence[str]]:
    """The places where a section has a key, by the key; upper ones first."""
    found: dict[str, list[str]] = {}
    waiting: list[tuple[str, type[BaseModel]]] = [("", Config)]
    for above, section in waiting:
        for name, field in section.model_fields.items():
            found.setdefault(name, []).append(f"{above}{name}")
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                waiting.append((f"{above}{name}.", field.annotation))
    return found


def _elsewhere(place: Sequence[str]) -> str:
    """The end of a message that proposes another place for a key, if there is one."""
    others = (other for other in _places().get(place[-1], ()) if other != ".".join(place))
    other = next(others, None)
    return f"; did you mean {other}?" if other else ""


def _place(location: tuple[int | str, ...]) -> list[str]:
    """The keys that lead to a value, without the type, which pydantic inserts."""
    place = [str(part) for part in location if part not in (KEY, ALONE, BY_DOMAIN)]
    if place[:2] == ["alerts", "channels"]:
        return place[:3] + place[4:]
    return place


def _known_keys(location: tuple[int | str, ...], given: object) -> list[str]:
    fields = _section_at(location, given).model_fields
    return [field.alias or name for name, field in fields.items()]


def _section_at(location: tuple[int | str, ...], given: object) -> type[BaseModel]:
    """The section that has, or might have, the key at `location`."""
    section: type[BaseModel] = Config
    if location[0] == "experiments":
        section, location = _experiments_of(given, str(location[1])), location[2:]
    choices: list[type[BaseModel]] = []
    for part in location[:-1]:
        designed = [one for one in choices if part in _tags(one)]
        field = section.model_fields.get(str(part))
        if designed:
            section, choices = designed[0], []
        elif field is not None:
            choices = list(_sections_in(field.annotation))
            section = choices[0] if choices else section
    return section


def _experiments_of(given: object, name: str) -> type[BaseModel]:
    """The section of the experiment called `name`, by its design."""
    experiments = given["experiments"] if isinstance(given, dict) else {}
    settings = with_design(name, experiments[name])
    assert isinstance(settings, dict), "only keys of settings are unknown"
    return experiments_of(settings["design"])


def _tags(section: type[BaseModel]) -> tuple[str, ...]:
    """The values of `type` that a section of this class has."""
    field = section.model_fields.get(TAG)
    return get_args(field.annotation) if field else ()


def _sections_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _sections_in(part)
