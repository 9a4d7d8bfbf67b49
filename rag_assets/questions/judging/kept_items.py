"""What judges were asked about, kept so that people can label the same: a file for each run.

Sentences, hits and pairs of kept answers are not here: they are gathered when people are asked.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter

from rag_assets.questions.judging.verdicts import ItemKind, JudgedItem
from rag_assets.store import Store

FOLDER = "judged_items"


def kept_items(store: Store, kind: ItemKind) -> Iterator[tuple[str, JudgedItem]]:
    """The kept items of a kind, each with what it is about; a file that is no such is left out."""
    for file in sorted((store.root / FOLDER).glob("*.json")):
        yield from (each for each in _read(file) if each[1].kind == kind)


def _read(file: Path) -> list[tuple[str, JudgedItem]]:
    try:
        return TypeAdapter(list[tuple[str, JudgedItem]]).validate_json(file.read_bytes())
    except (OSError, ValueError):  # of another release: the next run writes it anew
        return []
