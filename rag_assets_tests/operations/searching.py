"""A search of a state that shares no code with the proof of a purge: plain substrings."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import lance
import pyarrow.parquet as pq


def places_of(state: Path, *needles: str) -> list[str]:
    """Files and tables below `state` that hold one of `needles`, whatever its case."""
    wanted = [needle.lower() for needle in needles]
    return [place for place, text in _texts(state) if any(needle in text for needle in wanted)]


def _texts(state: Path) -> Iterator[tuple[str, str]]:
    for file in filter(Path.is_file, state.rglob("*")):
        place = str(file.relative_to(state))
        if place.startswith(("encoders/", "dictionaries/")):
            continue  # what packages hold, not what was indexed
        content = file.read_bytes()
        yield place, f"{place} {content.decode('utf-8', 'ignore').lower()}"
        if content.startswith(b"PAR1"):
            yield place, str(pq.read_table(file).to_pylist()).lower()
        if content.startswith(b"SQLite format 3"):
            yield place, _rows_in(file)
    for folder in (state / "lance").glob("*.lance"):
        newest = lance.dataset(folder)
        for version in newest.versions():
            rows = lance.dataset(folder, version=version["version"]).scanner(
                with_row_id=True, include_deleted_rows=True
            )
            yield f"{folder.name} {version['version']}", str(rows.to_table().to_pylist()).lower()


def _rows_in(file: Path) -> str:
    with closing(sqlite3.connect(file)) as database:
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return str([database.execute(f"SELECT * FROM {name}").fetchall() for name in names]).lower()
