"""Parquet snapshots of an earlier release: they become tables of the store, then they go.

    exports/<source>/<table>.parquet   the rows
    exports/<source>/<table>.patch     rows that replace or remove some of them, or were added
    exports/<source>/<table>.marks     hashes of the rows: not read any more
    exports/<source>/<table>.json      the record of the last complete pass

A patch that does not name its Parquet file as its own does not count.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change.sync import quarantined
from rag_assets.sources.exporting import ExportRequest, export_table
from rag_assets.sources.kinds import ContentError, by_position
from rag_assets.sources.landed import Landed, Notes
from rag_assets.sources.landing import first_line
from rag_assets.store import Store, exports
from rag_assets.store.exports import About
from rag_assets.store.file_names import name_of
from rag_assets.store.places import remove_folder

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData, ParquetFile

FOLDER = "exports"
SUFFIX = ".parquet"
SUFFIXES = (".json", ".marks", ".patch", SUFFIX)
METADATA, BOOKS = b"rag_assets", b"rag_assets_books"
UNREADABLE = (pa.ArrowException, ContentError, LookupError, OSError, TypeError, ValueError)
"""What a damaged snapshot, or one that DuckDB does not take, may raise: the others go on."""


@dataclass(frozen=True, slots=True)
class LastPass:
    """What the record of the last complete pass says."""

    look: str = ""
    recipe: str = ""
    memory: str = ""


def snapshots_of(store: Store, source: str) -> dict[str, Path]:
    """The snapshots of a source that are still there, by their tables."""
    folder = store.root / FOLDER / source
    found = sorted(folder.rglob(f"*{SUFFIX}"))
    return {name_of(path.relative_to(folder), suffix=SUFFIX): path for path in found}


def take_over(store: Store, source: str, *, work: Path, log: Callable[[str], None]) -> None:
    """Make a table of each snapshot of `source` that is none yet, and remove what is done with.

    One that is damaged, or that another release wrote, is removed once its table is complete: it
    is read from its source. With the last one goes what was kept for snapshots alone.
    """
    for table, file in snapshots_of(store, source).items():
        name = exports.table_name(source, table)
        if exports.exported(store, name) is None:
            try:
                export_table(_request(store, file, work=work / name, log=log))
            except UNREADABLE as error:
                reason = first_line(error)
                log(f"{source}/{table}: {file} is not usable ({reason}): the table is read again")
                continue
            finally:
                remove_folder(work / name)
        remove(file)
    if not any((store.root / FOLDER).rglob(f"*{SUFFIX}")):
        remove_folder(store.root / FOLDER)
        remove_folder(store.root / "inputs")
        (store.root / "completed" / "table_rows.snapshots.json").unlink(missing_ok=True)


def remove(file: Path) -> None:
    """Remove a snapshot and all that lies beside it."""
    for suffix in SUFFIXES:
        file.with_suffix(suffix).unlink(missing_ok=True)


def _request(store: Store, file: Path, *, work: Path, log: Callable[[str], None]) -> ExportRequest:
    """The rows of a snapshot, as if they had landed, with all that is known of them."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as rows:
        columns = pa.schema([(field.name, field.type) for field in rows.schema_arrow])
        said = _said(rows.metadata, METADATA)
        patch = _patch(file, base=said["data_version"])
        if patch is not None:
            said = _said(pq.read_metadata(file.with_suffix(".patch")), METADATA)
        work.mkdir(parents=True, exist_ok=True)
        landed = work / "rows.parquet"
        with pq.ParquetWriter(landed, by_position(columns.empty_table()).schema) as writer:
            for part in _rows(rows, patch):
                writer.write_table(by_position(part.cast(columns)))
    done = _last_pass(file)
    target = f"exports/{said['source']}/{said['table']}"
    return ExportRequest(
        store,
        landed=Landed(
            columns, [landed], notes=Notes(quarantined(store, target)), memory=done.memory
        ),
        about=About(**{name: said[name] for name in About.__dataclass_fields__ if name in said}),
        key_candidates=(),
        look=done.look,
        recipe=done.recipe,
        work=work,
        allow_shrink=True,
        log=log,
    )


def _rows(file: "ParquetFile", patch: pa.Table | None) -> Iterator[pa.Table]:
    """The rows of the Parquet file that the patch does not replace, then those of the patch."""
    is_replaced = np.zeros(file.metadata.num_rows, dtype=bool)
    if patch is not None:
        is_replaced[patch["replaces"].drop_null().to_numpy()] = True
    names, start = file.schema_arrow.names, 0
    for group in range(file.num_row_groups):
        part = file.read_row_group(group)
        kept = ~is_replaced[start : start + part.num_rows]
        start += part.num_rows
        yield part if kept.all() else part.filter(pa.array(kept))
    if patch is not None:
        live = patch.filter(pc.invert(patch["is_removed"]))
        yield live.select(range(len(names))).rename_columns(names)


def _patch(file: Path, *, base: str) -> pa.Table | None:
    """The patch of a snapshot with the data version `base`, if there is one."""
    import pyarrow.parquet as pq

    path = file.with_suffix(".patch")
    if not path.is_file() or _said(pq.read_metadata(path), BOOKS)["base"] != base:
        return None
    return pq.read_table(path)


def _said(footer: "FileMetaData", key: bytes) -> dict:
    return json.loads((footer.metadata or {})[key])


def _last_pass(file: Path) -> LastPass:
    try:
        record = json.loads(file.with_suffix(".json").read_text("utf-8"))
        return LastPass(record["observed"], record["recipe"], record["memory"])
    except (OSError, ValueError, TypeError, KeyError):
        return LastPass()
