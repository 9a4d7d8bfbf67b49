"""What judges were asked about, kept so that people can label the same: a file for each run.

Sentences, hits and pairs of kept answers are not here: they are gathered when people are asked.
"""

import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter

from rag_assets.evaluation.judges.judged_means import JudgedRow
from rag_assets.evaluation.judges.verdicts import ItemKind, JudgedItem
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

FOLDER = "judged_items"


def save_items(store: Store, name: str, rows: Iterable[JudgedRow], judged: Container[str]) -> None:
    """Keep the items of `rows` whose ids are `judged`, in place of those of the last run of `name`.

    Each is kept with the gold of its question, as items of one are not independent.
    """
    kept = {
        item.item_id: (
            row.gold,
            asdict(item) | {"sources": sorted(item.sources), "writers": sorted(item.writers)},
        )
        for row in rows
        for arm in row.arms
        for item in arm
        if item.item_id in judged
    }
    file = store.root / FOLDER / f"{name}.json"
    write_atomically(file, json.dumps([*kept.values()], ensure_ascii=False, indent=1))


def kept_items(store: Store, kind: ItemKind) -> Iterator[tuple[str, JudgedItem]]:
    """The kept items of a kind, each with what it is about; a file that is no such is left out."""
    for file in sorted((store.root / FOLDER).glob("*.json")):
        yield from (each for each in _read(file) if each[1].kind == kind)


def _read(file: Path) -> list[tuple[str, JudgedItem]]:
    try:
        return TypeAdapter(list[tuple[str, JudgedItem]]).validate_json(file.read_bytes())
    except (OSError, ValueError):  # of another release: the next run writes it anew
        return []
