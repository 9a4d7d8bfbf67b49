"""Prompts: package files with a version, which lie beside the code that uses them.

A file `prompts/NAME.vN.md` holds the text as it is sent, with `$name` where values stand. An edited
prompt is another version: kept answers and measurements name the one that they were made with.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

from rag_assets.identity import text_hash

FOLDER = "prompts"
FILE = re.compile(r"(?P<name>[a-z0-9_]+)\.v(?P<version>[1-9][0-9]*)\.md")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text of a prompt, and what tells it from others."""

    name: str
    version: int
    text: str
    hash: str
    """SHA-256 of the text."""

    def filled(self, **values: str) -> str:
        """The text with `values` in their places; `$` inside a value stays as it is.

        Raises:
            ValueError: A place has no value, or a value has no place.
        """
        template = Template(self.text)
        places = set(template.get_identifiers())
        if places != values.keys():
            missing, unknown = places - values.keys(), values.keys() - places
            raise ValueError(
                f"prompt {self.name} has the places {', '.join(sorted(places)) or 'none'}: "
                f"missing {sorted(missing)}, unknown {sorted(unknown)}"
            )
        return template.substitute(values)

    @property
    def record(self) -> Mapping[str, str | int]:
        """What a measurement keeps of it."""
        return {"name": self.name, "version": self.version, "hash": self.hash}


@cache
def read_prompt(package: str, name: str) -> Prompt:
    """The newest version of the prompt `name` of a package, such as `rag_assets.answering`.

    Raises:
        LookupError: The package has no such prompt.
    """
    folder = resources.files(package) / FOLDER
    found = {
        int(match["version"]): file
        for file in (folder.iterdir() if folder.is_dir() else ())
        if (match := FILE.fullmatch(file.name)) and match["name"] == name
    }
    if not found:
        raise LookupError(f"{package} has no file {FOLDER}/{name}.vN.md")
    version = max(found)
    text = found[version].read_text("utf-8").strip()
    return Prompt(name, version, text, text_hash(text))
