"""Paths for names that nobody chose as file names: those of tables, in whatever script.

A name is percent-encoded, so that it stands for itself on any file system. One that is longer than
a file's name may be is parted: all but its last part are folders, whose names end in `+`.
"""

from pathlib import Path
from urllib.parse import quote, unquote

LONGEST_PART = 236
"""The most bytes of a part of a path. A file that is being written needs the rest for what it has
before and after its name."""
GOES_ON = "+"


def path_of(name: str, *, suffix: str = "") -> Path:
    """The relative path of the file for `name`, no other name's."""
    spelled = quote(name, safe="")
    parts = [
        spelled[start : start + LONGEST_PART] for start in range(0, len(spelled), LONGEST_PART)
    ]
    *folders, last = parts or [""]
    if not last.strip("."):  # nothing, or dots that would lead elsewhere
        last = last.replace(".", "%2E") or GOES_ON
    return Path(*(f"{folder}{GOES_ON}" for folder in folders), f"{last}{suffix}")


def name_of(path: Path, *, suffix: str = "") -> str:
    """The name that `path_of` made the relative `path` of."""
    *folders, last = path.parts
    parts = [*(folder.removesuffix(GOES_ON) for folder in folders), last.removesuffix(suffix)]
    return unquote("".join(parts).removesuffix(GOES_ON))
