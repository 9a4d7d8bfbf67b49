"""Inputs of a large table kept in a file: a row that did not move is not identified again.

The file is a cache: it names what it was made of, and without it the inputs are made anew.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from rag_assets.change.sync import INPUTS

_MADE_OF = b"rag_assets_made_of"


def made_of(file: Path) -> str | None:
    """Fingerprint of what the inputs in `file` were made of; None if there is no such file."""
    import pyarrow.parquet as pq

    if not file.is_file():
        return None
    try:
        metadata = pq.read_metadata(file).metadata or {}
    except (pa.ArrowException, OSError):
        return None
    return metadata.get(_MADE_OF, b"").decode()


def keep_only(folder: Path, files: Collection[Path]) -> None:
    """Remove all files below `folder` that are not among `files`."""
    for file in folder.rglob("*"):
        if file not in files and not file.is_dir():
            file.unlink(missing_ok=True)


def read(file: Path, *, without: np.ndarray) -> Iterator[pa.Table]:
    """The inputs in `file` in parts, but for those at the places where `without` is true."""
    import pyarrow.parquet as pq

    start = 0
    with pq.ParquetFile(file) as kept:
        for group in range(kept.num_row_groups):
            part = kept.read_row_group(group).cast(INPUTS)
            is_left_out = without[start : start + part.num_rows]
            start += part.num_rows
            yield part.filter(pa.array(~is_left_out)) if is_left_out.any() else part


def keeping(parts: Iterable[pa.Table], file: Path, *, made_of: str) -> Iterator[pa.Table]:
    """Hand on `parts`, all inputs of a table in its order, and leave them in `file`."""
    import pyarrow.parquet as pq

    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    schema = INPUTS.with_metadata({_MADE_OF: made_of.encode()})
    try:
        with pq.ParquetWriter(fresh, schema, compression="zstd", use_dictionary=False) as writer:
            for part in parts:
                writer.write_table(part.cast(schema))
                yield part
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)
