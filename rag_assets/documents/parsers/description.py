"""What is known of a parser without loading it."""

import json
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rag_assets.documents.elements.element import Element
from rag_assets.identity import fingerprint
from rag_assets.process.errors import ExplainedError
from rag_assets.workers import Json

ASK_SECONDS = 5.0
"""How long another interpreter may take to say what is installed in it."""

_ASK = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""


class ParseError(ValueError):
    """The file cannot be parsed, and the file is to blame; the message says why."""


@dataclass(frozen=True)
class Parser:
    """A way to turn files into elements."""

    name: str
    """Part of its version, so it stays even if the module moves."""
    module: str
    """The module with its functions."""
    revision: int
    """Raised when the same file gives other elements than before."""
    distribution: str | None
    """The package that does the work; None if it needs none."""
    install: str
    """The command that installs it."""
    alternative: str = ""
    """Another value of the same setting that needs no further package, if there is one."""
    minimum_major: int = 0
    """Lowest major version of the package that works."""
    harmless_bytes: int = 0
    """Files up to this size are parsed in the process of the refresh if `is_harmless` says so: no
    native code touches them, and their time grows with their size alone."""
    other_packages: tuple[str, ...] = ()
    """Further packages that it needs and that influence its output."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """Arguments of its function in addition to path and pages; part of the version."""
    python: Path | None = None
    """The interpreter in which it is installed; None: this one."""
    missing_weights: Callable[[Mapping[str, Json]], str | None] | None = None
    """Says which weights are missing under these options, without loading anything."""
    calls_servers: bool = False
    """Whether it calls servers that the config names; all others parse without a network."""

    @property
    def function(self) -> str:
        """The task that runs it: see `workers.Task`."""
        return f"{self.module}:parse"

    def is_harmless(self, content: bytes, media_type: str) -> bool:
        """Whether a small file may be parsed outside a worker."""
        return import_module(self.module).is_harmless(content, media_type)

    def elements(self, content: bytes, media_type: str) -> list[Element]:
        """The elements of a harmless file, read in this process."""
        module = import_module(self.module)
        return list(module.elements(content, media_type))

    @property
    def packages(self) -> tuple[str, ...]:
        """All packages that influence its output."""
        return (self.distribution, *self.other_packages) if self.distribution else ()

    @cached_property
    def version(self) -> str:
        """Everything that decides its output: our revision, libraries, options; in fingerprints."""
        found = installed(self.packages, python=self.python)
        libraries = [f"{name} {found[name]}" for name in self.packages if name in found]
        options = [fingerprint(json.dumps(self.options, sort_keys=True))] if self.options else []
        return " ".join([f"{self.name} r{self.revision}", *libraries, *options])

    def missing(self) -> str | None:
        """Why it cannot be used here, or None; in seconds, and without loading it."""
        if self.distribution is None:
            return None
        if self.python is not None and not self.python.is_file():
            return f"there is no interpreter {self.python}"
        found = installed(self.packages, python=self.python)
        where = f" in {self.python}" if self.python else ""
        for name in self.packages:
            if name not in found:
                return f"the package {name} is not installed{where}"
        library = found[self.distribution]
        if int(library.split(".")[0]) < self.minimum_major:
            return (
                f"{self.distribution} {library} is too old: {self.minimum_major} is the lowest "
                "version that works"
            )
        return self.missing_weights(self.options) if self.missing_weights else None


def installed(packages: tuple[str, ...], *, python: Path | None = None) -> Mapping[str, str]:
    """Versions of those of `packages` that are installed here, or in another interpreter."""
    if python is not None:
        return _installed_there(packages, python)
    found = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version_here(name)
    return found


@cache
def version_here(package: str) -> str:
    """The installed version, looked up once in a process, which keeps what it has imported."""
    return version(package)


@cache
def _installed_there(packages: tuple[str, ...], python: Path) -> Mapping[str, str]:
    try:
        answer = subprocess.run(
            [python, "-I", "-c", _ASK, *packages],
            capture_output=True,
            timeout=ASK_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return json.loads(answer.stdout)


class ParserUnavailableError(ExplainedError):
    """A parser that the config asks for is not installed; nothing was parsed."""

    def __init__(self, parser: Parser, *, reason: str, setting: str) -> None:
        self.reason = f"{reason}; {remedy_of(parser, setting=setting)}"
        super().__init__(f"the parser {parser.name} cannot be used: {self.reason}")


def remedy_of(parser: Parser, *, setting: str) -> str:
    """What to do about a missing parser; `setting` is the config key that chose it."""
    remedy = f"run `{parser.install}`"
    return f"{remedy}, or set {setting}: {parser.alternative}" if parser.alternative else remedy
