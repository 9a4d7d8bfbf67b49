"""A corpus of real English prose that every machine has: the docstrings of Python packages.

The documents are a function of the installed packages: runs of distinct docstrings, taken in the
order of their paths.
"""

import ast
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

LEAST_CHARACTERS = 120
SKIPPED = {"test", "tests", "idlelib", "lib2to3"}


def documents(count: int, *, characters: int = 2_850) -> list[str]:
    """`count` texts of about `characters` characters each."""
    found: list[str] = []
    seen: set[str] = set()
    parts: list[str] = []
    for docstring in _docstrings():
        if docstring in seen:
            continue
        seen.add(docstring)
        parts.append(docstring)
        if sum(map(len, parts)) >= characters:
            found.append("\n\n".join(parts)[:characters])
            parts = []
            if len(found) == count:
                return found
    raise RuntimeError(f"the installed packages give {len(found)} documents only, not {count}")


def write(folder: Path, texts: list[str]) -> None:
    """One text file for each of `texts`."""
    folder.mkdir(parents=True)
    for number, text in enumerate(texts):
        (folder / f"{number:07d}.txt").write_text(text, "utf-8")


def _docstrings() -> Iterator[str]:
    for root in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        for path in sorted(Path(root).rglob("*.py")):
            if SKIPPED.isdisjoint(path.parts):
                yield from _docstrings_of(path)


def _docstrings_of(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text("utf-8", "ignore"))
    except (SyntaxError, ValueError, RecursionError, OSError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text and len(text) > LEAST_CHARACTERS:
                yield re.sub(r"[ \t]+", " ", text)
