"""Trained weights: kept in the state under the hash of their files, never overwritten.

`weights/<kind>/<name>/<hash>` holds a model as its library saves it, and `training.json`, the
record of its training. They are written beside and renamed, then the file `newest` of the name
says that they are its newest. Whoever kills that leaves the former ones in their place. Older ones
stay as long as a complete set, or what serves or may be rolled back to, was made with them.
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from rag_assets.change.reclaim import LEAST_FREE
from rag_assets.config.training import CHECKPOINTS, NEWEST, Kind, folder_of, newest_weights
from rag_assets.identity import fingerprint
from rag_assets.laboratory.training.running import TrainingRun
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

RECORD = "training.json"
DIGITS = 16
"""Of a hash in the name of a folder."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Weights with the record of their training."""

    kind: Kind
    name: str
    folder: Path
    fingerprint: str
    """Of all that they were made from."""
    made_from: Mapping[str, JsonValue]
    """Recipe, data version and start weights."""
    trained_at: str
    """ISO 8601, UTC."""
    progress: TrainingRun
    is_new: bool = False
    """Whether they were trained just now."""

    @property
    def hash(self) -> str:
        """Of their files."""
        return self.folder.name


def trained(
    store: Store,
    kind: Kind,
    name: str,
    *,
    made_from: Mapping[str, JsonValue],
    train: Callable[[Path, Path], TrainingRun],
    log: Callable[[str], None],
) -> Trained:
    """The weights that are made from this: found, or trained now, and the newest of their name.

    Args:
        store: Whose state folder keeps them.
        kind: What they are.
        name: Their name in the config.
        made_from: All that decides what they are.
        train: Gets a folder for checkpoints and one to save to, and trains.
        log: Receives a line while another process trains the same.
    """
    made = fingerprint(kind, made_from)
    with store.lock(f"{CHECKPOINTS}__{kind}__{name}", log=log):
        found = next(
            (one for one in all_of(store.root, kind, name) if one.fingerprint == made), None
        )
        if found is None:
            checkpoints = store.root / CHECKPOINTS / kind / name / made[:DIGITS]
            fresh = checkpoints.with_name(f"{checkpoints.name}.fresh")
            shutil.rmtree(fresh, ignore_errors=True)
            try:
                run, now = train(checkpoints, fresh), datetime.now(UTC).isoformat()
                done = Trained(kind, name, fresh, made, made_from, now, run, is_new=True)
                found = _published(store.root, fresh, done)
            except Exception as error:  # libraries hide a full disk in errors of their own
                _raise_if_full(store.root, error)
                raise
            shutil.rmtree(checkpoints)
        write_atomically(folder_of(store.root, kind, name) / NEWEST, found.folder.name)
    return found


def all_of(state: Path, kind: Kind, name: str) -> Iterator[Trained]:
    """Everything that was trained under a name and is still there, the newest last."""
    found = []
    for file in folder_of(state, kind, name).glob(f"[!.]*/{RECORD}"):
        with suppress(OSError, ValidationError):
            record = _adapter().validate_json(file.read_bytes())
            found.append(replace(record, folder=file.parent, is_new=False))
    yield from sorted(found, key=lambda one: one.trained_at)


def newest(state: Path, kind: Kind, name: str) -> Trained | None:
    """The newest weights of a name."""
    folder = newest_weights(state, kind, name)
    return next((one for one in all_of(state, kind, name) if one.folder == folder), None)


def _published(state: Path, fresh: Path, done: Trained) -> Trained:
    """Give the weights in `fresh` their place."""
    folder = folder_of(state, done.kind, done.name) / _hash_of(fresh)
    done = replace(done, folder=folder)
    record = json.dumps(asdict(done), default=str, indent=1)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_dir():  # another recipe gave the same weights
        write_atomically(folder / RECORD, record)
        shutil.rmtree(fresh)
        return done
    (fresh / RECORD).write_text(record, "utf-8")
    for file in filter(Path.is_file, fresh.rglob("*")):
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
    fresh.rename(folder)
    return done


@cache
def _adapter() -> TypeAdapter[Trained]:
    return TypeAdapter(Trained)


def _hash_of(folder: Path) -> str:
    """Hash of all files of a folder, with their names."""
    total = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as opened:
            content = hashlib.file_digest(opened, "sha256").hexdigest()
        total.update(f"{file.relative_to(folder).as_posix()} {content}\n".encode())
    return total.hexdigest()[:DIGITS]


def _raise_if_full(folder: Path, error: Exception) -> None:
    """Tell of a full disk as the command line knows it."""
    if shutil.disk_usage(folder).free < LEAST_FREE and not isinstance(error, OSError):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
