"""Removes trained weights that nothing needs any more, as part of the clean-up."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from rag_assets.change import embeddable
from rag_assets.config import Config
from rag_assets.config.training import CHECKPOINTS, NEWEST, WEIGHTS, place_in_state
from rag_assets.store import Store, complete_sets
from rag_assets.store.atomic import remove_folder
from rag_assets.store.clean_up import RUNNING


def remove_unused_weights(store: Store, config: Config, *, keep_days: float) -> tuple[int, int]:
    """Remove weights that nothing needs, and checkpoints of trainings that nobody goes on with.

    The newest of each name stay, and so do those that the config, a complete set, what serves or
    what a rollback would go back to names, and what was trained less than `keep_days` ago.

    Returns:
        How many folders went, and their bytes.
    """
    oldest = time.time() - max(timedelta(days=keep_days), RUNNING).total_seconds()
    needed = {place for path in _needed(store, config) if (place := place_in_state(path))}
    removed = freed = 0
    for file in (store.root / WEIGHTS).glob(f"*/*/{NEWEST}"):
        latest = file.with_name(file.read_text("utf-8").strip())
        needed.add(latest.relative_to(store.root))
    places = (store.root / WEIGHTS, store.root / CHECKPOINTS)
    for folder in (each for place in places for each in place.glob("*/*/*/")):
        if place_in_state(folder) in needed or _last_written(folder) >= oldest:
            continue
        freed += remove_folder(folder)
        removed += 1
    return removed, freed


def _needed(store: Store, config: Config) -> Iterator[str]:
    """The paths of models that somebody names."""
    yield from (model.path for model in config.models.values())
    yield from (reranker.path for reranker in config.retrieval.rerankers.values())
    served = embeddable.kept(store, config)
    for each in served:
        yield from (str(settings.get("path")) for settings in each.query_side.rerankers.values())
    for each in (*complete_sets.all_sets(store), *(one.complete_set for one in served)):
        yield from (model.path for model in (each.embedding, each.row_embedding) if model)


def _last_written(folder: Path) -> float:
    return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
