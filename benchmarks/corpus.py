"""A corpus of real English prose that every machine has: the docstrings of Python packages.

The documents are a function of the installed packages: runs of distinct docstrings, taken in the
order of their paths.
"""

import ast
import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from bounds import SHARED_DATA

LEAST_CHARACTERS = 120
SECTIONS = 10
PARAGRAPH = 500
"""Characters from which on a paragraph of Markdown ends."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""A file with such characters is no text to a parser."""
SKIPPED = {"test", "tests", "idlelib", "lib2to3"}


def documents(count: int, *, characters: int = 2_850) -> list[str]:
    """`count` texts of about `characters` characters each."""
    found: list[str] = []
    seen: set[str] = set()
    parts: list[str] = []
    for docstring in _docstrings():
        if docstring in seen or CONTROL.search(docstring):
            continue
        seen.add(docstring)
        parts.append(docstring)
        if sum(map(len, parts)) >= characters:
            found.append("\n\n".join(parts)[:characters])
            parts = []
            if len(found) == count:
                return found
    raise RuntimeError(f"the installed packages give {len(found)} documents only, not {count}")


def markdown(characters: int, *, longest_section: int = 6_000) -> list[str]:
    """Markdown documents of ten sections each, of `characters` together.

    The texts are the articles of materials_demo where they are, else docstrings: a seed whose
    paragraphs come again in another order until there are enough.
    """
    drawn = random.Random(1)
    paragraphs = _paragraphs()
    found: list[str] = []
    held = 0
    while held < characters:
        parts = [f"# Document {len(found) + 1}"]
        for number in range(1, SECTIONS + 1):
            parts.append(f"## {number} {' '.join(drawn.choice(paragraphs).split()[:5])}")
            wanted = drawn.randint(500, longest_section)
            while wanted > 0:
                parts.append(drawn.choice(paragraphs))
                wanted -= len(parts[-1])
        found.append("\n\n".join(parts))
        held += len(found[-1])
    return found


def _paragraphs() -> list[str]:
    articles = sorted((SHARED_DATA / "materials_demo" / "docs" / "articles").glob("*.md"))
    texts = [path.read_text("utf-8") for path in articles] or documents(800)
    found: list[str] = []
    for text in texts:
        sentences: list[str] = []
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n", text):
            sentences.append(" ".join(sentence.split()))
            if sum(map(len, sentences)) > PARAGRAPH:
                found.append(" ".join(sentences))
                sentences = []
    return [part for part in found if part[0] not in "#|-" and len(part) < 3 * PARAGRAPH]


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
