"""What is known of a parser without loading it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from rag_assets.documents.elements import Element
from rag_assets.workers import Json


class ParseError(ValueError):
    """The file cannot be parsed, and the file is to blame; the message says why."""


@dataclass(frozen=True)
class Parser:
    """A way to turn files into elements."""

    name: str
    revision: int
    """Raised when the same file gives other elements than before."""
    distribution: str | None
    """The package that does the work; None where there is no need of one."""
    install: str
    """How to get it."""
    instead: str = ""
    """The setting that does without it, if there is one."""
    lowest: int = 0
    """Lowest major version that will do."""
    harmless_bytes: int = 0
    """Files up to this size are parsed in the process of the refresh: nothing native touches them
    and the time they take grows with their size alone."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """What its function takes beside path and pages; part of the version."""
    calls_servers: bool = False
    """Whether the config names servers that it calls; all others parse without a network."""

    @property
    def function(self) -> str:
        """The task that runs it: see `workers.Task`."""
        return f"{__package__}.{self.name}:parse"

    def elements(self, content: bytes, media_type: str) -> list[Element]:
        """The elements of a harmless file, read in this process."""
        module = import_module(f"{__package__}.{self.name}")
        return list(module.elements(content, media_type))

    @cached_property
    def version(self) -> str:
        """Names the output: library, its version and our revision; part of fingerprints."""
        library = f"{self.distribution} {version(self.distribution)}" if self.distribution else ""
        return f"{self.name} r{self.revision} {library}".rstrip()

    def missing(self) -> str | None:
        """Why it cannot be used here, or None."""
        if self.distribution is None:
            return None
        try:
            found = version(self.distribution)
        except PackageNotFoundError:
            return f"the package {self.distribution} is not installed"
        if int(found.split(".")[0]) < self.lowest:
            return f"{self.distribution} {found} is too old: {self.lowest} is the lowest that works"
        return None


class ParserUnavailableError(Exception):
    """A parser that the config asks for is not installed; nothing was parsed."""

    def __init__(self, parser: Parser, *, reason: str, setting: str) -> None:
        remedy = f"run `{parser.install}`"
        if parser.instead:
            remedy += f", or set {setting}: {parser.instead}"
        super().__init__(f"the parser {parser.name} cannot be used: {reason}; {remedy}")
